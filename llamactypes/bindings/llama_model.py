"""llama.h: load, describe, save and quantise models."""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_bool,
    c_char,
    c_char_p,
    c_float,
    c_int,
    c_int32,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import TYPE_CHECKING

from llamactypes.bindings._declare import c_function
from llamactypes.bindings.structs import llama_model_params, llama_model_quantize_params
from llamactypes.bindings.types import (
    FILE_p,
    gguf_context_p,
    llama_model_p,
    llama_model_set_tensor_data_t,
    llama_token,
    llama_vocab_p,
)

if TYPE_CHECKING:
    from llamactypes.bindings.types import Callback, Pointer

__all__ = (
    "llama_model_init_from_user",
    "llama_model_load_from_file",
    "llama_model_load_from_file_ptr",
    "llama_model_load_from_splits",
    "llama_model_save_to_file",
    "llama_model_free",
    "llama_model_get_vocab",
    "llama_model_rope_type",
    "llama_model_n_ctx_train",
    "llama_model_n_embd",
    "llama_model_n_embd_inp",
    "llama_model_n_embd_out",
    "llama_model_n_layer",
    "llama_model_n_layer_nextn",
    "llama_model_n_head",
    "llama_model_n_head_kv",
    "llama_model_n_swa",
    "llama_model_rope_freq_scale_train",
    "llama_model_n_cls_out",
    "llama_model_cls_label",
    "llama_model_meta_val_str",
    "llama_model_meta_count",
    "llama_model_meta_key_str",
    "llama_model_meta_key_by_index",
    "llama_model_meta_val_str_by_index",
    "llama_model_desc",
    "llama_model_ftype",
    "llama_model_size",
    "llama_model_chat_template",
    "llama_model_n_params",
    "llama_model_has_encoder",
    "llama_model_has_decoder",
    "llama_model_decoder_start_token",
    "llama_model_is_recurrent",
    "llama_model_is_hybrid",
    "llama_model_is_diffusion",
    "llama_model_quantize",
    "llama_split_path",
    "llama_split_prefix",
)


@c_function(
    "struct llama_model * llama_model_init_from_user("
    "struct gguf_context * metadata, "
    "llama_model_set_tensor_data_t set_tensor_data, void * set_tensor_data_ud, "
    "struct llama_model_params params)",
    argtypes=[
        gguf_context_p,
        llama_model_set_tensor_data_t,
        c_void_p,
        llama_model_params,
    ],
    restype=llama_model_p,
)
def llama_model_init_from_user(
    metadata: gguf_context_p | None,
    set_tensor_data: Callback | None,
    set_tensor_data_ud: int | ctypes.c_void_p | None,
    params: llama_model_params,
) -> llama_model_p:
    """Make a model from metadata; `set_tensor_data` fills each tensor. NULL on failure."""


@c_function(
    "struct llama_model * llama_model_load_from_file(const char * path_model, "
    "struct llama_model_params params)",
    argtypes=[c_char_p, llama_model_params],
    restype=llama_model_p,
)
def llama_model_load_from_file(
    path_model: bytes | None, params: llama_model_params
) -> llama_model_p:
    """Load a GGUF file; NULL on failure or when the progress callback aborts.

    A file named ``<name>-00001-of-0000N.gguf`` brings its other parts along. Needs a
    loaded backend. Free with ``llama_model_free``.
    """


@c_function(
    "struct llama_model * llama_model_load_from_file_ptr(FILE * file, "
    "struct llama_model_params params)",
    argtypes=[FILE_p, llama_model_params],
    restype=llama_model_p,
)
def llama_model_load_from_file_ptr(
    file: FILE_p | None, params: llama_model_params
) -> llama_model_p:
    """Load a GGUF from an open stream, from its current position; NULL on failure."""


@c_function(
    "struct llama_model * llama_model_load_from_splits(const char ** paths, "
    "size_t n_paths, struct llama_model_params params)",
    argtypes=[POINTER(c_char_p), c_size_t, llama_model_params],
    restype=llama_model_p,
)
def llama_model_load_from_splits(
    paths: Pointer[c_char_p], n_paths: int, params: llama_model_params
) -> llama_model_p:
    """Load a GGUF in several files, given in order; NULL on failure."""


@c_function(
    "void llama_model_save_to_file(const struct llama_model * model, "
    "const char * path_model)",
    argtypes=[llama_model_p, c_char_p],
    restype=None,
)
def llama_model_save_to_file(
    model: llama_model_p | None, path_model: bytes | None
) -> None:
    """Write the model to a GGUF file. Nothing is returned: check the file."""


@c_function(
    "void llama_model_free(struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=None,
)
def llama_model_free(model: llama_model_p | None) -> None:
    """Free a model; every context made from it must be freed before."""


@c_function(
    "const struct llama_vocab * llama_model_get_vocab("
    "const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=llama_vocab_p,
)
def llama_model_get_vocab(model: llama_model_p | None) -> llama_vocab_p:
    """Return the vocabulary; it lives as long as the model."""


@c_function(
    "enum llama_rope_type llama_model_rope_type(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_int,
)
def llama_model_rope_type(model: llama_model_p | None) -> int:
    """Return the ``llama_rope_type``."""


@c_function(
    "int32_t llama_model_n_ctx_train(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_int32,
)
def llama_model_n_ctx_train(model: llama_model_p | None) -> int:
    """Return the context size that the model was trained with, in tokens."""


@c_function(
    "int32_t llama_model_n_embd(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_int32,
)
def llama_model_n_embd(model: llama_model_p | None) -> int:
    """Return the size of the hidden state."""


@c_function(
    "int32_t llama_model_n_embd_inp(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_int32,
)
def llama_model_n_embd_inp(model: llama_model_p | None) -> int:
    """Return the size of an input embedding (larger with deepstack)."""


@c_function(
    "int32_t llama_model_n_embd_out(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_int32,
)
def llama_model_n_embd_out(model: llama_model_p | None) -> int:
    """Return the size of an output embedding."""


@c_function(
    "int32_t llama_model_n_layer(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_int32,
)
def llama_model_n_layer(model: llama_model_p | None) -> int:
    """Return the number of layers."""


@c_function(
    "int32_t llama_model_n_layer_nextn(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_int32,
)
def llama_model_n_layer_nextn(model: llama_model_p | None) -> int:
    """Return the number of next-token prediction (MTP) layers."""


@c_function(
    "int32_t llama_model_n_head(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_int32,
)
def llama_model_n_head(model: llama_model_p | None) -> int:
    """Return the number of attention heads of the first layer."""


@c_function(
    "int32_t llama_model_n_head_kv(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_int32,
)
def llama_model_n_head_kv(model: llama_model_p | None) -> int:
    """Return the number of KV heads of the first layer."""


@c_function(
    "int32_t llama_model_n_swa(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_int32,
)
def llama_model_n_swa(model: llama_model_p | None) -> int:
    """Return the sliding attention window in tokens; 0 when there is none."""


@c_function(
    "float llama_model_rope_freq_scale_train(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_float,
)
def llama_model_rope_freq_scale_train(model: llama_model_p | None) -> float:
    """Return the RoPE frequency scaling factor of the training."""


@c_function(
    "uint32_t llama_model_n_cls_out(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_uint32,
)
def llama_model_n_cls_out(model: llama_model_p | None) -> int:
    """Return the number of classifier outputs; undefined for other models."""


@c_function(
    "const char * llama_model_cls_label(const struct llama_model * model, uint32_t i)",
    argtypes=[llama_model_p, c_uint32],
    restype=c_char_p,
)
def llama_model_cls_label(model: llama_model_p | None, i: int) -> bytes | None:
    """Return the label of a classifier output, or None; lives as long as the model."""


@c_function(
    "int32_t llama_model_meta_val_str(const struct llama_model * model, "
    "const char * key, char * buf, size_t buf_size)",
    argtypes=[llama_model_p, c_char_p, POINTER(c_char), c_size_t],
    restype=c_int32,
)
def llama_model_meta_val_str(
    model: llama_model_p | None, key: bytes | None, buf: Pointer[c_char], buf_size: int
) -> int:
    """Write a metadata value as text; returns its length, or -1 when there is no such key.

    The length is that of the whole value: when it is `buf_size` or more, the text in
    `buf` is cut. Arrays are not supported.
    """


@c_function(
    "int32_t llama_model_meta_count(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_int32,
)
def llama_model_meta_count(model: llama_model_p | None) -> int:
    """Return the number of metadata entries."""


@c_function(
    "const char * llama_model_meta_key_str(enum llama_model_meta_key key)",
    argtypes=[c_int],
    restype=c_char_p,
)
def llama_model_meta_key_str(key: int) -> bytes | None:
    """Return the metadata key of a ``llama_model_meta_key``, or None; static string."""


@c_function(
    "int32_t llama_model_meta_key_by_index(const struct llama_model * model, "
    "int32_t i, char * buf, size_t buf_size)",
    argtypes=[llama_model_p, c_int32, POINTER(c_char), c_size_t],
    restype=c_int32,
)
def llama_model_meta_key_by_index(
    model: llama_model_p | None, i: int, buf: Pointer[c_char], buf_size: int
) -> int:
    """Write the key of an entry; returns its length, or -1 when out of range."""


@c_function(
    "int32_t llama_model_meta_val_str_by_index(const struct llama_model * model, "
    "int32_t i, char * buf, size_t buf_size)",
    argtypes=[llama_model_p, c_int32, POINTER(c_char), c_size_t],
    restype=c_int32,
)
def llama_model_meta_val_str_by_index(
    model: llama_model_p | None, i: int, buf: Pointer[c_char], buf_size: int
) -> int:
    """Write the value of an entry as text; returns its length, or -1 when out of range."""


@c_function(
    "int32_t llama_model_desc(const struct llama_model * model, char * buf, "
    "size_t buf_size)",
    argtypes=[llama_model_p, POINTER(c_char), c_size_t],
    restype=c_int32,
)
def llama_model_desc(
    model: llama_model_p | None, buf: Pointer[c_char], buf_size: int
) -> int:
    """Write a short description (architecture, size, type); returns its length."""


@c_function(
    "enum llama_ftype llama_model_ftype(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_int,
)
def llama_model_ftype(model: llama_model_p | None) -> int:
    """Return the ``llama_ftype`` of the file."""


@c_function(
    "uint64_t llama_model_size(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_uint64,
)
def llama_model_size(model: llama_model_p | None) -> int:
    """Return the size of all tensors in bytes."""


@c_function(
    "const char * llama_model_chat_template(const struct llama_model * model, "
    "const char * name)",
    argtypes=[llama_model_p, c_char_p],
    restype=c_char_p,
)
def llama_model_chat_template(
    model: llama_model_p | None, name: bytes | None
) -> bytes | None:
    """Return a chat template, or None; NULL `name` means the default one.

    The string lives as long as the model.
    """


@c_function(
    "uint64_t llama_model_n_params(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_uint64,
)
def llama_model_n_params(model: llama_model_p | None) -> int:
    """Return the number of parameters."""


@c_function(
    "bool llama_model_has_encoder(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_bool,
)
def llama_model_has_encoder(model: llama_model_p | None) -> bool:
    """Whether the model needs ``llama_encode``."""


@c_function(
    "bool llama_model_has_decoder(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_bool,
)
def llama_model_has_decoder(model: llama_model_p | None) -> bool:
    """Whether the model needs ``llama_decode``."""


@c_function(
    "llama_token llama_model_decoder_start_token(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=llama_token,
)
def llama_model_decoder_start_token(model: llama_model_p | None) -> int:
    """Return the token that starts decoding in an encoder-decoder model, else -1."""


@c_function(
    "bool llama_model_is_recurrent(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_bool,
)
def llama_model_is_recurrent(model: llama_model_p | None) -> bool:
    """Whether the model is recurrent, such as Mamba or RWKV."""


@c_function(
    "bool llama_model_is_hybrid(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_bool,
)
def llama_model_is_hybrid(model: llama_model_p | None) -> bool:
    """Whether the model mixes attention and recurrence, such as Jamba."""


@c_function(
    "bool llama_model_is_diffusion(const struct llama_model * model)",
    argtypes=[llama_model_p],
    restype=c_bool,
)
def llama_model_is_diffusion(model: llama_model_p | None) -> bool:
    """Whether the model generates by diffusion, such as LLaDA."""


@c_function(
    "uint32_t llama_model_quantize(const char * fname_inp, "
    "const char * fname_out, const llama_model_quantize_params * params)",
    argtypes=[c_char_p, c_char_p, POINTER(llama_model_quantize_params)],
    restype=c_uint32,
    optional=True,
)
def llama_model_quantize(
    fname_inp: bytes | None,
    fname_out: bytes | None,
    params: Pointer[llama_model_quantize_params],
) -> int:
    """Quantise a file into another; 0 on success, 1 on failure (logged)."""


@c_function(
    "int32_t llama_split_path(char * split_path, size_t maxlen, "
    "const char * path_prefix, int32_t split_no, int32_t split_count)",
    argtypes=[POINTER(c_char), c_size_t, c_char_p, c_int32, c_int32],
    restype=c_int32,
)
def llama_split_path(
    split_path: Pointer[c_char],
    maxlen: int,
    path_prefix: bytes | None,
    split_no: int,
    split_count: int,
) -> int:
    """Write the path of part `split_no` (from 0) of `split_count`; returns its length."""


@c_function(
    "int32_t llama_split_prefix(char * split_prefix, size_t maxlen, "
    "const char * split_path, int32_t split_no, int32_t split_count)",
    argtypes=[POINTER(c_char), c_size_t, c_char_p, c_int32, c_int32],
    restype=c_int32,
)
def llama_split_prefix(
    split_prefix: Pointer[c_char],
    maxlen: int,
    split_path: bytes | None,
    split_no: int,
    split_count: int,
) -> int:
    """Write the path without the part suffix; returns its length, 0 when it does not match."""
