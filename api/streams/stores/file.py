"""Logs in memory and in files: they survive their process."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from api.streams.log import StreamLog
from api.streams.stores.directory import StreamDirectory
from api.streams.stores.file_journal import FileJournal, open_private
from api.streams.stores.memory import MemoryStore
from api.streams.stores.records import Kind, decode, encode
from api.streams.stores.store import LogFacts, StreamKey
from api.streams.stores.trouble import Trouble
from api.streams.stores.written import Written, read_records

__all__ = ("FileStore",)

logger = logging.getLogger("llamactypes.api")


class FileStore(MemoryStore):
    """Reads as memory does; writes through to one file for each log.

    Without its directory (another server has it, it cannot be written) it is a store in
    memory, says so once in a while, and tries again with every new log.
    """

    def __init__(
        self,
        path: Path,
        keep_s: float,
        *,
        keeps_requests: bool = False,
        open_file: Callable[[Path, str], BinaryIO] = open_private,
    ) -> None:
        """Take the directory, and what an earlier server left in it.

        Args:
            path: The directory; created with mode 0700.
            keep_s: How long ended logs are kept.
            keeps_requests: Write down what continues a generation, too.
            open_file: Opens a file unbuffered, by a mode of `open`.
        """
        super().__init__()
        self.trouble = Trouble(f"--stream-store file:{path}")
        self._directory = StreamDirectory(path)
        self._keep_s = keep_s
        self._keeps_requests = keeps_requests
        self._open_file = open_file
        self._journals: dict[StreamLog, FileJournal] = {}
        self._trash: list[FileJournal] = []
        self._unfinished: list[Written] = []
        self._take_directory()

    def create(self, facts: LogFacts) -> StreamLog:
        """Return a new log, whose file `announce` creates."""
        log = StreamLog(facts.capacity, facts.content_type)
        self._put(facts, log)
        return log

    def announce(self, log: StreamLog) -> None:
        """Create the log's file."""
        self._take_directory()
        self.tidy()
        facts = self._facts_of(log)
        if facts is None or not self._directory.is_ours:
            return
        journal = self._journal(self._directory.new_file(facts.key), facts)
        journal.open(log.started_at)
        log.journal = journal
        with self._lock:
            self._journals[log] = journal
            is_gone = log not in self._facts
        if is_gone:
            self._discard(log)

    def stop(self, key: StreamKey) -> None:
        """Remove files of what was forgotten."""
        self.tidy()

    def tidy(self) -> None:
        """Remove files of what was forgotten."""
        with self._lock:
            trash, self._trash = self._trash, []
        for journal in trash:
            journal.discard()

    def take_unfinished(self) -> list[Written]:
        """Return what an earlier server did not finish, once."""
        with self._lock:
            unfinished, self._unfinished = self._unfinished, []
        return unfinished

    @property
    def n_errors(self) -> int:
        """How often a file could not be written."""
        return self.trouble.n_errors

    def close(self) -> None:
        """Close all files; they stay."""
        self.tidy()
        with self._lock:
            journals = list(self._journals.values())
        for journal in journals:
            journal.close()
        self._directory.release()

    def _take(self, key: StreamKey) -> StreamLog | None:
        log = super()._take(key)
        journal = None if log is None else self._journals.pop(log, None)
        if journal is not None:
            self._trash.append(journal)
        return log

    def _discard(self, log: StreamLog) -> None:
        with self._lock:
            journal = self._journals.pop(log, None)
        if journal is not None:
            journal.discard()

    def _journal(self, path: Path, facts: LogFacts) -> FileJournal:
        return FileJournal(
            path,
            facts,
            self.trouble.note,
            keeps_requests=self._keeps_requests,
            open_file=self._open_file,
        )

    # -- what is there already ---------------------------------------------------------

    def _take_directory(self) -> None:
        if self._directory.is_ours:
            return
        try:
            self._directory.take()
            for path in self._directory.files():
                self._restore(path)
        except OSError as error:
            self.trouble.note(error)

    def _restore(self, path: Path) -> None:
        """Take over one file, or remove it."""
        try:
            written, n_bytes = _read(path)
        except (OSError, ValueError, KeyError, TypeError) as error:
            logger.error("the stream in %s cannot be read: %s", path.name, error)
            return
        if written is None or self._is_over(written) or not self._is_newest(written):
            path.unlink(missing_ok=True)
            return
        self._put(written.facts, written.log)
        journal = self._journal(path, written.facts)
        with self._lock:
            self._journals[written.log] = journal
        if not written.log.is_done:
            journal.reopen(written, n_bytes)
            written.log.journal = journal
            with self._lock:
                self._unfinished.append(written)

    def _is_over(self, written: Written) -> bool:
        log = written.log
        if not log.is_done:
            return written.last_event is None
        return log.done_s(time.monotonic()) >= self._keep_s

    def _is_newest(self, written: Written) -> bool:
        other = self.local(written.facts.key)
        return other is None or other.started_at <= written.log.started_at


def _read(path: Path) -> tuple[Written | None, int]:
    records, n_bytes = decode(path.read_bytes())
    while records and records[-1].kind is Kind.TOKENS:
        # Nothing that was made of these is there: they are generated again.
        n_bytes -= len(encode(Kind.TOKENS, records.pop().payload))
    return read_records(records), n_bytes
