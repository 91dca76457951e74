"""Cells of the KV cache: who fits, and what of them is worth keeping in RAM. Pure."""

from __future__ import annotations

from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.prefixes.finder import PrefixFinder
from llamactypes.engine.prefixes.slots import Slot, SlotTable
from llamactypes.engine.prefixes.state_cache import SavedState

__all__ = ("Room",)


class Room:
    """Looks at the scheduler's slots and running sequences. Engine thread only."""

    def __init__(
        self,
        slots: SlotTable,
        running: list[Sequence],
        prefixes: PrefixFinder,
        *,
        n_kv: int | None,
        keep_idle: bool,
    ) -> None:
        """Look at the scheduler's own `slots` and `running`.

        Args:
            slots: Where the sequences live.
            running: The list itself, not a copy.
            prefixes: Knows what RAM has already.
            n_kv: Size of the KV buffer that all slots share; None: each has its own.
            keep_idle: What idle slots must give up goes to RAM.
        """
        self._slots = slots
        self._running = running
        self._prefixes = prefixes
        self._n_kv = n_kv
        self._keep_idle = keep_idle

    def has_place_for(self, sequence: Sequence) -> bool:
        """Whether a shared KV buffer holds this one beside all that run."""
        if self._n_kv is None or not self._running:
            return True
        in_use = sum(len(running.tokens) for running in self._running)
        return in_use + len(sequence.tokens) < self._n_kv

    @property
    def may_lack(self) -> bool:
        """Whether an idle slot could give up cells for others."""
        return self._n_kv is not None and self._slots.least_used() is not None

    def lacks(self, n_tokens: int) -> bool:
        """Whether `n_tokens` more may fit only after an idle slot gave up cells."""
        if self._n_kv is None or self._slots.least_used() is None:
            return False
        n_used = sum(slot.computed[0] for slot in self._slots.slots)
        return n_tokens + n_used > self._n_kv

    def youngest(self) -> tuple[Slot, Sequence]:
        """Return who of those that run gives way first."""
        sequence = max(self._running, key=lambda sequence: sequence.id)
        assert sequence.slot is not None
        return self._slots[sequence.slot], sequence

    def worth_keeping(self) -> tuple[Slot, SavedState] | None:
        """Return what `Scheduler.make_room` would lose though RAM could keep it.

        The state's data is still to be had from the runner.
        """
        slot = self._slots.least_used()
        if slot is not None and self._keep_idle and slot.n_trusted is None:
            lost = SavedState(slot.tokens, b"", slot.checkpoints, slot.use)
        elif slot is None and len(self._running) > 1:
            slot, youngest = self.youngest()
            if youngest.n_trusted is not None:
                return None
            tokens = youngest.tokens[: youngest.n_computed]
            lost = SavedState(tokens, b"", youngest.checkpoints, youngest.use)
        else:
            return None
        is_worth = self._prefixes.is_worth_keeping(slot, lost.tokens, lost.use)
        return (slot, lost) if is_worth else None

    def is_worth_keeping(self, slot: Slot) -> bool:
        """Whether RAM should keep what an idle slot holds."""
        is_whole = slot.n_trusted is None
        return is_whole and self._prefixes.is_worth_keeping(slot, slot.tokens, slot.use)
