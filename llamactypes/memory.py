"""The KV cache (or recurrent state) of a context, by sequence and position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llamactypes import bindings as C  # noqa: N812

if TYPE_CHECKING:
    from llamactypes.context import Context

__all__ = ("Memory",)

_MAX_SEQUENCES = 256  # LLAMA_MAX_SEQ; a unified cache accepts all of them


class Memory:
    """A view of a context's memory; the thread that owns the context uses it.

    Positions are half-open ranges ``[start, end)``; -1 leaves an end open. The library
    aborts the process on a sequence it does not have, therefore each is checked here
    (ValueError). Every method raises `ThreadMisuse` and `ClosedError` as its context.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        handle = C.llama_get_memory(context.raw)
        self._memory = handle
        self._is_unified = context.params.kv_unified
        self._n_seq = _MAX_SEQUENCES if self._is_unified else context.n_seq_max

    def clear(self, data: bool = True) -> None:
        """Forget every sequence; with `data`, zero the buffers too."""
        C.llama_memory_clear(self._use(), data)

    def seq_rm(self, seq_id: int, start: int = -1, end: int = -1) -> bool:
        """Forget a range of a sequence (-1: of every sequence).

        Returns:
            False when the memory cannot forget a part (recurrent state); nothing
            changed then. Forgetting a whole sequence never fails.
        """
        if seq_id != -1:
            self.check(seq_id)
        return bool(C.llama_memory_seq_rm(self._use(), seq_id, start, end))

    def seq_cp(self, src: int, dst: int, start: int = -1, end: int = -1) -> None:
        """Let `dst` share a range of `src`; costs no computation.

        Raises:
            ValueError: No such sequence, or a part was asked of a cache that is not
                unified: that one copies whole sequences only.
        """
        self.check(src)
        self.check(dst)
        n_ctx_seq = self._context.n_ctx_seq
        is_whole = start <= 0 and (end < 0 or end >= n_ctx_seq)
        if src != dst and not self._is_unified and not is_whole:
            raise ValueError("without kv_unified, seq_cp copies whole sequences only")
        C.llama_memory_seq_cp(self._use(), src, dst, start, end)

    def seq_keep(self, seq_id: int) -> None:
        """Forget every other sequence."""
        self.check(seq_id)
        C.llama_memory_seq_keep(self._use(), seq_id)

    def seq_add(self, seq_id: int, start: int, end: int, delta: int) -> None:
        """Shift the positions of a range by `delta`; needs `can_shift`."""
        self.check(seq_id)
        self._require_shift()
        C.llama_memory_seq_add(self._use(), seq_id, start, end, delta)

    def seq_div(self, seq_id: int, start: int, end: int, divisor: int) -> None:
        """Divide the positions of a range by `divisor` (> 1); needs `can_shift`."""
        self.check(seq_id)
        self._require_shift()
        if divisor < 1:
            raise ValueError(f"divisor must be at least 1, not {divisor}")
        C.llama_memory_seq_div(self._use(), seq_id, start, end, divisor)

    def seq_pos_min(self, seq_id: int) -> int:
        """Return the smallest position held, -1 when empty; above 0 for SWA caches."""
        self.check(seq_id)
        return int(C.llama_memory_seq_pos_min(self._use(), seq_id))

    def seq_pos_max(self, seq_id: int) -> int:
        """Return the largest position held, -1 when empty."""
        self.check(seq_id)
        return int(C.llama_memory_seq_pos_max(self._use(), seq_id))

    @property
    def can_shift(self) -> bool:
        """Whether positions can be changed after the fact."""
        return bool(C.llama_memory_can_shift(self._use()))

    def _use(self) -> C.llama_memory_t:
        self._context.check_owner()
        return self._memory

    def check(self, seq_id: int) -> None:
        """Raise ValueError unless the context has this sequence."""
        if not 0 <= seq_id < self._n_seq:
            raise ValueError(f"sequence {seq_id} is outside 0 … {self._n_seq - 1}")

    def _require_shift(self) -> None:
        if not self.can_shift:
            raise ValueError("the memory of this model cannot shift positions")
