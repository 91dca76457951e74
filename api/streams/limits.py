"""How much of resumable streams is kept, and for how long. Pure."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ("StreamLimits",)


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """The server's ``--stream-*`` flags."""

    ring_bytes: int = 4 << 20
    """Of each stream; the oldest bytes are dropped."""
    keep_s: float = 300.0
    """After its end."""
    sweep_s: float = 60.0
    """Between two looks for what is too old."""
    orphan_s: float = 600.0
    """A generation that nobody reads for so long ends; 0: never."""
    n_live: int = 64
    """Sessions of one API key whose generations go on."""
    n_bytes: int = 512 << 20
    """All streams of one API key; a live one counts for its ring."""
    n_followers: int = 64
    """Connections that follow streams again, of all keys: each takes a worker."""
