"""Room for one more client, where idle ones hold all connections."""

from __future__ import annotations

import errno
import logging
import time
from collections.abc import Iterable
from typing import Any

from waitress.server import BaseWSGIServer

from api.serving.refusals import Channel

__all__ = ("Pressure",)

logger = logging.getLogger("llamactypes.server")

_FREE = 4
"""Connections that are kept free, so that one more is always accepted."""
_FULL = (errno.EMFILE, errno.ENFILE)
_GRACE_S = 0.25
"""Who has just connected may not have been fast enough yet to send a request."""
_PATIENCE_S = 2.0
"""A body on its way is left alone unless nothing of it came for so long."""
_WARN_EVERY_S = 10.0
_PAUSE_S = 0.005
"""Nobody can be let go, and the waiting client wakes the loop at once, again and
again: without a pause it would take a whole CPU."""


class Pressure:
    """Closes the connections that are worth least when there are too many.

    What carries a request stays. The I/O thread.
    """

    def __init__(self, limit: int, map: dict[int, Any]) -> None:
        """Watch a socket map of waitress's, that should not reach `limit` entries."""
        self._limit = limit
        self._map = map
        self._warn_at = 0.0

    def relieve(self) -> bool:
        """Let go of so many that newcomers find a place; return whether they do."""
        n_over = len(self._map) - (self._limit - _FREE)
        return n_over <= 0 or self._let_go(n_over) == n_over

    def guard(self, listener: BaseWSGIServer) -> None:
        """Free a descriptor where `listener` has none left to accept with."""
        server: Any = listener
        accept = server.accept

        def accept_or_free() -> Any:
            try:
                return accept()
            except OSError as error:
                if error.errno in _FULL and not self._let_go(1):
                    time.sleep(_PAUSE_S)
                return None

        server.accept = accept_or_free

    def _let_go(self, n: int) -> int:
        """Close up to `n`; return how many."""
        now = time.time()
        channels = [one for one in self._map.values() if isinstance(one, Channel)]
        chosen = sorted(_spare(channels, now), key=lambda pair: pair[0])[:n]
        for _, channel in chosen:
            channel.handle_close()
        if now >= self._warn_at:
            self._warn_at = now + _WARN_EVERY_S
            logger.warning(
                "there may be no more than these %d connections: idle ones are "
                "closed for new ones",
                len(channels),
            )
        return len(chosen)


def _spare(
    channels: Iterable[Channel], now: float
) -> list[tuple[tuple[int, float], Channel]]:
    """Return those that carry no request, each with how much it is worth."""
    found = []
    for channel in channels:
        one: Any = channel
        silent_s = now - one.last_activity
        if one.requests or one.total_outbufs_len or silent_s < _GRACE_S:
            continue
        if one.request is None:
            rank = 0
        elif not one.request.headers_finished:
            rank = 1
        elif silent_s > _PATIENCE_S:
            rank = 2
        else:
            continue
        found.append(((rank, -silent_s), channel))
    return found
