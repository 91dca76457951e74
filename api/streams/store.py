"""Where the logs of resumable streams are kept."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from api.streams.log import StreamLog

__all__ = ("MemoryStore", "StreamKey", "StreamStore")


class StreamKey(NamedTuple):
    """What a stream is found by."""

    owner: int | None
    """Number of the API key that made it; None: the server asks for no key."""
    conversation_id: str


class StreamStore(Protocol):
    """Keeps one log for each key. Called with the lock of `StreamSessions` held.

    Which generation fills a log is no business of a store: that lives in one process.
    """

    def create(self, key: StreamKey, capacity: int | None, kind: str) -> StreamLog:
        """Return a new log of a content type, in the place of any before."""

    def find(self, key: StreamKey) -> StreamLog | None:
        """Return the log of `key`."""

    def remove(self, key: StreamKey, log: StreamLog) -> None:
        """Forget `log`, unless another has taken its place."""

    def entries(self) -> list[tuple[StreamKey, StreamLog]]:
        """Return everything that is kept, the oldest first."""


class MemoryStore:
    """Logs in memory: gone with the process."""

    def __init__(self) -> None:
        self._logs: dict[StreamKey, StreamLog] = {}

    def create(self, key: StreamKey, capacity: int | None, kind: str) -> StreamLog:
        """Return a new log."""
        self._logs.pop(key, None)
        log = self._logs[key] = StreamLog(capacity, kind)
        return log

    def find(self, key: StreamKey) -> StreamLog | None:
        """Return the log of `key`."""
        return self._logs.get(key)

    def remove(self, key: StreamKey, log: StreamLog) -> None:
        """Forget `log`."""
        if self._logs.get(key) is log:
            del self._logs[key]

    def entries(self) -> list[tuple[StreamKey, StreamLog]]:
        """Return everything that is kept."""
        return list(self._logs.items())
