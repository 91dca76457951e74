"""Where the beginning of a prompt can be had without computing it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from llamactypes.engine.planning.adapters import AdapterUse
from llamactypes.engine.planning.plan import Admission
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.prefixes.checkpoints import Checkpoints, MemoryTraits
from llamactypes.engine.prefixes.chunk_reuse import Move, find_moves
from llamactypes.engine.prefixes.length import common_prefix_length
from llamactypes.engine.prefixes.slots import Slot, SlotTable
from llamactypes.engine.prefixes.state_cache import SavedState, StateCache

__all__ = ("PrefixFinder",)

_MIN_WAIT = 32
"""Waiting for another's prefix must save at least this many tokens."""
_MIN_GAIN = 16
"""A copy must save at least this many tokens beyond what the slot holds."""
_MIN_SAVED = 64
"""Shorter states are computed again sooner than looked for."""


class _Prefix(NamedTuple):
    """Computed tokens that begin as a prompt does, and who has them."""

    n_sure: int = 0
    n_common: int = 0
    checkpoints: Checkpoints = ()
    source: Slot | None = None
    saved: SavedState | None = None


class PrefixFinder:
    """Looks into the slots, live and idle, and into the states kept in RAM."""

    def __init__(
        self,
        slots: SlotTable,
        states: StateCache,
        memory: MemoryTraits,
        cut: int = 1,
    ) -> None:
        """Look for prefixes whose length is a multiple of `cut`."""
        self._slots = slots
        self._states = states
        self._memory = memory
        self._cut = cut

    def best(self, sequence: Sequence, slot: Slot) -> Admission:
        """Return where most of the prompt can be had without computing it."""
        limit = sequence.n_skippable
        if not sequence.request.cache_prompt or limit <= 0:
            return Admission(sequence, slot, 0, replaced=self._replaced(slot, 0))
        own = self._own(slot, sequence, limit)
        shared = max(self._of_slots(sequence, limit), key=_worth)
        saved = max(self._of_states(sequence, limit), key=_worth, default=_NOTHING)
        best = own
        if saved.n_sure - max(own.n_sure, shared.n_sure) >= _MIN_GAIN:
            best = saved
        elif shared.n_sure - own.n_sure >= _MIN_GAIN:
            best = shared
        moves = self._moves(sequence, slot, own) if best is own else ()
        n_kept = moves[-1].end if moves else best.n_common
        n_sure = n_kept if moves else best.n_sure
        return Admission(
            sequence,
            slot,
            n_kept,
            best.source,
            best.saved,
            self._replaced(slot, n_sure if best is own else 0),
            best.checkpoints,
            n_sure,
            moves,
            max(own.n_common, shared.n_common, saved.n_common),
        )

    def _moves(self, sequence: Sequence, slot: Slot, own: _Prefix) -> tuple[Move, ...]:
        """Return what `n_cache_reuse` adds to the slot's own prefix."""
        least, memory = sequence.request.n_cache_reuse, self._memory
        if least <= 0 or self._cut > 1 or not (memory.can_cut and memory.can_shift):
            return ()
        if slot.use != sequence.use or sequence.use.start:
            return ()
        limit = sequence.n_skippable
        return find_moves(slot.tokens, sequence.tokens, own.n_common, least, limit)

    def _own(self, slot: Slot, sequence: Sequence, limit: int) -> _Prefix:
        n_common = slot.own_prefix(sequence.tokens, sequence.use)
        n_held = len(slot.tokens)
        return self._prefix(min(n_common, limit), n_held, slot.checkpoints)

    def _of_slots(self, sequence: Sequence, limit: int) -> Iterator[_Prefix]:
        for slot in self._slots.slots:
            n_common = min(slot.prefix(sequence.tokens, sequence.use), limit)
            yield self._prefix(n_common, *slot.computed, source=slot)

    def _of_states(self, sequence: Sequence, limit: int) -> Iterator[_Prefix]:
        for state in self._states:
            n_common = min(state.prefix(sequence.tokens, sequence.use), limit)
            n_held, checkpoints = len(state.tokens), state.checkpoints
            yield self._prefix(n_common, n_held, checkpoints, saved=state)

    def _prefix(
        self,
        n_common: int,
        n_held: int,
        checkpoints: Checkpoints,
        source: Slot | None = None,
        saved: SavedState | None = None,
    ) -> _Prefix:
        n_common = self._whole(n_common)
        n_sure = self._memory.n_reusable(n_common, n_held, checkpoints)
        return _Prefix(n_sure, n_common, checkpoints, source, saved)

    def _whole(self, n_tokens: int) -> int:
        return n_tokens - n_tokens % self._cut

    def _replaced(self, slot: Slot, n_kept: int) -> list[int] | None:
        """Return the slot's tokens when their state is worth keeping in RAM."""
        tokens = slot.tokens
        if slot.n_trusted is not None or 2 * n_kept >= len(tokens):
            return None
        return tokens if self.is_worth_keeping(slot, tokens, slot.use) else None

    def is_worth_keeping(self, slot: Slot, tokens: list[int], use: AdapterUse) -> bool:
        """Whether RAM should keep the state of `tokens`, which only `slot` may have."""
        if not self._states.is_on or len(tokens) < _MIN_SAVED:
            return False
        others = (other for other in self._slots.slots if other is not slot)
        return not any(other.prefix(tokens, use) == len(tokens) for other in others)

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
            length = min(length, other.use.n_alike(sequence.use))
            if other.n_trusted is not None:
                length = min(length, other.n_trusted)
            length = self._whole(length)
            if length > best_length and length > other.n_computed:
                best, best_length = other, length
        available = self.best(sequence, slot).n_sure
        if best is None or best_length - available < _MIN_WAIT:
            return None, 0
        return best, best_length


_NOTHING = _Prefix()


def _worth(prefix: _Prefix) -> tuple[int, int]:
    return prefix.n_sure, prefix.n_common
