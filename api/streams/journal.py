"""What is told to whoever writes a log down. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from api.streams.log import StreamLog

__all__ = ("Journal", "NoJournal")


class Journal(Protocol):
    """Follows one log. One thread at a time, in order; raises nothing.

    It may block: what it has taken survives, and only then readers see it.
    """

    @property
    def keeps_requests(self) -> bool:
        """Whether `accept` and `tokens` want all that continues a generation."""

    def accept(self, last_event: bytes, request: bytes) -> None:
        """Note what readers should get if nobody ends it, and what was asked."""

    def begin(self) -> None:
        """Note that the generation began."""

    def tokens(self, deltas: bytes) -> None:
        """Note what was generated, before the events made of it."""

    def append(self, data: bytes) -> None:
        """Note bytes before any reader sees them."""

    def after(self, log: StreamLog) -> None:
        """Look at the log with these bytes in it."""

    def finish(self, log: StreamLog) -> None:
        """Note the end."""

    def close(self) -> None:
        """Leave what is written as it is: the next process goes on with it."""


class NoJournal:
    """Nobody writes it down."""

    keeps_requests = False

    def accept(self, last_event: bytes, request: bytes) -> None:
        """Forget it."""

    def begin(self) -> None:
        """Forget it."""

    def tokens(self, deltas: bytes) -> None:
        """Forget it."""

    def append(self, data: bytes) -> None:
        """Forget it."""

    def after(self, log: StreamLog) -> None:
        """Forget it."""

    def finish(self, log: StreamLog) -> None:
        """Forget it."""

    def close(self) -> None:
        """There is nothing."""
