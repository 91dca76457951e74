"""What slots hold in the library's memory: cut, copied, saved. Engine thread only."""

from __future__ import annotations

import logging

from llamactypes.context import Context
from llamactypes.engine.planning.plan import Shift
from llamactypes.engine.prefixes.checkpoints import Checkpoint, MemoryTraits
from llamactypes.engine.prefixes.chunk_reuse import Move
from llamactypes.errors import StateError
from llamactypes.state import (
    restore_leading_sequence,
    restore_sequence,
    save_sequence,
)

__all__ = ("SlotMemory",)

logger = logging.getLogger("llamactypes.engine")


class SlotMemory:
    """The half of the real runner that computes nothing; slot n is sequence n."""

    def __init__(self, context: Context, traits: MemoryTraits) -> None:
        self._context = context
        self._memory = context.memory
        self._traits = traits
        self._is_unified = context.params.kv_unified
        self._has_pending_copies = False

    @property
    def is_settled(self) -> bool:
        """See `Runner.is_settled`."""
        return not self._has_pending_copies

    def note_decoded(self) -> None:
        """Note that a decode has made the copies that waited for one."""
        self._has_pending_copies = False

    def forget(self, slot: int, start: int, back: Checkpoint | None = None) -> int:
        """See `Runner.forget`."""
        if start > 0 and self._cut(slot, start):
            return start
        if start > 0 and back is not None and self._go_back(slot, back):
            return back.n_tokens
        self._memory.seq_rm(slot, -1, -1)
        return 0

    def _cut(self, slot: int, n_tokens: int) -> bool:
        """Keep `n_tokens` of a slot; False when the next token would miss something.

        Afterwards the slot may hold anything.
        """
        oldest, held = self._memory.seq_pos_min(slot), self.n_computed(slot)
        is_whole = self._traits.is_whole(oldest, held, n_tokens)
        return is_whole and self._memory.seq_rm(slot, n_tokens, -1)

    def _go_back(self, slot: int, checkpoint: Checkpoint) -> bool:
        if self.n_computed(slot) < checkpoint.n_tokens:
            return False  # the ordinary cells that belong to it are not there
        try:
            restore_sequence(self._context, slot, checkpoint.data, partial=True)
        except StateError as error:
            logger.warning("slot %d cannot go back to a checkpoint: %s", slot, error)
            return False
        # Ordinary cells beyond the checkpoint are still there.
        self._memory.seq_rm(slot, checkpoint.n_tokens, -1)
        return self._cut(slot, checkpoint.n_tokens)

    def share(
        self, source: int, slot: int, n_tokens: int, back: Checkpoint | None = None
    ) -> int:
        """See `Runner.share`.

        One buffer: the cells are marked as the slot's, too. A buffer each: the library
        copies the whole sequence, and what is too much is dropped again. It copies when
        the next decode begins; until then states are neither read nor written, so where
        a checkpoint may be needed the sequence is copied as a state instead.
        """
        if not self._is_unified and not self._traits.can_cut:
            data = self.save(source)
            return 0 if data is None else self.load(slot, data, n_tokens, back)
        self._memory.seq_rm(slot, -1, -1)
        if self._is_unified:
            self._memory.seq_cp(source, slot, 0, n_tokens)
        else:
            self._memory.seq_cp(source, slot)
            self._has_pending_copies = True
        return self.forget(slot, n_tokens, back)

    def save(self, slot: int) -> bytearray | None:
        """See `Runner.save`."""
        return self._save(slot, partial=False)

    def save_partial(self, slot: int) -> bytearray | None:
        """See `Runner.save_partial`."""
        return self._save(slot, partial=True)

    def _save(self, slot: int, *, partial: bool) -> bytearray | None:
        if self._has_pending_copies:
            return None
        try:
            return save_sequence(self._context, slot, partial=partial)
        except StateError as error:
            logger.warning("slot %d cannot be kept in RAM: %s", slot, error)
            return None

    def load(
        self,
        slot: int,
        data: bytes | bytearray,
        n_tokens: int,
        back: Checkpoint | None = None,
    ) -> int:
        """See `Runner.load`."""
        if self._has_pending_copies:
            return self.forget(slot, 0)
        self._memory.seq_rm(slot, -1, -1)
        try:
            restore_sequence(self._context, slot, data)
        except StateError as error:
            logger.info("slot %d cannot be restored from RAM: %s", slot, error)
            return self.forget(slot, 0)
        return self.forget(slot, n_tokens, back)

    def restore(self, slot: int, data: bytearray, start: int) -> int:
        """See `Runner.restore`."""
        self._memory.seq_rm(slot, -1, -1)
        return restore_leading_sequence(self._context, slot, data, start)

    def shift(self, shift: Shift) -> None:
        """See `Runner.shift`."""
        first_moved = shift.keep + shift.discard
        self._memory.seq_rm(shift.slot, shift.keep, first_moved)
        self._memory.seq_add(shift.slot, first_moved, shift.end, -shift.discard)

    def move(self, slot: int, moves: tuple[Move, ...]) -> int:
        """See `Runner.move`."""
        for move in moves:
            self._memory.seq_rm(slot, move.to, move.start)
            end, delta = move.start + move.n_tokens, move.to - move.start
            self._memory.seq_add(slot, move.start, end, delta)
        return self.forget(slot, moves[-1].end)

    def n_computed(self, slot: int) -> int:
        """See `Runner.n_computed`."""
        return self._memory.seq_pos_max(slot) + 1
