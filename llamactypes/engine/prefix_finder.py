"""Where the beginning of a prompt can be had without computing it. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from llamactypes.engine.plan import Admission
from llamactypes.engine.prefix_cache import Slot, SlotTable
from llamactypes.engine.prefix_length import common_prefix_length
from llamactypes.engine.sequence import Sequence
from llamactypes.engine.state_cache import StateCache

__all__ = ("PrefixFinder",)

_MIN_WAIT = 32
"""Waiting for another's prefix must save at least this many tokens."""
_MIN_GAIN = 16
"""A copy must save at least this many tokens beyond what the slot holds."""
_MIN_SAVED = 64
"""Shorter states are computed again sooner than looked for."""


class PrefixFinder:
    """Looks into the slots, live and idle, and into the states kept in RAM."""

    def __init__(self, slots: SlotTable, states: StateCache, cut: int = 1) -> None:
        """Look for prefixes whose length is a multiple of `cut`."""
        self._slots = slots
        self._states = states
        self._cut = cut

    def best(self, sequence: Sequence, slot: Slot) -> Admission:
        """Return where most of the prompt can be had without computing it."""
        tokens, limit = sequence.tokens, sequence.n_skippable
        if not sequence.request.cache_prompt or limit <= 0:
            return Admission(sequence, slot, 0, replaced=self._replaced(slot, 0))
        own = self._whole(min(slot.own_prefix(tokens), limit))
        source, shared = self._slots.longest_prefix(tokens)
        saved, kept = self._states.best(tokens)
        shared, kept = self._whole(min(shared, limit)), self._whole(min(kept, limit))
        if saved is not None and kept - max(own, shared) >= _MIN_GAIN:
            replaced = self._replaced(slot, 0)
            return Admission(sequence, slot, kept, saved=saved, replaced=replaced)
        if source is not None and shared - own >= _MIN_GAIN:
            replaced = self._replaced(slot, 0)
            return Admission(sequence, slot, shared, source, replaced=replaced)
        return Admission(sequence, slot, own, replaced=self._replaced(slot, own))

    def _whole(self, n_tokens: int) -> int:
        return n_tokens - n_tokens % self._cut

    def _replaced(self, slot: Slot, n_kept: int) -> list[int] | None:
        """Return the slot's tokens when their state is worth keeping in RAM."""
        tokens = slot.tokens
        if not self._states.is_on or slot.n_trusted is not None:
            return None
        if len(tokens) < _MIN_SAVED or 2 * n_kept >= len(tokens):
            return None
        elsewhere = any(
            other.prefix(tokens) == len(tokens)
            for other in self._slots.slots
            if other is not slot
        )
        return None if elsewhere else tokens

    def awaited(
        self, sequence: Sequence, slot: Slot, running: Iterable[Sequence]
    ) -> tuple[Sequence | None, int]:
        """Return who is about to compute what `sequence` needs, too, and how much.

        Args:
            sequence: About to enter `slot`.
            slot: What it holds is not worth waiting for.
            running: Those that entered before.
        """
        if not sequence.request.cache_prompt:
            return None, 0
        tokens, limit = sequence.tokens, sequence.n_skippable
        best, best_length = None, 0
        for other in running:
            if other.n_decoded and not other.n_missing > 1:
                continue  # all of its prompt is there to be copied
            length = min(common_prefix_length(other.tokens, tokens), limit)
            if other.n_trusted is not None:
                length = min(length, other.n_trusted)
            length = self._whole(length)
            if length > best_length and length > other.n_computed:
                best, best_length = other, length
        available = self.best(sequence, slot).n_cached
        if best is None or best_length - available < _MIN_WAIT:
            return None, 0
        return best, best_length
