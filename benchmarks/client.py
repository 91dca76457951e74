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
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ("Outcome", "Run", "Streams", "chat", "completion", "stream")

_USAGE = re.compile(rb'"completion_tokens":\s*(\d+)')
_TEXT = re.compile(rb'"(?:text|content)":\s*"((?:[^"\\\\]|\\\\.)*)"')
_EVENT = b"data: "
_END = b"\r\n0\r\n\r\n"


@dataclass(slots=True)
class Outcome:
    """What one stream gave; times are ``time.perf_counter`` seconds."""

    sent_at: float
    ended_at: float = 0.0
    event_times: list[float] = field(default_factory=list)
    """When each piece that holds an event with text arrived."""
    data: bytearray = field(default_factory=bytearray)

    @property
    def n_tokens(self) -> int:
        """Tokens generated, as the server counted them."""
        found = _USAGE.findall(bytes(self.data))
        if not found:
            raise RuntimeError(f"no usage in the reply: {bytes(self.data[-400:])!r}")
        return int(found[-1])

    @property
    def first_token_s(self) -> float:
        """Time to the first text."""
        return self.event_times[0] - self.sent_at

    @property
    def text(self) -> str:
        """The whole answer."""
        pieces = _TEXT.findall(bytes(self.data))
        return json.loads(b'"' + b"".join(pieces) + b'"')


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
        """Mean time to the first text."""
        waits = [one.first_token_s for one in self.outcomes]
        return sum(waits) / len(waits)


def completion(prompt: str, n_tokens: int, **options: Any) -> tuple[str, Any]:
    """Return path and body of a streamed completion of exactly `n_tokens`."""
    body = {"prompt": prompt, "max_tokens": n_tokens, "ignore_eos": True, **options}
    return "/v1/completions", body


def chat(messages: list[dict[str, str]], n_tokens: int, **options: Any):
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
    """Open streams, read together by one thread."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._selector = selectors.DefaultSelector()

    def start(self, request: tuple[str, Any]) -> Outcome:
        """Send a request."""
        sock = socket.create_connection(("127.0.0.1", self._port), 10)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(_encode(self._port, *request))
        sock.setblocking(False)
        outcome = Outcome(time.perf_counter())
        self._selector.register(sock, selectors.EVENT_READ, outcome)
        return outcome

    def read(self, until: Any = None, timeout_s: float = 600.0) -> None:
        """Read until `until()` is true, or all streams ended."""
        deadline = time.monotonic() + timeout_s
        while self._selector.get_map() and not (until and until()):
            ready = self._selector.select(1.0)
            now = time.perf_counter()
            for key, _ in ready:
                if _read_some(key.fileobj, key.data, now):
                    key.data.ended_at = now
                    self._selector.unregister(key.fileobj)
                    key.fileobj.close()
            if time.monotonic() > deadline:
                raise TimeoutError(f"streams did not end within {timeout_s} s")

    def close(self) -> None:
        """Leave the streams that still run."""
        for key in tuple(self._selector.get_map().values()):
            self._selector.unregister(key.fileobj)
            key.fileobj.close()


def stream(port: int, requests: Sequence[tuple[str, Any]]) -> Run:
    """Start all requests at once and read them to the end."""
    streams = Streams(port)
    outcomes = tuple(streams.start(request) for request in requests)
    streams.read()
    return Run(outcomes)


def _read_some(sock: socket.socket, outcome: Outcome, now: float) -> bool:
    """Take what is there; return whether the stream ended."""
    data = sock.recv(1 << 16)
    outcome.data += data
    if _EVENT in data and any(_TEXT.findall(data)):
        outcome.event_times.append(now)
    return not data or outcome.data.endswith(_END)


def _encode(port: int, path: str, body: Any) -> bytes:
    text = json.dumps({"stream": True, **body}).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
    )
    return head.encode() + text
