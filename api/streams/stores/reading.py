"""What a reader asks of a log, wherever that is. Pure."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ("ReadableLog",)


class ReadableLog(Protocol):
    """Bytes by their offset, and whether more will come. Any thread.

    Readers keep their own offsets, so a slow one never slows another, nor the writer.
    """

    @property
    def content_type(self) -> str:
        """Of its bytes."""

    @property
    def keeps_errors(self) -> bool:
        """Whether it is one body, read whole, and not a stream of events."""

    @property
    def started_at(self) -> int:
        """Unix time."""

    @property
    def completed_at(self) -> int:
        """Unix time; 0 while it goes on."""

    @property
    def error(self) -> Exception | None:
        """Why it ended, when not by itself."""

    @property
    def is_begun(self) -> bool:
        """Whether a slot began with the prompt: what fails later is an event."""

    @property
    def is_done(self) -> bool:
        """Whether nothing follows what is there."""

    @property
    def is_broken(self) -> bool:
        """Whether its events end with an error."""

    @property
    def n_total(self) -> int:
        """Bytes so far, those dropped included."""

    @property
    def n_events(self) -> int:
        """Events so far."""

    @property
    def crc(self) -> int:
        """CRC-32 of all bytes so far."""

    @property
    def first(self) -> int:
        """The offset of the oldest byte that is held."""

    @property
    def progress(self) -> dict[str, Any]:
        """How far it is while nothing was generated; empty: unknown."""

    def read(self, offset: int, timeout_s: float) -> tuple[bytes, bool]:
        """Return bytes from `offset` on, and whether nothing follows them.

        Waits at most `timeout_s` seconds for the first of them.

        Raises:
            OffsetLost: The first of them was dropped.
        """

    def snapshot(self) -> tuple[bytes, int]:
        """Return all text that was dropped as one event, and where to read on.

        What follows the event in the bytes belongs to the stream itself.
        """

    def read_all(self) -> bytes:
        """Return what is held; for logs that hold everything."""

    def wait_begun(self, timeout_s: float) -> bool:
        """Wait for the begin, or for an end without one; return whether there is."""

    def wait_done(self, timeout_s: float) -> bool:
        """Wait for the end at most `timeout_s` seconds; return whether it came."""

    def attach(self) -> None:
        """Count one more reader."""

    def detach(self) -> None:
        """Count one reader less."""

    def greet(self) -> None:
        """Break the silence of a log that has nothing yet."""
