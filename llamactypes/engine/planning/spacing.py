"""How often the readers of many streams are woken. Pure."""

from __future__ import annotations

from llamactypes.engine.planning.sequence import Sequence

__all__ = ("due_again", "spacing_s")

_UNSPACED = 16
_SPACING_S = 0.25e-3
_SPREAD = 0.618
"""The golden ratio: its multiples, less their whole parts, lie evenly in 0 … 1."""


def spacing_s(n_streams: int) -> float:
    """Return the least time between two deltas of one of so many sequences.

    PERF: readers are woken 4,000 times a second at most when more than `_UNSPACED`
    sequences generate. Waking and formatting takes the GIL, which the engine needs as
    well; at the speed of a CPU every token still has its own delta.
    """
    return max(0, n_streams - _UNSPACED) * _SPACING_S


def due_again(sequence: Sequence, now: float, spacing_s: float) -> float:
    """Return when a sequence that speaks `now` may speak again."""
    # From the second delta on, at times that are spread evenly and stay so: counted
    # from now on, they would gather in fewer and fewer steps.
    t_due = sequence.t_due + spacing_s
    if t_due > now or not spacing_s:
        return t_due
    return now + spacing_s * (sequence.id * _SPREAD % 1.0)
