"""Scalars, one pointer type per handle, and callback types.

A handle is a pointer to a structure that only C can see. Each has its own class, so
that ctypes rejects a vocabulary where a model is expected; ``None`` stands for NULL and
a NULL handle is falsy. Python never owns what a handle points to.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    CFUNCTYPE,
    Structure,
    c_bool,
    c_char_p,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_void_p,
)
from typing import TYPE_CHECKING, Generic

__all__ = (
    "llama_pos",
    "llama_token",
    "llama_seq_id",
    "llama_state_seq_flags",
    "llama_sampler_context_t",
    "Handle",
    "ggml_tensor",
    "ggml_tensor_p",
    "ggml_context",
    "ggml_context_p",
    "ggml_cgraph",
    "ggml_cgraph_p",
    "ggml_threadpool",
    "ggml_threadpool_t",
    "ggml_backend_buffer_type",
    "ggml_backend_buffer_type_t",
    "ggml_backend",
    "ggml_backend_t",
    "ggml_backend_reg",
    "ggml_backend_reg_t",
    "ggml_backend_device",
    "ggml_backend_dev_t",
    "ggml_opt_dataset",
    "ggml_opt_dataset_t",
    "ggml_opt_context",
    "ggml_opt_context_t",
    "ggml_opt_result",
    "ggml_opt_result_t",
    "gguf_context",
    "gguf_context_p",
    "FILE",
    "FILE_p",
    "llama_vocab",
    "llama_vocab_p",
    "llama_model",
    "llama_model_p",
    "llama_context",
    "llama_context_p",
    "llama_memory_i",
    "llama_memory_t",
    "llama_sampler",
    "llama_sampler_p",
    "llama_adapter_lora",
    "llama_adapter_lora_p",
    "llama_batch_ext",
    "llama_batch_ext_p",
    "mtmd_context",
    "mtmd_context_p",
    "mtmd_bitmap",
    "mtmd_bitmap_p",
    "mtmd_image_tokens",
    "mtmd_image_tokens_p",
    "mtmd_input_chunk",
    "mtmd_input_chunk_p",
    "mtmd_input_chunks",
    "mtmd_input_chunks_p",
    "mtmd_batch",
    "mtmd_batch_p",
    "mtmd_helper_video",
    "mtmd_helper_video_p",
    "mtmd_helper_gen_audio",
    "mtmd_helper_gen_audio_p",
    "ggml_abort_callback_t",
    "ggml_abort_callback",
    "ggml_log_callback",
    "ggml_backend_sched_eval_callback",
    "ggml_opt_epoch_callback",
    "llama_progress_callback",
    "llama_model_set_tensor_data_t",
    "llama_opt_param_filter",
    "mtmd_progress_callback",
    "mtmd_bitmap_lazy_callback",
)

if TYPE_CHECKING:
    from _ctypes import CFuncPtr, _CArgObject, _CData
    from typing import TypeAlias, TypeVar

    _T = TypeVar("_T", bound=_CData)
    _H = TypeVar("_H", bound=_CData)

    Pointer: TypeAlias = ctypes._Pointer[_T] | ctypes.Array[_T] | _CArgObject | None
    """What a ``POINTER(T)`` parameter takes: pointer, array, ``byref()`` or None."""
    Callback: TypeAlias = CFuncPtr
    """An instance of a callback type below."""

    class PointerField(Generic[_T]):
        """A ``POINTER(T)`` field: reads as a pointer, takes arrays and None too."""

        def __get__(
            self, owner: object, kind: object = None
        ) -> ctypes._Pointer[_T]: ...
        def __set__(
            self, owner: object, value: ctypes._Pointer[_T] | ctypes.Array[_T] | None
        ) -> None: ...

    class HandleField(Generic[_H]):
        """A handle field: reads as a handle, takes None too."""

        def __get__(self, owner: object, kind: object = None) -> _H: ...
        def __set__(self, owner: object, value: _H | None) -> None: ...

    _HandleBase = ctypes._Pointer[Structure]
else:
    _HandleBase = ctypes._Pointer

# -- scalars -----------------------------------------------------------------------

llama_pos = c_int32
llama_token = c_int32
llama_seq_id = c_int32
llama_state_seq_flags = c_uint32
llama_sampler_context_t = c_void_p

# -- handles -----------------------------------------------------------------------


class Handle(_HandleBase):
    """Base of every handle type; falsy when NULL."""

    __slots__ = ()

    @property
    def address(self) -> int:
        """Where the handle points to; 0 when NULL. Equal handles have equal addresses."""
        return ctypes.cast(self, c_void_p).value or 0


# ggml.h


class ggml_tensor(Structure):
    __slots__ = ()


class ggml_tensor_p(Handle):
    """One tensor of a compute graph."""

    __slots__ = ()
    _type_ = ggml_tensor


class ggml_context(Structure):
    __slots__ = ()


class ggml_context_p(Handle):
    """A ggml arena."""

    __slots__ = ()
    _type_ = ggml_context


class ggml_cgraph(Structure):
    __slots__ = ()


class ggml_cgraph_p(Handle):
    """A compute graph."""

    __slots__ = ()
    _type_ = ggml_cgraph


class ggml_threadpool(Structure):
    __slots__ = ()


class ggml_threadpool_t(Handle):
    """CPU worker threads; freed by whoever made them."""

    __slots__ = ()
    _type_ = ggml_threadpool


# ggml-backend.h


class ggml_backend_buffer_type(Structure):
    __slots__ = ()


class ggml_backend_buffer_type_t(Handle):
    """How and where a device allocates."""

    __slots__ = ()
    _type_ = ggml_backend_buffer_type


class ggml_backend(Structure):
    __slots__ = ()


class ggml_backend_t(Handle):
    """One stream of a device."""

    __slots__ = ()
    _type_ = ggml_backend


class ggml_backend_reg(Structure):
    __slots__ = ()


class ggml_backend_reg_t(Handle):
    """A registered backend (CPU, CUDA, ...); lives until unloaded."""

    __slots__ = ()
    _type_ = ggml_backend_reg


class ggml_backend_device(Structure):
    __slots__ = ()


class ggml_backend_dev_t(Handle):
    """One device of a backend; owned by its backend."""

    __slots__ = ()
    _type_ = ggml_backend_device


# ggml-opt.h


class ggml_opt_dataset(Structure):
    __slots__ = ()


class ggml_opt_dataset_t(Handle):
    """Training data."""

    __slots__ = ()
    _type_ = ggml_opt_dataset


class ggml_opt_context(Structure):
    __slots__ = ()


class ggml_opt_context_t(Handle):
    """State of an optimisation."""

    __slots__ = ()
    _type_ = ggml_opt_context


class ggml_opt_result(Structure):
    __slots__ = ()


class ggml_opt_result_t(Handle):
    """Measured results of an epoch."""

    __slots__ = ()
    _type_ = ggml_opt_result


# gguf.h


class gguf_context(Structure):
    __slots__ = ()


class gguf_context_p(Handle):
    """Metadata of a GGUF file."""

    __slots__ = ()
    _type_ = gguf_context


# stdio.h


class FILE(Structure):
    __slots__ = ()


class FILE_p(Handle):
    """An open C stream."""

    __slots__ = ()
    _type_ = FILE


# llama.h


class llama_vocab(Structure):
    __slots__ = ()


class llama_vocab_p(Handle):
    """A vocabulary; owned by its model. Any thread."""

    __slots__ = ()
    _type_ = llama_vocab


class llama_model(Structure):
    __slots__ = ()


class llama_model_p(Handle):
    """A loaded model; free with ``llama_model_free`` after its contexts."""

    __slots__ = ()
    _type_ = llama_model


class llama_context(Structure):
    __slots__ = ()


class llama_context_p(Handle):
    """A context; one thread at a time. Free with ``llama_free``."""

    __slots__ = ()
    _type_ = llama_context


class llama_memory_i(Structure):
    __slots__ = ()


class llama_memory_t(Handle):
    """The memory (KV cache) of a context; owned by it."""

    __slots__ = ()
    _type_ = llama_memory_i


class llama_sampler(Structure):
    """Fields are set in ``structs``: samplers written in Python need them."""

    __slots__ = ()


class llama_sampler_p(Handle):
    """A sampler or chain; free with ``llama_sampler_free`` unless a chain owns it."""

    __slots__ = ()
    _type_ = llama_sampler


class llama_adapter_lora(Structure):
    __slots__ = ()


class llama_adapter_lora_p(Handle):
    """A LoRA adapter; freed with its model at the latest."""

    __slots__ = ()
    _type_ = llama_adapter_lora


class llama_batch_ext(Structure):
    __slots__ = ()


class llama_batch_ext_p(Handle):
    """A batch of the extended API; belongs to its context."""

    __slots__ = ()
    _type_ = llama_batch_ext


# mtmd.h


class mtmd_context(Structure):
    __slots__ = ()


class mtmd_context_p(Handle):
    """A multimodal context; free with ``mtmd_free``."""

    __slots__ = ()
    _type_ = mtmd_context


class mtmd_bitmap(Structure):
    __slots__ = ()


class mtmd_bitmap_p(Handle):
    """An image or audio clip; free with ``mtmd_bitmap_free``."""

    __slots__ = ()
    _type_ = mtmd_bitmap


class mtmd_image_tokens(Structure):
    __slots__ = ()


class mtmd_image_tokens_p(Handle):
    """Tokens of an image chunk; owned by the chunk."""

    __slots__ = ()
    _type_ = mtmd_image_tokens


class mtmd_input_chunk(Structure):
    __slots__ = ()


class mtmd_input_chunk_p(Handle):
    """One chunk of a tokenized prompt; owned by its list unless copied."""

    __slots__ = ()
    _type_ = mtmd_input_chunk


class mtmd_input_chunks(Structure):
    __slots__ = ()


class mtmd_input_chunks_p(Handle):
    """A tokenized prompt; free with ``mtmd_input_chunks_free``."""

    __slots__ = ()
    _type_ = mtmd_input_chunks


class mtmd_batch(Structure):
    __slots__ = ()


class mtmd_batch_p(Handle):
    """Media chunks encoded together; free with ``mtmd_batch_free``."""

    __slots__ = ()
    _type_ = mtmd_batch


# mtmd-helper.h


class mtmd_helper_video(Structure):
    __slots__ = ()


class mtmd_helper_video_p(Handle):
    """A video being read; free with ``mtmd_helper_video_free``."""

    __slots__ = ()
    _type_ = mtmd_helper_video


class mtmd_helper_gen_audio(Structure):
    __slots__ = ()


class mtmd_helper_gen_audio_p(Handle):
    """Speech being generated; free with ``mtmd_helper_gen_audio_free``."""

    __slots__ = ()
    _type_ = mtmd_helper_gen_audio


# -- callbacks ---------------------------------------------------------------------
#
# Keep the object made from a callback type alive for as long as C may call it.

# ggml.h
ggml_abort_callback_t = CFUNCTYPE(None, c_char_p)
"""``(message)``: told of a fatal error just before the process aborts."""
ggml_abort_callback = CFUNCTYPE(c_bool, c_void_p)
"""``(user_data) -> bool``: true aborts the computation. Compute threads call it."""
ggml_log_callback = CFUNCTYPE(None, c_int, c_char_p, c_void_p)
"""``(level, text, user_data)``: any thread of the library calls it."""

# ggml-backend.h
ggml_backend_sched_eval_callback = CFUNCTYPE(c_bool, ggml_tensor_p, c_bool, c_void_p)
"""``(tensor, ask, user_data) -> bool``: observe graph nodes; false cancels."""

# ggml-opt.h
ggml_opt_epoch_callback = CFUNCTYPE(
    None,
    c_bool,
    ggml_opt_context_t,
    ggml_opt_dataset_t,
    ggml_opt_result_t,
    c_int64,
    c_int64,
    c_int64,
)
"""``(train, context, dataset, result, batch, n_batches, t_start_us)``."""

# llama.h
llama_progress_callback = CFUNCTYPE(c_bool, c_float, c_void_p)
"""``(progress, user_data) -> bool``: 0.0 to 1.0; false aborts the loading."""
llama_model_set_tensor_data_t = CFUNCTYPE(None, ggml_tensor_p, c_void_p)
"""``(tensor, user_data)``: fill the data of one tensor."""
llama_opt_param_filter = CFUNCTYPE(c_bool, ggml_tensor_p, c_void_p)
"""``(tensor, user_data) -> bool``: whether to train this tensor."""

# mtmd.h
mtmd_progress_callback = CFUNCTYPE(c_bool, c_float, c_void_p)
"""``(progress, user_data) -> bool``: 0.0 to 1.0; false aborts the loading."""
mtmd_bitmap_lazy_callback = CFUNCTYPE(
    c_int,
    c_size_t,
    c_void_p,
    ctypes.POINTER(mtmd_bitmap_p),
    ctypes.POINTER(ctypes.POINTER(ctypes.c_char)),
)
"""``(chunk_index, user_data, out_bitmap, out_text) -> int``: 0 ok, -1 end, -2 error."""
