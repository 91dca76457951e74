"""How many prompt tokens a step may take so that running streams keep their pace. Pure.

A step that mixes decode and prompt tokens lasts about ``base + n_prompt * cost``. Both
are learned from the steps themselves; the limit is what fits the target gap.
"""

from __future__ import annotations

from llamactypes.engine.planning.tiles import TILE

__all__ = ("Pace",)

_WEIGHT = 0.3
"""Of the newest step in the running means: a changed load shows within a few steps."""
_LEAST = 16
"""Fewer prompt tokens per step would mostly pay for the step itself."""
_MOST_SHORT = TILE // 2
"""More would cost about as much as a whole tile."""
_WORTH = 2
"""Short steps must last less than a tile's time over this."""
_FIRST_RATIO = 1.5
_FORGET = 0.99
"""Of the ratio, with each whole tile: after some dozens a short step is tried again."""


class Pace:
    """Learns what steps cost. Engine thread only.

    A token costs more in less than a tile, and the more so the longer the context. That
    is learned apart, as a ratio: otherwise an expensive short step would look like a
    machine that became slow, and call for a still shorter one.
    """

    def __init__(self, gap_s: float) -> None:
        """Aim at steps of at most `gap_s` seconds while streams run; 0: no limit."""
        self._gap_s = gap_s
        self._base_s = 0.0
        self._per_token_s = 0.0
        """In whole tiles."""
        self._short_ratio = _FIRST_RATIO
        """What a token costs in less than a tile, over what it costs in tiles."""

    def note(self, n_generating: int, n_prompt: int, seconds: float) -> None:
        """Learn from a step."""
        if n_prompt == 0:
            self._base_s = _mean(self._base_s, seconds)
        if n_prompt < _LEAST:
            return
        base_s = self._base_s if n_generating else 0.0
        per_token_s = max(seconds - base_s, 0.0) / n_prompt
        if n_prompt >= TILE:
            self._per_token_s = _mean(self._per_token_s, per_token_s)
            self._short_ratio *= _FORGET
        elif self._per_token_s:
            ratio = per_token_s / self._per_token_s
            self._short_ratio = _mean(self._short_ratio, ratio)

    @property
    def n_prompt_max(self) -> int | None:
        """Most prompt tokens in a step beside running streams; None: no limit."""
        if self._gap_s <= 0:
            return None
        if not self._per_token_s:
            return TILE  # nothing was measured yet
        n_fitting = max(0, int((self._gap_s - self._base_s) / self._per_token_s))
        is_short_worth = _WORTH * _LEAST * self._short_ratio < TILE
        if n_fitting >= TILE or not is_short_worth:
            return max(TILE, n_fitting)
        return min(_MOST_SHORT, max(_LEAST, int(n_fitting / self._short_ratio)))


def _mean(old: float, new: float) -> float:
    return new if not old else old + _WEIGHT * (new - old)
