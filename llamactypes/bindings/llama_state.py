"""llama.h: save and restore the state of a context or of one sequence.

Saved data fits the same model, context parameters and library build only.
"""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from ctypes import POINTER, c_bool, c_char_p, c_size_t, c_uint8
from typing import TYPE_CHECKING

from llamactypes.bindings._declare import c_function
from llamactypes.bindings.types import (
    llama_context_p,
    llama_seq_id,
    llama_state_seq_flags,
    llama_token,
)

if TYPE_CHECKING:
    from llamactypes.bindings.types import Pointer

__all__ = (
    "llama_state_get_size",
    "llama_state_get_data",
    "llama_state_set_data",
    "llama_state_load_file",
    "llama_state_save_file",
    "llama_state_seq_get_size",
    "llama_state_seq_get_data",
    "llama_state_seq_set_data",
    "llama_state_seq_save_file",
    "llama_state_seq_load_file",
    "llama_state_seq_get_size_ext",
    "llama_state_seq_get_data_ext",
    "llama_state_seq_set_data_ext",
)


@c_function(
    "size_t llama_state_get_size(struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=c_size_t,
)
def llama_state_get_size(ctx: llama_context_p | None) -> int:
    """Return the bytes that ``llama_state_get_data`` needs now."""


@c_function(
    "size_t llama_state_get_data(struct llama_context * ctx, uint8_t * dst, "
    "size_t size)",
    argtypes=[llama_context_p, POINTER(c_uint8), c_size_t],
    restype=c_size_t,
)
def llama_state_get_data(
    ctx: llama_context_p | None, dst: Pointer[c_uint8], size: int
) -> int:
    """Write the whole state; returns the bytes written, 0 on failure."""


@c_function(
    "size_t llama_state_set_data(struct llama_context * ctx, const uint8_t * src, "
    "size_t size)",
    argtypes=[llama_context_p, POINTER(c_uint8), c_size_t],
    restype=c_size_t,
)
def llama_state_set_data(
    ctx: llama_context_p | None, src: Pointer[c_uint8], size: int
) -> int:
    """Read a whole state back; returns the bytes read, 0 on failure."""


@c_function(
    "bool llama_state_load_file(struct llama_context * ctx, "
    "const char * path_session, llama_token * tokens_out, "
    "size_t n_token_capacity, size_t * n_token_count_out)",
    argtypes=[
        llama_context_p,
        c_char_p,
        POINTER(llama_token),
        c_size_t,
        POINTER(c_size_t),
    ],
    restype=c_bool,
)
def llama_state_load_file(
    ctx: llama_context_p | None,
    path_session: bytes | None,
    tokens_out: Pointer[llama_token],
    n_token_capacity: int,
    n_token_count_out: Pointer[c_size_t],
) -> bool:
    """Restore state and tokens from a file; False on failure (logged)."""


@c_function(
    "bool llama_state_save_file(struct llama_context * ctx, "
    "const char * path_session, const llama_token * tokens, size_t n_token_count)",
    argtypes=[llama_context_p, c_char_p, POINTER(llama_token), c_size_t],
    restype=c_bool,
)
def llama_state_save_file(
    ctx: llama_context_p | None,
    path_session: bytes | None,
    tokens: Pointer[llama_token],
    n_token_count: int,
) -> bool:
    """Save state and tokens to a file; False on failure (logged)."""


@c_function(
    "size_t llama_state_seq_get_size(struct llama_context * ctx, llama_seq_id seq_id)",
    argtypes=[llama_context_p, llama_seq_id],
    restype=c_size_t,
)
def llama_state_seq_get_size(ctx: llama_context_p | None, seq_id: int) -> int:
    """Return the bytes that the state of a sequence needs now."""


@c_function(
    "size_t llama_state_seq_get_data(struct llama_context * ctx, uint8_t * dst, "
    "size_t size, llama_seq_id seq_id)",
    argtypes=[llama_context_p, POINTER(c_uint8), c_size_t, llama_seq_id],
    restype=c_size_t,
)
def llama_state_seq_get_data(
    ctx: llama_context_p | None, dst: Pointer[c_uint8], size: int, seq_id: int
) -> int:
    """Write the state of a sequence; returns the bytes written, 0 on failure."""


@c_function(
    "size_t llama_state_seq_set_data(struct llama_context * ctx, "
    "const uint8_t * src, size_t size, llama_seq_id dest_seq_id)",
    argtypes=[llama_context_p, POINTER(c_uint8), c_size_t, llama_seq_id],
    restype=c_size_t,
)
def llama_state_seq_set_data(
    ctx: llama_context_p | None, src: Pointer[c_uint8], size: int, dest_seq_id: int
) -> int:
    """Read a state into sequence `dest_seq_id`; returns the bytes read, 0 on failure."""


@c_function(
    "size_t llama_state_seq_save_file(struct llama_context * ctx, "
    "const char * filepath, llama_seq_id seq_id, const llama_token * tokens, "
    "size_t n_token_count)",
    argtypes=[llama_context_p, c_char_p, llama_seq_id, POINTER(llama_token), c_size_t],
    restype=c_size_t,
)
def llama_state_seq_save_file(
    ctx: llama_context_p | None,
    filepath: bytes | None,
    seq_id: int,
    tokens: Pointer[llama_token],
    n_token_count: int,
) -> int:
    """Save a sequence and its tokens to a file; returns the bytes written, 0 on failure."""


@c_function(
    "size_t llama_state_seq_load_file(struct llama_context * ctx, "
    "const char * filepath, llama_seq_id dest_seq_id, llama_token * tokens_out, "
    "size_t n_token_capacity, size_t * n_token_count_out)",
    argtypes=[
        llama_context_p,
        c_char_p,
        llama_seq_id,
        POINTER(llama_token),
        c_size_t,
        POINTER(c_size_t),
    ],
    restype=c_size_t,
)
def llama_state_seq_load_file(
    ctx: llama_context_p | None,
    filepath: bytes | None,
    dest_seq_id: int,
    tokens_out: Pointer[llama_token],
    n_token_capacity: int,
    n_token_count_out: Pointer[c_size_t],
) -> int:
    """Restore a sequence and its tokens from a file; returns the bytes read, 0 on failure.

    With NULL `tokens_out` only the number of tokens is reported and nothing is loaded.
    """


@c_function(
    "size_t llama_state_seq_get_size_ext(struct llama_context * ctx, "
    "llama_seq_id seq_id, llama_state_seq_flags flags)",
    argtypes=[llama_context_p, llama_seq_id, llama_state_seq_flags],
    restype=c_size_t,
)
def llama_state_seq_get_size_ext(
    ctx: llama_context_p | None, seq_id: int, flags: int
) -> int:
    """As ``llama_state_seq_get_size``, with ``LLAMA_STATE_SEQ_FLAGS_`` bits."""


@c_function(
    "size_t llama_state_seq_get_data_ext(struct llama_context * ctx, "
    "uint8_t * dst, size_t size, llama_seq_id seq_id, "
    "llama_state_seq_flags flags)",
    argtypes=[
        llama_context_p,
        POINTER(c_uint8),
        c_size_t,
        llama_seq_id,
        llama_state_seq_flags,
    ],
    restype=c_size_t,
)
def llama_state_seq_get_data_ext(
    ctx: llama_context_p | None,
    dst: Pointer[c_uint8],
    size: int,
    seq_id: int,
    flags: int,
) -> int:
    """As ``llama_state_seq_get_data``, with ``LLAMA_STATE_SEQ_FLAGS_`` bits."""


@c_function(
    "size_t llama_state_seq_set_data_ext(struct llama_context * ctx, "
    "const uint8_t * src, size_t size, llama_seq_id dest_seq_id, "
    "llama_state_seq_flags flags)",
    argtypes=[
        llama_context_p,
        POINTER(c_uint8),
        c_size_t,
        llama_seq_id,
        llama_state_seq_flags,
    ],
    restype=c_size_t,
)
def llama_state_seq_set_data_ext(
    ctx: llama_context_p | None,
    src: Pointer[c_uint8],
    size: int,
    dest_seq_id: int,
    flags: int,
) -> int:
    """As ``llama_state_seq_set_data``, with ``LLAMA_STATE_SEQ_FLAGS_`` bits."""
