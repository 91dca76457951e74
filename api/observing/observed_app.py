"""A Falcon application whose exchanges are observed to the end of their bodies."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import falcon

from api.observing.exchange import End, Exchange

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

__all__ = ("Observer", "ObservedApp")

logger = logging.getLogger("llamactypes.api")

Observer = Callable[[Exchange], None]
"""Called once for each exchange, by its worker, when the body was sent or dropped."""


def _has_nothing(deadline_s: float) -> bool:
    """Close nothing."""
    return True


class ObservedApp(falcon.App[Any, Any]):
    """Hands every exchange to its observers when it has ended.

    Falcon's own middleware ends before the first event of a stream, so this wraps the
    application as its server calls it.

    Attributes:
        close: Stops what belongs to the application: ``close(deadline_s)`` lets
            generations end until the deadline, frees the engine if `create_app` made
            it, and gives back whether all of it ended. Any thread, any number of times.
    """

    def __init__(self, observers: Sequence[Observer]) -> None:
        super().__init__()
        self._observers = tuple(observers)
        self.close: Callable[[float], bool] = _has_nothing

    def __call__(
        self, env: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer one request."""
        exchange = Exchange.begin(env)

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            exchange.answered(int(status[:3]))
            return start_response(status, headers, *more)

        try:
            body = super().__call__(env, start)
        except BaseException:
            exchange.answered(500)
            self._end(exchange)
            raise
        return _Body(body, exchange, self._end)

    def _end(self, exchange: Exchange) -> None:
        exchange.finish()
        for observe in self._observers:
            try:
                observe(exchange)
            except Exception:  # watching must not break what is watched
                logger.exception("an exchange could not be recorded")


class _Body:
    """A body that tells when it ended. One thread iterates and closes."""

    def __init__(
        self,
        body: Iterable[bytes],
        exchange: Exchange,
        on_end: Callable[[Exchange], None],
    ) -> None:
        self._body = body
        self._pieces = iter(body)
        self._exchange = exchange
        self._on_end = on_end
        self._is_exhausted = False
        self._is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            piece = next(self._pieces)
        except StopIteration:
            self._is_exhausted = True
            raise
        except BaseException:
            self._is_exhausted = True
            self._exchange.end = End.ERROR
            raise
        self._exchange.n_bytes += len(piece)
        return piece

    def close(self) -> None:
        """Close the body; what was not asked for to its end had nobody to read it."""
        if self._is_closed:
            return
        self._is_closed = True
        if not self._is_exhausted and self._exchange.end is End.COMPLETE:
            self._exchange.end = End.CLIENT_GONE
        try:
            close = getattr(self._body, "close", None)
            if close is not None:
                close()
        finally:
            self._on_end(self._exchange)
