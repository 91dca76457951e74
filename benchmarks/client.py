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
from dataclasses import dataclass, field

__all__ = ("Outcome", "Run", "stream_completions")

_USAGE = re.compile(rb'"completion_tokens":\s*(\d+)')
_CONTENT = b"data: "


@dataclass(slots=True)
class Outcome:
    """What one stream gave; times are ``time.perf_counter`` seconds."""

    sent_at: float
    first_at: float = 0.0
    ended_at: float = 0.0
    tail: bytes = b""
    data: bytearray = field(default_factory=bytearray)

    @property
    def n_tokens(self) -> int:
        """Tokens generated, as the server counted them."""
        found = _USAGE.findall(bytes(self.data))
        if not found:
            raise RuntimeError(f"no usage in the reply: {bytes(self.data[-400:])!r}")
        return int(found[-1])


@dataclass(frozen=True, slots=True)
class Run:
    """Several streams that were started together."""

    outcomes: tuple[Outcome, ...]

    @property
    def tokens_per_second(self) -> float:
        """All tokens over the time from the first byte sent to the last received."""
        started = min(one.sent_at for one in self.outcomes)
        ended = max(one.ended_at for one in self.outcomes)
        return sum(one.n_tokens for one in self.outcomes) / (ended - started)

    @property
    def first_token_s(self) -> float:
        """Mean time to the first event."""
        waits = [one.first_at - one.sent_at for one in self.outcomes]
        return sum(waits) / len(waits)


def stream_completions(
    port: int, prompts: list[str], n_tokens: int, timeout_s: float = 300.0
) -> Run:
    """Ask for one stream per prompt, all at once, and read them to the end."""
    selector = selectors.DefaultSelector()
    outcomes: list[Outcome] = []
    for seed, prompt in enumerate(prompts):
        sock = socket.create_connection(("127.0.0.1", port), 10)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(_request(port, prompt, n_tokens, seed))
        sock.setblocking(False)
        outcomes.append(Outcome(time.perf_counter()))
        selector.register(sock, selectors.EVENT_READ, outcomes[-1])
    _read_all(selector, timeout_s)
    return Run(tuple(outcomes))


def _read_all(selector: selectors.BaseSelector, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while selector.get_map():
        ready = selector.select(1.0)
        now = time.perf_counter()
        for key, _ in ready:
            outcome: Outcome = key.data
            if _read_some(key.fileobj, outcome, now):
                outcome.ended_at = now
                selector.unregister(key.fileobj)
                key.fileobj.close()
        if time.monotonic() > deadline:
            raise TimeoutError(f"streams did not end within {timeout_s} s")


def _read_some(sock: socket.socket, outcome: Outcome, now: float) -> bool:
    """Take what is there; return whether the stream ended."""
    data = sock.recv(1 << 16)
    outcome.data += data
    if not outcome.first_at and _CONTENT in data:
        outcome.first_at = now
    outcome.tail = (outcome.tail + data)[-16:]
    return not data or outcome.tail.endswith(b"0\r\n\r\n")


def _request(port: int, prompt: str, n_tokens: int, seed: int) -> bytes:
    body = json.dumps(
        {
            "prompt": prompt,
            "max_tokens": n_tokens,
            "stream": True,
            "ignore_eos": True,
            "seed": seed,
            "cache_prompt": False,
        }
    ).encode()
    head = (
        f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
