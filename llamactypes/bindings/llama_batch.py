"""llama.h: batches, the input of decoding."""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from ctypes import POINTER, c_bool, c_int32
from typing import TYPE_CHECKING

from llamactypes.bindings._declare import c_function
from llamactypes.bindings.structs import llama_batch, llama_embd
from llamactypes.bindings.types import (
    llama_batch_ext_p,
    llama_context_p,
    llama_pos,
    llama_seq_id,
    llama_token,
)

if TYPE_CHECKING:
    from llamactypes.bindings.types import Pointer

__all__ = (
    "llama_batch_get_one",
    "llama_batch_init",
    "llama_batch_free",
    "llama_batch_ext_init",
    "llama_batch_ext_free",
    "llama_batch_ext_clear",
    "llama_batch_ext_add",
    "llama_batch_ext_add_token",
    "llama_batch_ext_add_embd",
    "llama_batch_ext_add_seq",
    "llama_batch_ext_set_embd_token",
    "llama_batch_ext_set_embd_state",
    "llama_batch_ext_set_output_embd",
    "llama_batch_ext_set_output_logits",
    "llama_batch_ext_set_pos",
)


@c_function(
    "struct llama_batch llama_batch_get_one(llama_token * tokens, int32_t n_tokens)",
    argtypes=[POINTER(llama_token), c_int32],
    restype=llama_batch,
)
def llama_batch_get_one(tokens: Pointer[llama_token], n_tokens: int) -> llama_batch:
    """Return a batch over `tokens` for sequence 0, positions following the memory.

    It borrows `tokens`: keep the array alive; do not free the batch.
    """


@c_function(
    "struct llama_batch llama_batch_init(int32_t n_tokens, int32_t embd, "
    "int32_t n_seq_max)",
    argtypes=[c_int32, c_int32, c_int32],
    restype=llama_batch,
)
def llama_batch_init(n_tokens: int, embd: int, n_seq_max: int) -> llama_batch:
    """Allocate a batch of `n_tokens`, each in up to `n_seq_max` sequences.

    With `embd` above 0 it holds embeddings of that size instead of tokens. Contents are
    uninitialised, `n_tokens` is 0. Free with ``llama_batch_free``.
    """


@c_function(
    "void llama_batch_free(struct llama_batch batch)",
    argtypes=[llama_batch],
    restype=None,
)
def llama_batch_free(batch: llama_batch) -> None:
    """Free a batch of ``llama_batch_init``, with its own pointers still in place."""


@c_function(
    "struct llama_batch_ext * llama_batch_ext_init(struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=llama_batch_ext_p,
    optional=True,
)
def llama_batch_ext_init(ctx: llama_context_p | None) -> llama_batch_ext_p:
    """Allocate an extended batch for a context. Free with ``llama_batch_ext_free``."""


@c_function(
    "void llama_batch_ext_free(struct llama_batch_ext * batch)",
    argtypes=[llama_batch_ext_p],
    restype=None,
    optional=True,
)
def llama_batch_ext_free(batch: llama_batch_ext_p | None) -> None:
    """Free an extended batch."""


@c_function(
    "void llama_batch_ext_clear(struct llama_batch_ext * batch)",
    argtypes=[llama_batch_ext_p],
    restype=None,
    optional=True,
)
def llama_batch_ext_clear(batch: llama_batch_ext_p | None) -> None:
    """Empty an extended batch."""


@c_function(
    "int32_t llama_batch_ext_add(struct llama_batch_ext * batch, llama_seq_id seq_id)",
    argtypes=[llama_batch_ext_p, llama_seq_id],
    restype=c_int32,
    optional=True,
)
def llama_batch_ext_add(batch: llama_batch_ext_p | None, seq_id: int) -> int:
    """Add an entry without token; returns its index, -1 full, -2 bad token, -3 bad sequence.

    Its position must be set.
    """


@c_function(
    "int32_t llama_batch_ext_add_token(struct llama_batch_ext * batch, "
    "llama_seq_id seq_id, llama_token id)",
    argtypes=[llama_batch_ext_p, llama_seq_id, llama_token],
    restype=c_int32,
    optional=True,
)
def llama_batch_ext_add_token(
    batch: llama_batch_ext_p | None, seq_id: int, id: int
) -> int:
    """Add a token; results as ``llama_batch_ext_add``."""


@c_function(
    "int32_t llama_batch_ext_add_embd(struct llama_batch_ext * batch, "
    "llama_seq_id seq_id, struct llama_embd embd)",
    argtypes=[llama_batch_ext_p, llama_seq_id, llama_embd],
    restype=c_int32,
    optional=True,
)
def llama_batch_ext_add_embd(
    batch: llama_batch_ext_p | None, seq_id: int, embd: llama_embd
) -> int:
    """Add an embedding; results as ``llama_batch_ext_add``."""


@c_function(
    "bool llama_batch_ext_add_seq(struct llama_batch_ext * batch, int32_t idx, "
    "llama_seq_id seq_id)",
    argtypes=[llama_batch_ext_p, c_int32, llama_seq_id],
    restype=c_bool,
    optional=True,
)
def llama_batch_ext_add_seq(
    batch: llama_batch_ext_p | None, idx: int, seq_id: int
) -> bool:
    """Put entry `idx` into another sequence too, at the same position. Call it first."""


@c_function(
    "bool llama_batch_ext_set_embd_token(struct llama_batch_ext * batch, "
    "int32_t idx, struct llama_embd embd)",
    argtypes=[llama_batch_ext_p, c_int32, llama_embd],
    restype=c_bool,
    optional=True,
)
def llama_batch_ext_set_embd_token(
    batch: llama_batch_ext_p | None, idx: int, embd: llama_embd
) -> bool:
    """Give entry `idx` a token embedding beside its token."""


@c_function(
    "bool llama_batch_ext_set_embd_state(struct llama_batch_ext * batch, "
    "int32_t idx, struct llama_embd embd)",
    argtypes=[llama_batch_ext_p, c_int32, llama_embd],
    restype=c_bool,
    optional=True,
)
def llama_batch_ext_set_embd_state(
    batch: llama_batch_ext_p | None, idx: int, embd: llama_embd
) -> bool:
    """Give entry `idx` a hidden state of an earlier stage; False if the context takes none."""


@c_function(
    "bool llama_batch_ext_set_output_embd(struct llama_batch_ext * batch, "
    "int32_t idx, bool value)",
    argtypes=[llama_batch_ext_p, c_int32, c_bool],
    restype=c_bool,
    optional=True,
)
def llama_batch_ext_set_output_embd(
    batch: llama_batch_ext_p | None, idx: int, value: bool
) -> bool:
    """Set whether entry `idx` outputs its embedding (now the same as logits)."""


@c_function(
    "bool llama_batch_ext_set_output_logits(struct llama_batch_ext * batch, "
    "int32_t idx, bool value)",
    argtypes=[llama_batch_ext_p, c_int32, c_bool],
    restype=c_bool,
    optional=True,
)
def llama_batch_ext_set_output_logits(
    batch: llama_batch_ext_p | None, idx: int, value: bool
) -> bool:
    """Set whether entry `idx` outputs logits (now the same as embeddings)."""


@c_function(
    "bool llama_batch_ext_set_pos(struct llama_batch_ext * batch, int32_t idx, "
    "const llama_pos * pos)",
    argtypes=[llama_batch_ext_p, c_int32, POINTER(llama_pos)],
    restype=c_bool,
    optional=True,
)
def llama_batch_ext_set_pos(
    batch: llama_batch_ext_p | None, idx: int, pos: Pointer[llama_pos]
) -> bool:
    """Set the position of entry `idx`; M-RoPE embeddings need several."""
