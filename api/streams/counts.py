"""What resumable streams have been used for. Pure."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ("StreamCounts",)


@dataclass(slots=True)
class StreamCounts:
    """Numbers since the start, but for `live`."""

    live: int = 0
    """Sessions whose generations go on."""
    opened: int = 0
    resumed: int = 0
    """Connections that read a stream again."""
    bytes_replayed: int = 0
    """Sent to them, or to a client whose answer was whole."""
    offsets_lost: int = 0
    """Reads that were refused: snapshots do not count."""
    orphaned: int = 0
    """Ended because nobody read them."""
    interrupted: int = 0
    """Left unfinished by an earlier process, and ended with an error."""
    continued: int = 0
    """Left unfinished by an earlier process, and gone on with."""
    store_errors: int = 0
    """How often a store could not keep something."""
