"""Save and restore one sequence of a context's memory.

A saved state fits only the same model, the same cache types, as many separate caches
(one when ``kv_unified`` or ``n_seq_max`` is 1, else ``n_seq_max``) and a library that
writes the same format; the library recognises what does not fit.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llamactypes import _native_log
from llamactypes import bindings as C  # noqa: N812
from llamactypes.errors import StateError

if TYPE_CHECKING:
    from llamactypes.context import Context

__all__ = (
    "BUFFER_HEAD_BYTES",
    "restore_leading_sequence",
    "restore_sequence",
    "restore_sequence_file",
    "save_sequence",
    "save_sequence_file",
)


BUFFER_HEAD_BYTES = 8
"""A state in memory begins with a mark and the sequence's number, which one in a file
does not have (llama-context.cpp, `state_seq_get_data`)."""


def save_sequence(context: Context, seq_id: int, *, partial: bool = False) -> bytearray:
    """Return the state of a sequence. The context's owning thread calls this.

    Args:
        context: Where the sequence is.
        seq_id: Which one.
        partial: Only what cannot be rolled back: recurrent states, and the cells of
            layers with a sliding window. It is restored into a sequence that still has
            the rest.

    Raises:
        StateError: The library could not write it.
        ValueError: No such sequence.

    C: llama.h `llama_state_seq_get_data_ext`.
    """
    _check(context, seq_id)
    flags = _flags(partial)
    size = C.llama_state_seq_get_size_ext(context.raw, seq_id, flags)
    # PERF: written in place: 2 ms for 7 MB. A ctypes array and its copy took 13.
    data = bytearray(size)
    with _native_log.collect_problems() as problems:
        written = C.llama_state_seq_get_data_ext(
            context.raw, _pointer(data), size, seq_id, flags
        )
    if not 0 < written <= size:
        raise StateError(
            f"sequence {seq_id} cannot be saved: {_native_log.reason(problems)}"
        )
    del data[written:]
    return data


def restore_sequence(
    context: Context,
    seq_id: int,
    data: bytes | bytearray,
    *,
    partial: bool = False,
) -> None:
    """Replace a sequence by a saved state. The context's owning thread calls this.

    Args:
        context: Where the sequence will be.
        seq_id: Which one.
        data: From `save_sequence`, with the same `partial`.
        partial: Replace only what cannot be rolled back.

    Raises:
        StateError: The data is damaged, does not fit this model, or finds no room; the
            sequence is then empty.
        ValueError: No such sequence.

    C: llama.h `llama_state_seq_set_data_ext`.
    """
    read = _restore(context, seq_id, data, 0, _flags(partial))
    if read != len(data):
        context.memory.seq_rm(seq_id)
        raise StateError(
            f"sequence {seq_id} cannot be restored: its state ends after {read} of "
            f"{len(data)} bytes"
        )


def restore_leading_sequence(
    context: Context, seq_id: int, data: bytearray, start: int
) -> int:
    """Replace a sequence by the state of a file, at `start` in it; return its length.

    Something else may follow it; what comes before it is overwritten. Errors as
    `restore_sequence`.
    """
    context.memory.seq_rm(seq_id)
    begin = start - BUFFER_HEAD_BYTES
    data[begin:start] = save_sequence(context, seq_id)[:BUFFER_HEAD_BYTES]
    return _restore(context, seq_id, data, begin, 0) - BUFFER_HEAD_BYTES


def _restore(
    context: Context, seq_id: int, data: bytes | bytearray, start: int, flags: int
) -> int:
    """Return how many bytes the library has read."""
    _check(context, seq_id)
    with (
        _native_log.collect_problems() as problems,
        _native_log.expecting_problems(_always),  # they go into the exception
    ):
        read: int = C.llama_state_seq_set_data_ext(
            context.raw, _pointer(data, start), len(data) - start, seq_id, flags
        )
    if not read:
        context.memory.seq_rm(seq_id)
        raise StateError(
            f"sequence {seq_id} cannot be restored: {_native_log.reason(problems)}"
        )
    return read


def save_sequence_file(
    context: Context,
    seq_id: int,
    path: str | os.PathLike[str],
    tokens: Sequence[int] = (),
) -> int:
    """Write a sequence and its tokens to a file; return the bytes written.

    Raises:
        StateError: The file cannot be written.
        ValueError: No such sequence.

    C: llama.h `llama_state_seq_save_file`.
    """
    _check(context, seq_id)
    array = (ctypes.c_int32 * len(tokens))(*tokens)
    with _native_log.collect_problems() as problems:
        written: int = C.llama_state_seq_save_file(
            context.raw, os.fsencode(path), seq_id, array, len(tokens)
        )
    if not written:
        raise StateError(
            f"{os.fspath(path)} cannot be written: {_native_log.reason(problems)}"
        )
    return written


def restore_sequence_file(
    context: Context, seq_id: int, path: str | os.PathLike[str]
) -> list[int]:
    """Replace a sequence by a saved file; return the tokens saved with it.

    Raises:
        StateError: There is no such file, or it does not fit; the sequence is then
            empty.
        ValueError: No such sequence.

    C: llama.h `llama_state_seq_load_file`.
    """
    _check(context, seq_id)
    if not os.path.isfile(path):
        raise StateError(f"{os.fspath(path)} does not exist")
    capacity = max(1, os.path.getsize(path) // ctypes.sizeof(ctypes.c_int32))
    tokens = (ctypes.c_int32 * capacity)()
    count = ctypes.c_size_t(0)
    with _native_log.collect_problems() as problems:
        read = C.llama_state_seq_load_file(
            context.raw,
            os.fsencode(path),
            seq_id,
            tokens,
            capacity,
            ctypes.byref(count),
        )
    if not read:
        context.memory.seq_rm(seq_id)
        raise StateError(
            f"{os.fspath(path)} cannot be restored: {_native_log.reason(problems)}"
        )
    return list(tokens[: count.value])


def _check(context: Context, seq_id: int) -> None:
    context.check_owner()
    context.memory.check(seq_id)


def _flags(partial: bool) -> int:
    return int(C.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY) if partial else 0


def _pointer(data: bytes | bytearray, start: int = 0) -> Any:
    """Return the address of `data`'s own bytes, as the library takes it.

    From `start` on: in a ``bytearray`` only.
    """
    if isinstance(data, bytearray):
        return (ctypes.c_uint8 * (len(data) - start)).from_buffer(data, start)
    return ctypes.cast(ctypes.c_char_p(data), ctypes.POINTER(ctypes.c_uint8))


def _always() -> bool:
    return True
