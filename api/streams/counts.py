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
