"""Whether the client is still there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from api.observing.exchange import End, exchange_of
from llamactypes.engine import Generation

__all__ = ("WAIT_SLICE_S", "Client")

WAIT_SLICE_S = 0.1
"""Longest wait between two looks at the client's connection, in seconds."""


class Client:
    """The other end of one request. The request's worker thread.

    waitress says when the client closed its connection (``channel_request_lookahead``
    must be above 0); under a server that does not, a client is never gone and leaving
    shows only when the next piece is written.
    """

    def __init__(self, environ: Mapping[str, Any]) -> None:
        self._is_gone: Callable[[], bool] | None = environ.get(
            "waitress.client_disconnected"
        )
        self._exchange = exchange_of(environ)

    @property
    def request_id(self) -> str:
        """The request's name in its reply and in the log."""
        return "-" if self._exchange is None else self._exchange.request_id

    def is_gone(self) -> bool:
        """Whether the connection was closed by the client."""
        return self._is_gone is not None and bool(self._is_gone())

    def watch(self, generations: Sequence[Generation]) -> None:
        """Say which generations answer this request."""
        if self._exchange is not None:
            self._exchange.watch(generations)

    def note_end(self, end: End) -> None:
        """Say how a stream ended, for its status line was sent long before."""
        if self._exchange is not None:
            self._exchange.end = end
