"""A stream that can be read again: one writer, any number of readers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from api import sse
from api.streams.digest import Digest
from api.streams.event_ids import with_ids
from api.streams.journal import Journal, NoJournal
from api.streams.ring import ByteRing
from api.streams.tally import Tally

__all__ = ("LogImage", "StreamLog")

_READ_LIMIT = 1 << 16
"""Bytes that one read returns at most: what a slow reader has in its hands."""
_SILENCE_S = 1.0
"""Between two comments that tell how far a prompt is."""


@dataclass(frozen=True, slots=True)
class LogImage:
    """All bytes that a log holds, and what is left of those before. A value."""

    first: int
    held: bytes
    digest: dict[str, Any]
    n_bytes: int
    n_events: int
    crc: int


class StreamLog:
    """What one generation has sent so far, and whether more will come. Any thread.

    Readers keep their own offsets, so a slow one never slows another, nor the writer.
    What a journal has not taken yet no reader sees. Guarded by one condition: the
    bytes, the readers, how it ended; by another lock: whose turn it is to write.
    """

    def __init__(
        self, capacity: int | None, content_type: str, journal: Journal | None = None
    ) -> None:
        """Create an empty log.

        Args:
            capacity: Bytes to hold, the newest; None: all.
            content_type: Of its bytes.
            journal: Where it is written down, too.
        """
        self.content_type = content_type
        self.journal: Journal = journal or NoJournal()
        self.started_at = int(time.time())
        """Unix time."""
        self.completed_at = 0
        """Unix time; 0 while it goes on."""
        self.error: Exception | None = None
        """Why it ended, when not by itself."""
        self.is_begun = False
        """A slot began with the prompt: what fails later is an event."""
        self.is_done = False
        self.is_broken = False
        """Its events end with an error."""
        self.is_suspended = False
        """The next process goes on with it: readers lose their connections."""
        self.is_continued = False
        """Another process began it."""
        self.n_readers = 0
        self.keeps_errors = capacity is None
        """Whether a failure before the begin is what it was made for, too."""
        self.tell_progress: Callable[[], dict[str, Any]] = dict
        """Says how far the generation is before its first event."""
        self._capacity = capacity
        self._ring = ByteRing(capacity)
        self._digest = Digest(capacity or 0)
        self._tally = Tally()
        self._done_at = 0.0
        self._left_at = time.monotonic()
        self._greeted_at = 0.0
        self._changed = threading.Condition(threading.Lock())
        self._writing = threading.RLock()

    # -- the writer -------------------------------------------------------------------

    def begin(self) -> None:
        """Say that the generation began."""
        with self._writing:
            self.journal.begin()
            with self._changed:
                self.is_begun = True
                self._changed.notify_all()

    def append_events(self, events: bytes) -> None:
        """Take in whole events, each with an id; nothing after the end."""
        with self._writing:
            self.append(with_ids(events, self._ring.end))

    def append(self, data: bytes) -> None:
        """Take in bytes as they are; nothing after the end."""
        with self._writing:
            if data and not self.is_done:
                self.journal.append(data)
                self._take_in(data)
                self.journal.after(self)

    def finish(self, error: Exception | None = None) -> None:
        """Let every reader come to an end; only the first call counts."""
        with self._writing:
            if self.is_done:
                return
            if not self.keeps_errors:
                self.append(self._tally.end_line())
            self._end(error, int(time.time()))
            self.journal.finish(self)

    def suspend(self, error: Exception) -> None:
        """End it in this process alone."""
        with self._writing:
            if not self.is_done:
                self.journal.close()
                self.is_suspended = True
                self._end(error, 0)

    def greet(self) -> None:
        """Break the silence of a log that has nothing yet.

        What it has is read by all from the same offsets, so this is a comment: how far
        the prompt is, at most once a second.
        """
        with self._writing:
            now = time.monotonic()
            if self._tally.n_events or now - self._greeted_at < _SILENCE_S:
                return
            self._greeted_at = now
            progress = self.progress
            if progress:
                self.append(sse.comment(progress))
            elif not self._ring.end:
                self.append(sse.PING)

    # -- readers ----------------------------------------------------------------------

    @property
    def n_total(self) -> int:
        """Bytes so far, those dropped included."""
        return self._ring.end

    @property
    def n_events(self) -> int:
        """Events so far, those dropped included."""
        return self._tally.n_events

    @property
    def crc(self) -> int:
        """CRC-32 of all bytes so far."""
        return self._tally.crc

    @property
    def n_held(self) -> int:
        """Bytes in memory."""
        return len(self._ring) + len(self._digest)

    @property
    def first(self) -> int:
        """The offset of the oldest byte that is held."""
        with self._changed:
            return self._ring.first

    @property
    def progress(self) -> dict[str, Any]:
        """How far it is while nothing was generated; empty: unknown."""
        return {} if self._tally.n_events or self.is_done else self.tell_progress()

    def read(self, offset: int, timeout_s: float) -> tuple[bytes, bool]:
        """Return bytes from `offset` on, and whether nothing follows them.

        Waits at most `timeout_s` seconds for the first of them.

        Raises:
            OffsetLost: The first of them was dropped.
        """
        with self._changed:
            if offset >= self._ring.end and not self.is_done:
                self._changed.wait(timeout_s)
            data = self._ring.read(offset, _READ_LIMIT)
            return data, self.is_done and offset + len(data) >= self._ring.end

    def snapshot(self) -> tuple[bytes, int]:
        """Return all text that was dropped as one event, and where to read on.

        What follows the event in the bytes belongs to the stream itself.
        """
        with self._changed:
            first, cut = self._ring.first, self._digest.cut
            return self._digest.event(first - len(cut)) + cut, first

    def read_all(self) -> bytes:
        """Return what is held; for logs that hold everything."""
        with self._changed:
            return self._ring.read(self._ring.first, len(self._ring))

    def wait_begun(self, timeout_s: float) -> bool:
        """Wait for the begin, or for an end without one; return whether there is."""
        with self._changed:
            if not (self.is_begun or self.is_done):
                self._changed.wait(timeout_s)
            return self.is_begun or self.is_done

    def wait_done(self, timeout_s: float) -> bool:
        """Wait for the end at most `timeout_s` seconds; return whether it came."""
        with self._changed:
            return self._changed.wait_for(lambda: self.is_done, timeout_s)

    def attach(self) -> None:
        """Count one more reader."""
        with self._changed:
            self.n_readers += 1

    def detach(self) -> None:
        """Count one reader less."""
        with self._changed:
            self.n_readers -= 1
            self._left_at = time.monotonic()

    def touch(self) -> None:
        """Say that somebody reads elsewhere."""
        with self._changed:
            self._left_at = time.monotonic()

    def unread_s(self, now: float) -> float:
        """Return for how long nobody has read at `now` (``time.monotonic``)."""
        with self._changed:
            return 0.0 if self.n_readers else now - self._left_at

    def done_s(self, now: float) -> float:
        """Return how long ago it ended at `now`; below 0: it has not."""
        with self._changed:
            return now - self._done_at if self.is_done else -1.0

    # -- journals ---------------------------------------------------------------------

    def image(self) -> LogImage:
        """Return everything that is in memory."""
        with self._changed:
            tally = self._tally
            return LogImage(
                self._ring.first,
                self._ring.read(self._ring.first, len(self._ring)),
                self._digest.state(),
                tally.n_bytes,
                tally.n_events,
                tally.crc,
            )

    def restore(self, image: LogImage) -> None:
        """Be what `image` was made of; what it holds is appended afterwards."""
        with self._changed:
            self._ring = ByteRing(self._capacity, image.first)
            self._digest = Digest.restored(self._capacity or 0, image.digest)
            self._ring.append(image.held)
            self._tally = Tally(image.n_bytes, image.n_events, image.crc)

    def restore_end(self, error: Exception | None, completed_at: int) -> None:
        """Be ended as long as it was when somebody wrote that down."""
        with self._changed:
            self._end_now(error, completed_at)
            self._done_at -= max(0.0, time.time() - completed_at)

    def _take_in(self, data: bytes) -> None:
        with self._changed:
            self._tally.add(data)
            dropped = self._ring.append(data)
            if dropped:
                self._digest.take(dropped)
            self._changed.notify_all()

    def _end(self, error: Exception | None, completed_at: int) -> None:
        with self._changed:
            self._end_now(error, completed_at)

    def _end_now(self, error: Exception | None, completed_at: int) -> None:
        self.is_done = True
        self.error = error
        self.completed_at = completed_at
        self._done_at = time.monotonic()
        self._changed.notify_all()
