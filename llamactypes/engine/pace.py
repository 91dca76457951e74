"""How many prompt tokens a step may take so that running streams keep their pace. Pure.

A step that mixes decode and prompt tokens lasts about ``base + n_prompt * cost``. Both
are learned from the steps themselves; the limit is what fits the target gap.
"""

from __future__ import annotations

__all__ = ("Pace",)

_WEIGHT = 0.3
"""Of the newest step in the running means: a changed load shows within a few steps."""
_FIRST_LIMIT = 64
"""Before anything was measured."""
_LEAST = 16
"""Fewer prompt tokens per step would mostly pay for the step itself."""


class Pace:
    """Learns what steps cost. Engine thread only."""

    def __init__(self, gap_s: float) -> None:
        """Aim at steps of at most `gap_s` seconds while streams run; 0: no limit."""
        self._gap_s = gap_s
        self._base_s = 0.0
        self._per_token_s = 0.0

    def note(self, n_generating: int, n_prompt: int, seconds: float) -> None:
        """Learn from a step."""
        if n_prompt == 0:
            self._base_s = _mean(self._base_s, seconds)
        elif n_prompt >= _LEAST:
            base_s = self._base_s if n_generating else 0.0
            per_token_s = max(seconds - base_s, 0.0) / n_prompt
            self._per_token_s = _mean(self._per_token_s, per_token_s)

    @property
    def n_prompt_max(self) -> int | None:
        """Most prompt tokens in a step beside running streams; None: no limit."""
        if self._gap_s <= 0:
            return None
        if not self._per_token_s:
            return _FIRST_LIMIT
        room_s = self._gap_s - self._base_s
        return max(_LEAST, int(room_s / self._per_token_s))


def _mean(old: float, new: float) -> float:
    return new if not old else old + _WEIGHT * (new - old)
