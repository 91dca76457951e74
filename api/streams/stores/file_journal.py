"""One log as a file: every byte is written before any reader sees it."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from api.streams.log import StreamLog
from api.streams.stores.records import MAGIC, Kind, encode
from api.streams.stores.store import LogFacts
from api.streams.stores.written import Written, end_of, header_of, image_of

__all__ = ("FileJournal", "open_private")

_SLACK_BYTES = 1 << 16
_REWRITE_AT = 3
"""A file is written anew when it is so many times what its log holds."""


def open_private(path: Path, mode: str) -> BinaryIO:
    """Open a file that nobody else may read, without a buffer of ours."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    return open(path, mode, buffering=0, opener=opener)  # type: ignore[return-value]


class FileJournal:
    """A `Journal`. Any thread may discard it.

    After an error it writes no more, but once: at the end everything that the log still
    holds is written anew, should there be room again.
    """

    def __init__(
        self,
        path: Path,
        facts: LogFacts,
        on_error: Callable[[OSError], object],
        *,
        keeps_requests: bool = False,
        open_file: Callable[[Path, str], BinaryIO] = open_private,
    ) -> None:
        self.path = path
        self.keeps_requests = keeps_requests
        self._facts = facts
        self._on_error = on_error
        self._open_file = open_file
        self._file: BinaryIO | None = None
        self._head: list[bytes] = []
        """Records that come before everything else when it is written anew."""
        self._tokens: list[bytes] = []
        self._n_bytes = 0
        self._is_over = False
        """Nothing is written any more, whatever comes."""
        self._lock = threading.Lock()

    def open(self, started_at: int) -> None:
        """Create the file."""
        self._head = [encode(Kind.HEADER, header_of(self._facts, started_at))]
        with self._lock, self._reporting():
            self._file = self._open_file(self.path, "xb")
            self._put(MAGIC + self._head[0])

    def reopen(self, written: Written, n_bytes: int) -> None:
        """Go on behind the first `n_bytes`, which are whole records."""
        self._head = [encode(Kind.HEADER, header_of(self._facts, _started(written)))]
        if written.last_event is not None:
            self._head += self._accepted(written.last_event, written.request)
        if written.log.is_begun:
            self._head.append(encode(Kind.BEGUN, b""))
        self._tokens = [encode(Kind.TOKENS, each) for each in written.deltas]
        with self._lock, self._reporting():
            os.truncate(self.path, n_bytes)
            self._file = self._open_file(self.path, "ab")
            self._n_bytes = n_bytes

    def accept(self, last_event: bytes, request: bytes) -> None:
        """See `Journal`."""
        for record in self._accepted(last_event, request):
            self._note(record)

    def begin(self) -> None:
        """See `Journal`."""
        self._note(encode(Kind.BEGUN, b""))

    def tokens(self, deltas: bytes) -> None:
        """See `Journal`."""
        record = encode(Kind.TOKENS, deltas)
        self._tokens.append(record)
        self._write(record)

    def append(self, data: bytes) -> None:
        """See `Journal`."""
        self._write(encode(Kind.DATA, data))

    def after(self, log: StreamLog) -> None:
        """Write the file anew when most of it is of bytes that were dropped."""
        capacity = self._facts.capacity
        if capacity is not None:
            limit = _REWRITE_AT * capacity + _SLACK_BYTES
            if self._n_bytes > limit + sum(map(len, self._tokens)):
                self._rewrite(log, b"")

    def finish(self, log: StreamLog) -> None:
        """Note the end; from here on it survives a failure of power, too."""
        record = encode(Kind.END, end_of(log))
        if self._file is None:
            self._rewrite(log, record)
        else:
            self._write(record)
        with self._lock, self._reporting():
            file, self._file = self._file, None
            if file is not None:
                with file:
                    os.fdatasync(file.fileno())

    def discard(self) -> None:
        """Remove the file; whoever still writes writes nothing."""
        with self._lock:
            self._is_over = True
            file, self._file = self._file, None
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
                if file is not None:
                    file.close()

    def close(self) -> None:
        """Let go of the file as it is, whatever comes."""
        with self._lock:
            self._is_over = True
            file, self._file = self._file, None
            if file is not None:
                file.close()

    def _accepted(self, last_event: bytes, request: bytes) -> list[bytes]:
        records = [encode(Kind.ACCEPTED, last_event)]
        if self.keeps_requests and request:
            records.append(encode(Kind.REQUEST, request))
        return records

    def _note(self, record: bytes) -> None:
        self._head.append(record)
        self._write(record)

    def _write(self, record: bytes) -> None:
        with self._lock, self._reporting():
            if self._file is not None:
                self._put(record)

    def _put(self, data: bytes) -> None:
        file = self._file
        assert file is not None
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
        self._n_bytes += len(data)

    def _rewrite(self, log: StreamLog, end: bytes) -> None:
        """Replace the file by one of what the log holds now."""
        beside = self.path.with_suffix(".new")
        image = encode(Kind.IMAGE, image_of(log.image()))
        data = b"".join([MAGIC, *self._head, *self._tokens, image, end])
        with self._lock, self._reporting():
            if self._is_over:
                return
            before, self._file = self._file, None
            if before is not None:
                before.close()
            with contextlib.suppress(FileNotFoundError):
                beside.unlink()
            self._file = self._open_file(beside, "xb")
            self._n_bytes = 0
            self._put(data)
            beside.replace(self.path)

    @contextlib.contextmanager
    def _reporting(self):  # type: ignore[no-untyped-def]
        """Report an error and write no more; with the lock held."""
        try:
            yield
        except OSError as error:
            file, self._file = self._file, None
            if file is not None:
                with contextlib.suppress(OSError):
                    file.close()
            self._on_error(error)


def _started(written: Written) -> int:
    return written.log.started_at
