"""A client that costs little: raw sockets, one thread, no JSON per chunk.

Tokens are counted from the reply's own ``usage``, never from chunks, which may hold
several tokens.
"""

from __future__ import annotations

import json
import re
import selectors
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = (
    "Outcome",
    "Request",
    "Run",
    "Streams",
    "chat",
    "completion",
    "encode",
    "stream",
)

Request = tuple[str, dict[str, Any]]
"""Path and body."""

_GENERATED = re.compile(rb'"completion_tokens":\s*(\d+)')
_PROMPT = re.compile(rb'"prompt_tokens":\s*(\d+)')
_PROMPT_MS = re.compile(rb'"prompt_ms":\s*([0-9.eE+-]+)')
_PREDICTED_MS = re.compile(rb'"predicted_ms":\s*([0-9.eE+-]+)')
_TEXT = re.compile(rb'"(?:text|content)":\s*"((?:[^"\\]|\\.)*)"')
_SOME_TEXT = re.compile(rb'"(?:text|content)":\s*"[^"]')
_EVENT_END = b"\n\n"
_LAST_CHUNK = b"\r\n0\r\n\r\n"


@dataclass(slots=True)
class Outcome:
    """What one request gave; times are ``time.perf_counter`` seconds."""

    sent_at: float
    ended_at: float = 0.0
    event_times: list[float] = field(default_factory=list)
    """When each piece arrived that completed an event with text."""
    data: bytearray = field(default_factory=bytearray)
    n_scanned: int = 0
    """Bytes of `data` that hold whole events already looked at."""

    def receive(self, piece: bytes, now: float) -> None:
        """Take bytes that arrived at `now`."""
        self.data += piece
        end = self.data.rfind(_EVENT_END)
        if end > self.n_scanned:
            if _SOME_TEXT.search(self.data, self.n_scanned, end):
                self.event_times.append(now)
            self.n_scanned = end

    @property
    def n_tokens(self) -> int:
        """Tokens generated, as the server counted them."""
        return int(self._last(_GENERATED))

    @property
    def n_prompt_tokens(self) -> int:
        """Tokens of the prompt, cached ones included, as the server counted them."""
        return int(self._last(_PROMPT))

    @property
    def compute_s(self) -> float:
        """Prompt and generation together, as the server's ``timings`` say."""
        return (self._last(_PROMPT_MS) + self._last(_PREDICTED_MS)) / 1e3

    @property
    def total_s(self) -> float:
        """From the request sent to the last byte of the reply."""
        return self.ended_at - self.sent_at

    @property
    def first_token_s(self) -> float:
        """Time to the first text."""
        if not self.event_times:
            raise RuntimeError(f"no text in the reply: {bytes(self.data[-400:])!r}")
        return self.event_times[0] - self.sent_at

    @property
    def text(self) -> str:
        """The whole answer."""
        pieces = _TEXT.findall(bytes(self.data))
        text: str = json.loads(b'"' + b"".join(pieces) + b'"')
        return text

    def _last(self, pattern: re.Pattern[bytes]) -> float:
        found = pattern.findall(bytes(self.data))
        if not found:
            raise RuntimeError(
                f"{pattern.pattern!r} is not in the reply: {bytes(self.data[-400:])!r}"
            )
        return float(found[-1])


@dataclass(frozen=True, slots=True)
class Run:
    """Several requests that were started together."""

    outcomes: tuple[Outcome, ...]

    @property
    def tokens_per_second(self) -> float:
        """All tokens over the time from the first byte sent to the last received."""
        return sum(one.n_tokens for one in self.outcomes) / (self._ended - self._sent)

    @property
    def decode_tokens_per_second(self) -> float:
        """Tokens after each stream's first, since the first text of any stream.

        What other streams' prompts still need then counts against the server.
        """
        started = min(one.event_times[0] for one in self.outcomes)
        n_tokens = sum(one.n_tokens - 1 for one in self.outcomes)
        return n_tokens / (self._ended - started)

    @property
    def first_token_s(self) -> float:
        """Mean time to the first text."""
        waits = [one.first_token_s for one in self.outcomes]
        return sum(waits) / len(waits)

    @property
    def _sent(self) -> float:
        return min(one.sent_at for one in self.outcomes)

    @property
    def _ended(self) -> float:
        return max(one.ended_at for one in self.outcomes)


def completion(prompt: str, n_tokens: int, **options: Any) -> Request:
    """Return path and body of a streamed completion of exactly `n_tokens`."""
    body = {
        "prompt": prompt,
        "max_tokens": n_tokens,
        "ignore_eos": True,
        "stream_options": {"include_usage": True},
        **options,
    }
    return "/v1/completions", body


def chat(messages: list[dict[str, str]], n_tokens: int, **options: Any) -> Request:
    """Return path and body of a streamed chat answer of exactly `n_tokens`."""
    body = {
        "messages": messages,
        "max_tokens": n_tokens,
        "ignore_eos": True,
        "stream_options": {"include_usage": True},
        **options,
    }
    return "/v1/chat/completions", body


class Streams:
    """Open requests, read together by one thread."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._selector = selectors.DefaultSelector()

    def start(self, request: Request) -> Outcome:
        """Connect and send; the time to connect counts as the server's."""
        outcome = Outcome(time.perf_counter())
        sock = socket.create_connection(("127.0.0.1", self._port), 10)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(encode(self._port, *request))
        sock.setblocking(False)
        self._selector.register(sock, selectors.EVENT_READ, outcome)
        return outcome

    def read(
        self, until: Callable[[], object] | None = None, timeout_s: float = 180.0
    ) -> None:
        """Read until `until()` is true, or all requests ended.

        Raises:
            TimeoutError: Nothing arrived for `timeout_s` seconds.
        """
        deadline = time.monotonic() + timeout_s
        while self._selector.get_map() and not (until and until()):
            ready = self._selector.select(1.0)
            now = time.perf_counter()
            if ready:
                deadline = time.monotonic() + timeout_s
            for key, _ in ready:
                if _read_some(key.fileobj, key.data, now):
                    key.data.ended_at = now
                    self._selector.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]  # a socket
            if time.monotonic() > deadline:
                raise TimeoutError(f"the server sent nothing for {timeout_s} s")

    def close(self) -> None:
        """Leave the requests that still run."""
        for key in tuple(self._selector.get_map().values()):
            self._selector.unregister(key.fileobj)
            key.fileobj.close()  # type: ignore[union-attr]  # a socket


def stream(port: int, requests: Sequence[Request]) -> Run:
    """Start all requests at once and read them to the end."""
    streams = Streams(port)
    outcomes = tuple(streams.start(request) for request in requests)
    streams.read()
    return Run(outcomes)


def _read_some(sock: Any, outcome: Outcome, now: float) -> bool:
    """Take what is there; return whether the reply ended."""
    piece: bytes = sock.recv(1 << 16)
    outcome.receive(piece, now)
    return not piece or outcome.data.endswith(_LAST_CHUNK)


def encode(port: int, path: str, body: dict[str, Any]) -> bytes:
    """Return the bytes of a request; a reply that is no stream ends its connection."""
    body = {"stream": True, **body}
    text = json.dumps(body).encode()
    connection = "keep-alive" if body["stream"] else "close"
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n"
        f"Connection: {connection}\r\n\r\n"
    )
    return head.encode() + text
