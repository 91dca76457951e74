"""Logs in memory: gone with the process."""

from __future__ import annotations

import threading
from collections.abc import Callable

from api.streams.log import StreamLog
from api.streams.stores.reading import ReadableLog
from api.streams.stores.store import LogFacts, StreamKey
from api.streams.stores.written import Written

__all__ = ("MemoryStore",)


class MemoryStore:
    """Keeps logs in this process; the other stores begin here. Any thread."""

    def __init__(self) -> None:
        self._logs: dict[StreamKey, StreamLog] = {}
        self._facts: dict[StreamLog, LogFacts] = {}
        self._claims: dict[tuple[str | None, str], StreamLog] = {}
        self._lock = threading.Lock()

    def listen(self, on_stop: Callable[[StreamLog, str], object]) -> None:
        """Nobody else could end one."""

    def create(self, facts: LogFacts) -> StreamLog:
        """Return a new log."""
        log = StreamLog(facts.capacity, facts.content_type)
        self._put(facts, log)
        return log

    def announce(self, log: StreamLog) -> None:
        """Nobody else could see it."""

    def find(self, key: StreamKey) -> ReadableLog | None:
        """Return the log of `key`."""
        return self.local(key)

    def find_claimed(self, owner: str | None, claim_key: str) -> LogFacts | None:
        """Return what was made for an idempotency key."""
        with self._lock:
            log = self._claims.get((owner, claim_key))
            return None if log is None else self._facts[log]

    def lookup(
        self, owner: str | None, is_wanted: Callable[[str], bool]
    ) -> list[tuple[str, ReadableLog]]:
        """Return an owner's logs whose ids are wanted."""
        return [
            (key.conversation_id, log)
            for key, log in self.entries()
            if key.owner == owner and is_wanted(key.conversation_id)
        ]

    def local(self, key: StreamKey) -> StreamLog | None:
        """Return the log of `key`."""
        with self._lock:
            return self._logs.get(key)

    def entries(self) -> list[tuple[StreamKey, StreamLog]]:
        """Return everything that is kept."""
        with self._lock:
            return list(self._logs.items())

    def remove(self, key: StreamKey, log: StreamLog) -> None:
        """Forget `log`."""
        with self._lock:
            if self._logs.get(key) is log:
                self._take(key)

    def stop(self, key: StreamKey) -> None:
        """Nobody else could have it."""

    def tidy(self) -> None:
        """Memory is free already."""

    def take_unfinished(self) -> list[Written]:
        """Return nothing: memory ends with its process."""
        return []

    @property
    def n_errors(self) -> int:
        """Return none: memory does not fail."""
        return 0

    def close(self) -> None:
        """There is only memory."""

    def _put(self, facts: LogFacts, log: StreamLog) -> StreamLog | None:
        """Keep a log; return the one whose place it took."""
        with self._lock:
            replaced = self._take(facts.key)
            self._logs[facts.key] = log
            self._facts[log] = facts
            if facts.claim is not None:
                self._claims[facts.key.owner, facts.claim.key] = log
        return replaced

    def _take(self, key: StreamKey) -> StreamLog | None:
        """Let go of what `key` has; with the lock held."""
        log = self._logs.pop(key, None)
        if log is not None:
            claim = self._facts.pop(log).claim
            if claim is not None and self._claims.get((key.owner, claim.key)) is log:
                del self._claims[key.owner, claim.key]
        return log

    def _facts_of(self, log: StreamLog) -> LogFacts | None:
        with self._lock:
            return self._facts.get(log)
