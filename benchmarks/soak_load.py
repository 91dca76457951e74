"""The kinds of work of the soak test: each does one thing and says what was wrong.

A kind is a function of a `Worker`. It raises `ViolationError` when the server did what
it must not do; all else, an aborted stream or a refused request, is right.
"""

from __future__ import annotations

import http.client
import json
import random
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ("KINDS", "SENTINEL", "ViolationError", "Worker", "events", "sentinel_text")

_TIMEOUT_S = 90.0
SENTINEL = "Once upon a time there was a little"
_WORDS = ("the", "lamp", "stood", "in", "a", "window", "and", "boats", "came", "home")
_SYSTEM = "You keep to the point, answer kindly and say what you do not know. " * 6


class ViolationError(Exception):
    """The server did what it must not do."""


@dataclass
class Worker:
    """One client: where to send to, its own dice, and facts about the server."""

    port: int
    dice: random.Random
    n_slots: int
    n_ctx_slot: int
    sentinel: str = ""

    def words(self, n: int) -> str:
        """Return `n` random words."""
        return " ".join(self.dice.choices(_WORDS, k=n))

    def post(self, path: str, body: Any, **options: Any) -> tuple[int, Any]:
        """Return (status, JSON) of a whole request."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = self._connection()
        try:
            connection.request("POST", path, data, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read() or b"null")
        finally:
            connection.close()

    def ask(self, path: str, body: dict[str, Any]) -> Any:
        """Return the JSON of a request that must succeed."""
        status, reply = self.post(path, body)
        if status != 200:
            raise ViolationError(f"{path} answered {status}: {str(reply)[:300]}")
        return reply

    def open(self, path: str, body: dict[str, Any]) -> socket.socket:
        """Send a request and return its socket, nothing read yet."""
        data = json.dumps(body).encode()
        sock = socket.create_connection(("127.0.0.1", self.port), _TIMEOUT_S)
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        sock.sendall(head.encode() + data)
        return sock

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=_TIMEOUT_S)


def events(data: bytes) -> Iterator[Any]:
    """Yield the JSON of every event in a reply's bytes; ``[DONE]`` as None.

    Chunk framing between the events is skipped: events are whole lines.
    """
    for line in data.split(b"\n"):
        if line.startswith(b"data: "):
            text = line[6:].strip()
            yield None if text == b"[DONE]" else json.loads(text)


def _completion(worker: Worker, n_words: int, n_tokens: int, **options: Any) -> Any:
    prompt = f"{worker.dice.random()} {worker.words(n_words)}"
    return {"prompt": prompt, "max_tokens": n_tokens, "ignore_eos": True, **options}


def _check_usage(reply: Any, n_most: int) -> None:
    usage = reply["usage"]
    if not 0 < usage["completion_tokens"] <= n_most:
        raise ViolationError(f"usage {usage} of at most {n_most} tokens")
    if usage["total_tokens"] != usage["completion_tokens"] + usage["prompt_tokens"]:
        raise ViolationError(f"usage does not add up: {usage}")


def short(worker: Worker) -> None:
    n = worker.dice.randint(1, 24)
    reply = worker.ask("/v1/completions", _completion(worker, 6, n))
    _check_usage(reply, n)


def long_prompt(worker: Worker) -> None:
    n_words = worker.n_ctx_slot // 3
    reply = worker.ask("/v1/completions", _completion(worker, n_words, 4))
    _check_usage(reply, 4)


def _chat(worker: Worker, **options: Any) -> Any:
    messages = [
        {"role": "system", "content": _SYSTEM},
        {"role": "user", "content": worker.words(worker.dice.randint(2, 12))},
    ]
    return {"messages": messages, "max_tokens": worker.dice.randint(2, 32), **options}


def chat(worker: Worker) -> None:
    worker.ask("/v1/chat/completions", _chat(worker))


def chat_stream(worker: Worker) -> None:
    body = _chat(worker, stream=True, stream_options={"include_usage": True})
    _read_stream(worker.open("/v1/chat/completions", body))


def native_stream(worker: Worker) -> None:
    body = _completion(worker, 8, 48, stream=True, n_probs=worker.dice.choice([0, 3]))
    _read_stream(worker.open("/completion", body), has_done=False)


def _read_stream(sock: socket.socket, has_done: bool = True) -> None:
    with sock:
        data = bytearray()
        while piece := sock.recv(1 << 16):
            data += piece
    status = data.split(b" ", 2)[1:2]
    if status != [b"200"]:
        raise ViolationError(f"a stream began with {bytes(data[:200])!r}")
    found = list(events(bytes(data)))
    if any(event and "error" in event for event in found):
        raise ViolationError(f"a stream holds an error: {found[-1]}")
    if not found or (found[-1] is not None and has_done):
        raise ViolationError(f"a stream ended without [DONE]: {bytes(data[-200:])!r}")


def abort(worker: Worker) -> None:
    is_stream = worker.dice.random() < 0.6
    n_words = worker.dice.choice([4, worker.n_ctx_slot // 4])
    body = _completion(worker, n_words, 200, stream=is_stream)
    with worker.open("/v1/completions", body) as sock:
        sock.settimeout(worker.dice.uniform(0.005, 1.0))
        try:
            while sock.recv(256):
                pass
        except TimeoutError:
            return


_BAD: tuple[tuple[str, Any], ...] = (
    ("/v1/completions", b"{not json"),
    ("/v1/completions", b"[]"),
    ("/v1/completions", {"prompt": 5.5}),
    ("/v1/completions", {"prompt": "a", "temperature": "warm"}),
    ("/v1/completions", {"prompt": "a", "max_tokens": "many"}),
    ("/v1/completions", {"prompt": "a", "n": 100000}),
    ("/v1/completions", {"prompt": [10**9]}),
    ("/v1/chat/completions", {"messages": "hello"}),
    ("/v1/chat/completions", {"messages": [{"role": "user"}]}),
    ("/v1/chat/completions", {}),
    ("/completion", {"prompt": "a", "samplers": {"a": 1}}),
    ("/tokenize", b"\xff\xfe"),
    ("/no/such/route", {}),
)


def bad_request(worker: Worker) -> None:
    path, body = worker.dice.choice(_BAD)
    status, reply = worker.post(path, body)
    if not 400 <= status < 500 or "error" not in reply:
        raise ViolationError(f"{path} {body!r} answered {status}: {str(reply)[:200]}")


def too_long(worker: Worker) -> None:
    body = _completion(worker, 2 * worker.n_ctx_slot, 4)
    status, reply = worker.post("/v1/completions", body)
    if status != 400:
        raise ViolationError(
            f"a prompt that is too long got {status}: {str(reply)[:200]}"
        )


def several(worker: Worker) -> None:
    n = worker.dice.randint(2, min(4, worker.n_slots))
    reply = worker.ask("/v1/completions", _completion(worker, 12, 8, n=n))
    if len(reply["choices"]) != n:
        raise ViolationError(f"{len(reply['choices'])} choices, not {n}")
    _check_usage(reply, 8 * n)


def logprobs(worker: Worker) -> None:
    reply = worker.ask("/v1/completions", _completion(worker, 6, 6, logprobs=3))
    found = reply["choices"][0]["logprobs"]
    if not found or len(found["token_logprobs"]) != 6:
        raise ViolationError(f"logprobs {str(found)[:200]}")
    reply = worker.ask("/v1/chat/completions", _chat(worker, logprobs=True))
    if not reply["choices"][0]["logprobs"]["content"]:
        raise ViolationError("a chat without its logprobs")


def tokens(worker: Worker) -> None:
    text = worker.words(20)
    found = worker.ask("/tokenize", {"content": text})["tokens"]
    back = worker.ask("/detokenize", {"tokens": found})["content"]
    if back.strip() != text:
        raise ViolationError(f"{text!r} came back as {back!r}")


def slow_reader(worker: Worker) -> None:
    body = _completion(worker, 4, 150, stream=True)
    end = time.monotonic() + worker.dice.uniform(0.5, 4.0)
    with worker.open("/v1/completions", body) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        while time.monotonic() < end and sock.recv(64):
            time.sleep(0.05)


def half_request(worker: Worker) -> None:
    whole = (
        b'POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{"pr'
    )
    with socket.create_connection(("127.0.0.1", worker.port), _TIMEOUT_S) as sock:
        sock.sendall(whole[: worker.dice.randrange(1, len(whole))])
        time.sleep(worker.dice.uniform(0.0, 0.5))


def sentinel_text(worker: Worker) -> str:
    """Return the greedy continuation that must be the same each time."""
    body = {"prompt": SENTINEL, "max_tokens": 24, "temperature": 0, "ignore_eos": True}
    text: str = worker.ask("/v1/completions", body)["choices"][0]["text"]
    return text


def sentinel(worker: Worker) -> None:
    text = sentinel_text(worker)
    if text != worker.sentinel:
        raise ViolationError(f"greedy text changed: {text!r}, not {worker.sentinel!r}")


Kind = Callable[[Worker], None]

KINDS: tuple[tuple[Kind, int], ...] = (
    (short, 20),
    (chat, 10),
    (chat_stream, 14),
    (native_stream, 8),
    (abort, 14),
    (bad_request, 12),
    (too_long, 2),
    (several, 6),
    (logprobs, 4),
    (long_prompt, 4),
    (tokens, 6),
    (slow_reader, 3),
    (half_request, 5),
    (sentinel, 4),
)
"""Each kind with its share."""
