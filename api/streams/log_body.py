"""A response body that reads a log: from some offset to the end."""

from __future__ import annotations

import time
from collections.abc import Callable

from waitress.channel import ClientDisconnected

from api import sse
from api.errors import describe
from api.observing.exchange import End
from api.streams.client import WAIT_SLICE_S, Client
from api.streams.ring import OffsetLost
from api.streams.stores.reading import ReadableLog

__all__ = ("LogBody",)


_PROGRESS_S = 1.0
"""Between two events that tell how far a prompt is."""


class StreamBroken(ClientDisconnected):
    """The connection has to break: a clean end would look like the stream's."""


def _nothing(n_bytes: int) -> None:
    """Do nothing more."""


class LogBody:
    """An iterator of bytes over a log, one of any number.

    One thread iterates; ``close`` may come from any thread, at any time, repeatedly.
    Closing ends nothing but this reader.
    """

    def __init__(
        self,
        log: ReadableLog,
        client: Client,
        offset: int = 0,
        on_close: Callable[[int], object] = _nothing,
        *,
        has_snapshots: bool = False,
        has_progress: bool = False,
        is_late: bool = False,
    ) -> None:
        """Begin to read.

        Args:
            log: What to read.
            client: Who reads.
            offset: Where to begin.
            on_close: Called once, with the number of bytes that were sent.
            has_snapshots: Send a snapshot where bytes are lost, instead of an error.
            has_progress: Send events that tell how far a silent prompt is. They are no
                part of the stream: no offset counts them.
            is_late: It is not the connection that asked: break its silence.
        """
        self._log = log
        self._client = client
        self._offset = offset
        self._on_close = on_close
        self._has_snapshots = has_snapshots
        self._has_progress = has_progress
        self._is_late = is_late
        self._told_at = 0.0
        self.n_sent = 0
        self._is_ended = False
        self._is_closed = False
        log.attach()

    def __iter__(self) -> LogBody:
        return self

    def __next__(self) -> bytes:
        while not self._is_ended:
            if self._client.is_gone():
                self._client.note_end(End.CLIENT_GONE)
                break
            piece = self._next_piece()
            if piece:
                self.n_sent += len(piece)
                return piece
        self.close()
        raise StopIteration

    def close(self) -> None:
        """Stop reading."""
        self._is_ended = True
        if not self._is_closed:
            self._is_closed = True
            self._log.detach()
            self._on_close(self.n_sent)

    def _next_piece(self) -> bytes:
        try:
            data, self._is_ended = self._log.read(self._offset, WAIT_SLICE_S)
        except OffsetLost as error:
            if self._has_snapshots:
                piece, self._offset = self._log.snapshot()
                return piece
            # The status line is out, and a silent end would look like success.
            self._is_ended = True
            self._client.note_end(End.ERROR)
            return sse.data_event(describe(error).body())
        self._offset += len(data)
        if not data and self._is_late and not self._log.n_events:
            return self._progress()
        if self._is_ended and getattr(self._log, "is_suspended", False):
            if data:
                self._is_ended = False  # what is there first
                return data
            self._client.note_end(End.ERROR)
            raise StreamBroken
        if self._is_ended and self._log.is_broken:
            self._client.note_end(End.ERROR)
        return data

    def _progress(self) -> bytes:
        """Return how far a silent prompt is, or let all readers know."""
        self._log.greet()
        now = time.monotonic()
        if not self._has_progress or now - self._told_at < _PROGRESS_S:
            return b""
        self._told_at = now
        progress = self._log.progress
        return sse.named_event("progress", progress) if progress else b""
