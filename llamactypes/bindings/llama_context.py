"""llama.h: contexts, and what comes out of them.

One thread at a time may use a context.
"""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_bool, c_float, c_int, c_int32, c_uint32, c_void_p
from typing import TYPE_CHECKING

from llamactypes.bindings._declare import c_function
from llamactypes.bindings.structs import llama_batch, llama_context_params
from llamactypes.bindings.types import (
    ggml_abort_callback,
    ggml_threadpool_t,
    llama_batch_ext_p,
    llama_context_p,
    llama_memory_t,
    llama_model_p,
    llama_seq_id,
    llama_token,
)

if TYPE_CHECKING:
    from llamactypes.bindings.types import Callback

__all__ = (
    "llama_attach_threadpool",
    "llama_detach_threadpool",
    "llama_init_from_model",
    "llama_free",
    "llama_n_ctx",
    "llama_n_ctx_seq",
    "llama_n_batch",
    "llama_n_ubatch",
    "llama_n_seq_max",
    "llama_n_rs_seq",
    "llama_get_model",
    "llama_get_memory",
    "llama_pooling_type",
    "llama_encode",
    "llama_decode",
    "llama_process",
    "llama_set_n_threads",
    "llama_n_threads",
    "llama_n_threads_batch",
    "llama_set_embeddings",
    "llama_set_causal_attn",
    "llama_get_causal_attn",
    "llama_set_abort_callback",
    "llama_synchronize",
    "llama_get_logits",
    "llama_get_logits_ith",
    "llama_get_embeddings",
    "llama_get_embeddings_ith",
    "llama_get_embeddings_seq",
    "llama_get_sampled_token_ith",
    "llama_get_sampled_probs_ith",
    "llama_get_sampled_probs_count_ith",
    "llama_get_sampled_logits_ith",
    "llama_get_sampled_logits_count_ith",
    "llama_get_sampled_candidates_ith",
    "llama_get_sampled_candidates_count_ith",
)


@c_function(
    "void llama_attach_threadpool(struct llama_context * ctx, "
    "ggml_threadpool_t threadpool, ggml_threadpool_t threadpool_batch)",
    argtypes=[llama_context_p, ggml_threadpool_t, ggml_threadpool_t],
    restype=None,
)
def llama_attach_threadpool(
    ctx: llama_context_p | None,
    threadpool: ggml_threadpool_t | None,
    threadpool_batch: ggml_threadpool_t | None,
) -> None:
    """Use these pools for generation and for batches; the caller keeps them alive."""


@c_function(
    "void llama_detach_threadpool(struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=None,
)
def llama_detach_threadpool(ctx: llama_context_p | None) -> None:
    """Go back to threads that the context makes itself."""


@c_function(
    "struct llama_context * llama_init_from_model(struct llama_model * model, "
    "struct llama_context_params params)",
    argtypes=[llama_model_p, llama_context_params],
    restype=llama_context_p,
)
def llama_init_from_model(
    model: llama_model_p | None, params: llama_context_params
) -> llama_context_p:
    """Make a context; NULL on failure (the log says why). Free with ``llama_free``."""


@c_function(
    "void llama_free(struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=None,
)
def llama_free(ctx: llama_context_p | None) -> None:
    """Free a context; its memory and outputs are gone with it."""


@c_function(
    "uint32_t llama_n_ctx(const struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=c_uint32,
)
def llama_n_ctx(ctx: llama_context_p | None) -> int:
    """Return the context size in tokens that is in use; it may differ from the request."""


@c_function(
    "uint32_t llama_n_ctx_seq(const struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=c_uint32,
)
def llama_n_ctx_seq(ctx: llama_context_p | None) -> int:
    """Return the context size in tokens of one sequence."""


@c_function(
    "uint32_t llama_n_batch(const struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=c_uint32,
)
def llama_n_batch(ctx: llama_context_p | None) -> int:
    """Return the most tokens one ``llama_decode`` takes."""


@c_function(
    "uint32_t llama_n_ubatch(const struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=c_uint32,
)
def llama_n_ubatch(ctx: llama_context_p | None) -> int:
    """Return the most tokens computed at once."""


@c_function(
    "uint32_t llama_n_seq_max(const struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=c_uint32,
)
def llama_n_seq_max(ctx: llama_context_p | None) -> int:
    """Return the number of sequences."""


@c_function(
    "uint32_t llama_n_rs_seq(const struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=c_uint32,
)
def llama_n_rs_seq(ctx: llama_context_p | None) -> int:
    """Return the number of recurrent-state snapshots per sequence."""


@c_function(
    "const struct llama_model * llama_get_model(const struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=llama_model_p,
)
def llama_get_model(ctx: llama_context_p | None) -> llama_model_p:
    """Return the model of the context."""


@c_function(
    "llama_memory_t llama_get_memory(const struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=llama_memory_t,
)
def llama_get_memory(ctx: llama_context_p | None) -> llama_memory_t:
    """Return the memory of the context, NULL when it has none; owned by the context."""


@c_function(
    "enum llama_pooling_type llama_pooling_type(const struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=c_int,
)
def llama_pooling_type(ctx: llama_context_p | None) -> int:
    """Return the ``llama_pooling_type`` in use."""


@c_function(
    "int32_t llama_encode(struct llama_context * ctx, struct llama_batch batch)",
    argtypes=[llama_context_p, llama_batch],
    restype=c_int32,
)
def llama_encode(ctx: llama_context_p | None, batch: llama_batch) -> int:
    """Run the encoder, without a KV cache; 0 on success, below 0 on error.

    An encoder-decoder context keeps the output for the decoder's cross-attention. On
    error the memory is as it was before.
    """


@c_function(
    "int32_t llama_decode(struct llama_context * ctx, struct llama_batch batch)",
    argtypes=[llama_context_p, llama_batch],
    restype=c_int32,
)
def llama_decode(ctx: llama_context_p | None, batch: llama_batch) -> int:
    """Process a batch: 0 ok, 1 no KV slot, 2 aborted, -1 invalid batch, below -1 fatal.

    After 1 and -1 the memory is as it was; after 2 and below -1 the ubatches already
    done stay in it (ask ``llama_memory_seq_pos_max``). May return before the device has
    finished; reading outputs waits.
    """


@c_function(
    "int32_t llama_process(struct llama_context * ctx, "
    "enum llama_process_type type, struct llama_batch_ext * batch)",
    argtypes=[llama_context_p, c_int, llama_batch_ext_p],
    restype=c_int32,
    optional=True,
)
def llama_process(
    ctx: llama_context_p | None, type: int, batch: llama_batch_ext_p | None
) -> int:
    """Process an extended batch, as a ``llama_process_type``; results as ``llama_decode``."""


@c_function(
    "void llama_set_n_threads(struct llama_context * ctx, int32_t n_threads, "
    "int32_t n_threads_batch)",
    argtypes=[llama_context_p, c_int32, c_int32],
    restype=None,
)
def llama_set_n_threads(
    ctx: llama_context_p | None, n_threads: int, n_threads_batch: int
) -> None:
    """Set the threads for single tokens and for batches."""


@c_function(
    "int32_t llama_n_threads(struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=c_int32,
)
def llama_n_threads(ctx: llama_context_p | None) -> int:
    """Return the threads used for single tokens."""


@c_function(
    "int32_t llama_n_threads_batch(struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=c_int32,
)
def llama_n_threads_batch(ctx: llama_context_p | None) -> int:
    """Return the threads used for batches."""


@c_function(
    "void llama_set_embeddings(struct llama_context * ctx, bool embeddings)",
    argtypes=[llama_context_p, c_bool],
    restype=None,
)
def llama_set_embeddings(ctx: llama_context_p | None, embeddings: bool) -> None:
    """Set whether decoding outputs embeddings."""


@c_function(
    "void llama_set_causal_attn(struct llama_context * ctx, bool causal_attn)",
    argtypes=[llama_context_p, c_bool],
    restype=None,
)
def llama_set_causal_attn(ctx: llama_context_p | None, causal_attn: bool) -> None:
    """Set whether tokens attend only to those before them."""


@c_function(
    "bool llama_get_causal_attn(const struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=c_bool,
    optional=True,
)
def llama_get_causal_attn(ctx: llama_context_p | None) -> bool:
    """Whether tokens attend only to those before them."""


@c_function(
    "void llama_set_abort_callback(struct llama_context * ctx, "
    "ggml_abort_callback abort_callback, void * abort_callback_data)",
    argtypes=[llama_context_p, ggml_abort_callback, c_void_p],
    restype=None,
)
def llama_set_abort_callback(
    ctx: llama_context_p | None,
    abort_callback: Callback | None,
    abort_callback_data: int | ctypes.c_void_p | None,
) -> None:
    """Set a callback that aborts decoding when it returns true. CPU only.

    Compute threads call it between graph nodes. Keep it alive as long as it is set.
    """


@c_function(
    "void llama_synchronize(struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=None,
)
def llama_synchronize(ctx: llama_context_p | None) -> None:
    """Wait until the device has finished; the getters below do so themselves."""


@c_function(
    "float * llama_get_logits(struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=POINTER(c_float),
)
def llama_get_logits(ctx: llama_context_p | None) -> ctypes._Pointer[c_float]:
    """Return the logits of all outputs: float32, rows of `n_vocab`. Valid until the next decode."""


@c_function(
    "float * llama_get_logits_ith(struct llama_context * ctx, int32_t i)",
    argtypes=[llama_context_p, c_int32],
    restype=POINTER(c_float),
)
def llama_get_logits_ith(
    ctx: llama_context_p | None, i: int
) -> ctypes._Pointer[c_float]:
    """Return the logits of the token at batch index `i` (-1: last output), or NULL.

    `n_vocab` float32, valid until the next decode. NULL when that token gave no output.
    """


@c_function(
    "float * llama_get_embeddings(struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=POINTER(c_float),
)
def llama_get_embeddings(ctx: llama_context_p | None) -> ctypes._Pointer[c_float]:
    """Return the embeddings of all outputs when nothing is pooled, else NULL."""


@c_function(
    "float * llama_get_embeddings_ith(struct llama_context * ctx, int32_t i)",
    argtypes=[llama_context_p, c_int32],
    restype=POINTER(c_float),
)
def llama_get_embeddings_ith(
    ctx: llama_context_p | None, i: int
) -> ctypes._Pointer[c_float]:
    """Return the embedding of the token at batch index `i` (-1: last output), or NULL."""


@c_function(
    "float * llama_get_embeddings_seq(struct llama_context * ctx, llama_seq_id seq_id)",
    argtypes=[llama_context_p, llama_seq_id],
    restype=POINTER(c_float),
)
def llama_get_embeddings_seq(
    ctx: llama_context_p | None, seq_id: int
) -> ctypes._Pointer[c_float]:
    """Return the pooled embedding of a sequence, NULL without pooling.

    With rank pooling these are the scores, ``llama_model_n_cls_out`` of them.
    """


@c_function(
    "llama_token llama_get_sampled_token_ith(struct llama_context * ctx, int32_t i)",
    argtypes=[llama_context_p, c_int32],
    restype=llama_token,
)
def llama_get_sampled_token_ith(ctx: llama_context_p | None, i: int) -> int:
    """Return the token that the backend sampled, ``LLAMA_TOKEN_NULL`` if none. Experimental."""


@c_function(
    "float * llama_get_sampled_probs_ith(struct llama_context * ctx, int32_t i)",
    argtypes=[llama_context_p, c_int32],
    restype=POINTER(c_float),
)
def llama_get_sampled_probs_ith(
    ctx: llama_context_p | None, i: int
) -> ctypes._Pointer[c_float]:
    """Return the probabilities that the backend computed, or NULL. Experimental."""


@c_function(
    "uint32_t llama_get_sampled_probs_count_ith(struct llama_context * ctx, int32_t i)",
    argtypes=[llama_context_p, c_int32],
    restype=c_uint32,
)
def llama_get_sampled_probs_count_ith(ctx: llama_context_p | None, i: int) -> int:
    """Return how many probabilities there are."""


@c_function(
    "float * llama_get_sampled_logits_ith(struct llama_context * ctx, int32_t i)",
    argtypes=[llama_context_p, c_int32],
    restype=POINTER(c_float),
)
def llama_get_sampled_logits_ith(
    ctx: llama_context_p | None, i: int
) -> ctypes._Pointer[c_float]:
    """Return the logits that the backend kept, or NULL. Experimental."""


@c_function(
    "uint32_t llama_get_sampled_logits_count_ith(struct llama_context * ctx, "
    "int32_t i)",
    argtypes=[llama_context_p, c_int32],
    restype=c_uint32,
)
def llama_get_sampled_logits_count_ith(ctx: llama_context_p | None, i: int) -> int:
    """Return how many logits there are."""


@c_function(
    "llama_token * llama_get_sampled_candidates_ith(struct llama_context * ctx, "
    "int32_t i)",
    argtypes=[llama_context_p, c_int32],
    restype=POINTER(llama_token),
)
def llama_get_sampled_candidates_ith(
    ctx: llama_context_p | None, i: int
) -> ctypes._Pointer[llama_token]:
    """Return the token ids of those probabilities or logits, or NULL. Experimental."""


@c_function(
    "uint32_t llama_get_sampled_candidates_count_ith(struct llama_context * ctx, "
    "int32_t i)",
    argtypes=[llama_context_p, c_int32],
    restype=c_uint32,
)
def llama_get_sampled_candidates_count_ith(ctx: llama_context_p | None, i: int) -> int:
    """Return how many token ids there are."""
