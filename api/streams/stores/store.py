"""The seam between the server's streams and where they are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from api.streams.log import StreamLog
from api.streams.stores.reading import ReadableLog

if TYPE_CHECKING:
    from api.streams.stores.written import Written

__all__ = (
    "Claim",
    "Claimed",
    "LogFacts",
    "StreamKey",
    "StreamStore",
    "asked_names",
)


class StreamKey(NamedTuple):
    """What a stream is found by."""

    owner: str | None
    """Who made it: a digest of the API key; None: the server asks for no key."""
    conversation_id: str


@dataclass(frozen=True, slots=True)
class Claim:
    """An ``Idempotency-Key`` with the request that it was first sent with."""

    key: str
    fingerprint: str
    """Of path and body: another request with this key is refused."""


class Claimed(Exception):  # noqa: N818 - what was found
    """The request was sent before: this is its answer.

    Attributes:
        log: What the first of them fills, or has filled.
        conversation_id: Its name.
    """

    def __init__(self, log: ReadableLog, conversation_id: str) -> None:
        super().__init__("this request is being answered, or was answered, already")
        self.log = log
        self.conversation_id = conversation_id


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What a log is made for."""

    key: StreamKey
    capacity: int | None
    """Bytes to hold, the newest; None: all, and it is no stream of events."""
    content_type: str
    claim: Claim | None = None


class StreamStore(Protocol):
    """Keeps one log for each key, and may keep them elsewhere, too. Any thread.

    Which generation fills a log is no business of a store: that lives in one process.
    Nothing that goes wrong with a disk or a network ends a generation: the store says
    so in the log, counts it, and keeps what it can in memory.
    """

    def listen(self, on_stop: Callable[[StreamLog, str], object]) -> None:
        """Call `on_stop` with a log that another server wants to end, and why."""

    def create(self, facts: LogFacts) -> StreamLog:
        """Return a new log, in the place of any before. Memory only, never blocks."""

    def announce(self, log: StreamLog) -> None:
        """Let others see a new log, before anything is written to it. May block.

        Raises:
            Claimed: Another server is answering this request.
            ClaimConflict: The idempotency key belongs to another request.
        """

    def find(self, key: StreamKey) -> ReadableLog | None:
        """Return the log of `key`, wherever it is written. May block."""

    def find_claimed(self, owner: str | None, claim_key: str) -> LogFacts | None:
        """Return what was made for an idempotency key. Never blocks."""

    def lookup(
        self, owner: str | None, is_wanted: Callable[[str], bool]
    ) -> list[tuple[str, ReadableLog]]:
        """Return an owner's logs whose ids are wanted, the oldest first. May block."""

    def local(self, key: StreamKey) -> StreamLog | None:
        """Return the log of `key` if this process has it. Never blocks."""

    def entries(self) -> list[tuple[StreamKey, StreamLog]]:
        """Return what this process has, the oldest first. Never blocks."""

    def remove(self, key: StreamKey, log: StreamLog) -> None:
        """Forget `log`, unless another has taken its place. Never blocks."""

    def stop(self, key: StreamKey) -> None:
        """Forget `key` wherever it is, and end its generation there. May block."""

    def tidy(self) -> None:
        """Let go of what belonged to forgotten logs. May block."""

    def take_unfinished(self) -> list[Written]:
        """Return logs of an earlier process that nobody fills any more, once."""

    @property
    def n_errors(self) -> int:
        """How often something failed that is not memory."""

    def close(self) -> None:
        """Let go of everything that is not memory; what is written stays."""


def asked_names(conversation_id: str) -> Iterator[str]:
    """Yield what a stream may be asked for by: its id, and what is before a ``::``."""
    yield conversation_id
    at = conversation_id.find("::")
    while at >= 0:
        yield conversation_id[:at]
        at = conversation_id.find("::", at + 1)
