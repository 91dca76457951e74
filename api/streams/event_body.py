"""What every body of server-sent events does: look after its client, and ping."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator

from api.observing.exchange import End
from api.streams.client import Client

__all__ = ("EventBody",)


class EventBody(ABC):
    """An iterator of bytes that ends when the client leaves.

    One thread iterates; ``close`` may come from any thread, at any time, repeatedly.
    """

    def __init__(self, client: Client, ping_interval_s: float) -> None:
        self._client = client
        self._ping_interval_s = ping_interval_s
        self._sent_at = time.monotonic()
        self._is_ended = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        while not self._is_ended:
            if self._client.is_gone():
                self._client.note_end(End.CLIENT_GONE)
                self.close()
                break
            piece = self._next_piece()
            if piece:
                self._sent_at = time.monotonic()
                return piece
        raise StopIteration

    @property
    def _is_ping_due(self) -> bool:
        silent_s = time.monotonic() - self._sent_at
        return 0 < self._ping_interval_s <= silent_s

    @abstractmethod
    def close(self) -> None:
        """End the stream."""

    @abstractmethod
    def _next_piece(self) -> bytes:
        """Return what is new, a ping when it is time for one, or nothing."""
