"""llama.h: the memory (KV cache, recurrent state) of a context.

Positions form half-open ranges: from `p0` up to, but not including, `p1`. A negative
`p0` means 0, a negative `p1` means no end. The thread that owns the context calls.
"""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from ctypes import c_bool, c_int

from llamactypes.bindings._declare import c_function
from llamactypes.bindings.types import llama_memory_t, llama_pos, llama_seq_id

__all__ = (
    "llama_memory_clear",
    "llama_memory_seq_rm",
    "llama_memory_seq_cp",
    "llama_memory_seq_keep",
    "llama_memory_seq_add",
    "llama_memory_seq_div",
    "llama_memory_seq_pos_min",
    "llama_memory_seq_pos_max",
    "llama_memory_can_shift",
)


@c_function(
    "void llama_memory_clear(llama_memory_t mem, bool data)",
    argtypes=[llama_memory_t, c_bool],
    restype=None,
)
def llama_memory_clear(mem: llama_memory_t | None, data: bool) -> None:
    """Forget every sequence; with `data` the buffers are zeroed too."""


@c_function(
    "bool llama_memory_seq_rm(llama_memory_t mem, llama_seq_id seq_id, "
    "llama_pos p0, llama_pos p1)",
    argtypes=[llama_memory_t, llama_seq_id, llama_pos, llama_pos],
    restype=c_bool,
)
def llama_memory_seq_rm(
    mem: llama_memory_t | None, seq_id: int, p0: int, p1: int
) -> bool:
    """Forget positions `p0` to `p1` of a sequence (below 0: of all).

    Returns False when part of a sequence cannot be removed, as in recurrent models.
    Removing a whole sequence never fails.
    """


@c_function(
    "void llama_memory_seq_cp(llama_memory_t mem, llama_seq_id seq_id_src, "
    "llama_seq_id seq_id_dst, llama_pos p0, llama_pos p1)",
    argtypes=[llama_memory_t, llama_seq_id, llama_seq_id, llama_pos, llama_pos],
    restype=None,
)
def llama_memory_seq_cp(
    mem: llama_memory_t | None, seq_id_src: int, seq_id_dst: int, p0: int, p1: int
) -> None:
    """Copy positions `p0` to `p1` of one sequence to another; KV cells are shared."""


@c_function(
    "void llama_memory_seq_keep(llama_memory_t mem, llama_seq_id seq_id)",
    argtypes=[llama_memory_t, llama_seq_id],
    restype=None,
)
def llama_memory_seq_keep(mem: llama_memory_t | None, seq_id: int) -> None:
    """Forget every sequence but this one."""


@c_function(
    "void llama_memory_seq_add(llama_memory_t mem, llama_seq_id seq_id, "
    "llama_pos p0, llama_pos p1, llama_pos delta)",
    argtypes=[llama_memory_t, llama_seq_id, llama_pos, llama_pos, llama_pos],
    restype=None,
)
def llama_memory_seq_add(
    mem: llama_memory_t | None, seq_id: int, p0: int, p1: int, delta: int
) -> None:
    """Move positions `p0` to `p1` of a sequence by `delta`.

    Only where ``llama_memory_can_shift``; applied by the next decode.
    """


@c_function(
    "void llama_memory_seq_div(llama_memory_t mem, llama_seq_id seq_id, "
    "llama_pos p0, llama_pos p1, int d)",
    argtypes=[llama_memory_t, llama_seq_id, llama_pos, llama_pos, c_int],
    restype=None,
)
def llama_memory_seq_div(
    mem: llama_memory_t | None, seq_id: int, p0: int, p1: int, d: int
) -> None:
    """Divide positions `p0` to `p1` of a sequence by `d`, which is above 1."""


@c_function(
    "llama_pos llama_memory_seq_pos_min(llama_memory_t mem, llama_seq_id seq_id)",
    argtypes=[llama_memory_t, llama_seq_id],
    restype=llama_pos,
)
def llama_memory_seq_pos_min(mem: llama_memory_t | None, seq_id: int) -> int:
    """Return the lowest position of a sequence in memory, -1 when it is empty."""


@c_function(
    "llama_pos llama_memory_seq_pos_max(llama_memory_t mem, llama_seq_id seq_id)",
    argtypes=[llama_memory_t, llama_seq_id],
    restype=llama_pos,
)
def llama_memory_seq_pos_max(mem: llama_memory_t | None, seq_id: int) -> int:
    """Return the highest position of a sequence in memory, -1 when it is empty."""


@c_function(
    "bool llama_memory_can_shift(llama_memory_t mem)",
    argtypes=[llama_memory_t],
    restype=c_bool,
)
def llama_memory_can_shift(mem: llama_memory_t | None) -> bool:
    """Whether ``llama_memory_seq_add`` works."""
