"""Connections that read streams again: how many may, and what they got."""

from __future__ import annotations

import threading

from api.errors import KeyBusy
from api.streams.room import RETRY_AFTER_S

__all__ = ("Followers",)


class Followers:
    """Counts them. Any thread. Each takes a worker of the server."""

    def __init__(self, limit: int) -> None:
        """Allow `limit` of them at a time."""
        self._limit = limit
        self._n = 0
        self.n_resumed = 0
        """All that ever came."""
        self.n_bytes = 0
        """Sent to them."""
        self.n_lost = 0
        """Reads that were refused, because their bytes had been dropped."""
        self._lock = threading.Lock()

    def follow(self) -> None:
        """Count one more.

        Raises:
            KeyBusy: There are too many.
        """
        with self._lock:
            if self._n >= self._limit:
                raise KeyBusy(
                    f"{self._n} connections follow streams already, the most that this "
                    "server's workers allow (--threads-http): close some, or come back "
                    "later",
                    RETRY_AFTER_S,
                )
            self._n += 1
            self.n_resumed += 1

    def unfollow(self, n_bytes: int) -> None:
        """Count one less, which was sent so many bytes."""
        with self._lock:
            self._n -= 1
            self.n_bytes += n_bytes

    def note_lost(self) -> None:
        """Count one reader whose bytes were dropped."""
        with self._lock:
            self.n_lost += 1
