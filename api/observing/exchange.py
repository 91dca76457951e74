"""One request and what became of it: the end of its stream included."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from llamactypes.engine import Generation

__all__ = ("End", "Exchange", "TokenCounts", "exchange_of")

_KEY = "llamactypes.exchange"


class End(StrEnum):
    """How an exchange ended."""

    COMPLETE = "complete"
    """Everything was handed to the server to be sent, refusals too."""
    CLIENT_GONE = "client gone"
    ERROR = "error"
    """A status of 500 or more, or an error in the middle of a stream."""


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Tokens of all generations of one request."""

    n_prompt: int = 0
    """Each prompt once, however many choices it has."""
    n_cached: int = 0
    n_generated: int = 0


def _nothing() -> None:
    """Do nothing."""


@dataclass(slots=True)
class Exchange:
    """A request and its answer. The worker thread that serves it."""

    method: str
    path: str
    """As the client sent it, without the query."""
    client: str = ""
    """Its address."""
    traceparent: str | None = None
    request_id: str = ""
    route: str | None = None
    """Template of the path; None: no route."""
    status: int = 0
    n_bytes: int = 0
    """Of the body, as handed to the server."""
    end: End = End.COMPLETE
    began_ns: int = field(default_factory=time.time_ns)
    """Wall clock."""
    ended_ns: int = 0
    generations: list[Generation] = field(default_factory=list)
    on_submitted: Callable[[], object] = _nothing
    """Called when all that the request asks for was handed to the engine."""
    _began_at: float = field(default_factory=time.perf_counter)

    @staticmethod
    def begin(environ: dict[str, Any]) -> Exchange:
        """Return the exchange of a WSGI request, and leave it in `environ`."""
        exchange = Exchange(
            method=environ.get("REQUEST_METHOD", ""),
            path=environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", ""),
            client=environ.get("REMOTE_ADDR", ""),
            traceparent=environ.get("HTTP_TRACEPARENT"),
        )
        environ[_KEY] = exchange
        return exchange

    @property
    def duration_s(self) -> float:
        """How long it took, by a clock that nobody sets."""
        return (self.ended_ns - self.began_ns) / 1e9

    def answered(self, status: int) -> None:
        """Note the status line."""
        self.status = status
        if status == 499:
            self.end = End.CLIENT_GONE
        elif status >= 500:
            self.end = End.ERROR

    def watch(self, generations: Sequence[Generation]) -> None:
        """Count the tokens of these, too; ones already known are no more."""
        self.on_submitted()
        known = {id(generation) for generation in self.generations}
        self.generations += [each for each in generations if id(each) not in known]

    def finish(self) -> None:
        """Note the end."""
        elapsed_s = time.perf_counter() - self._began_at
        self.ended_ns = self.began_ns + int(elapsed_s * 1e9)

    def tokens(self) -> TokenCounts:
        """Return what was computed so far."""
        firsts = {id(each.request.prompt_tokens): each for each in self.generations}
        results = [each.result for each in firsts.values() if each.result]
        return TokenCounts(
            n_prompt=sum(len(each.request.prompt_tokens) for each in firsts.values()),
            n_cached=sum(result.n_cached for result in results),
            n_generated=sum(map(_n_generated, self.generations)),
        )


def _n_generated(generation: Generation) -> int:
    result = generation.result
    return len(generation.tokens) if result is None else result.n_decoded


def exchange_of(environ: Mapping[str, Any]) -> Exchange | None:
    """Return the exchange that a WSGI request belongs to; None outside of our app."""
    return environ.get(_KEY)
