"""llama.h: LoRA adapters and control vectors."""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char, c_char_p, c_float, c_int32, c_size_t, c_uint64
from typing import TYPE_CHECKING

from llamactypes.bindings._declare import c_function
from llamactypes.bindings.types import (
    FILE_p,
    llama_adapter_lora_p,
    llama_context_p,
    llama_model_p,
    llama_token,
)

if TYPE_CHECKING:
    from llamactypes.bindings.types import Pointer

__all__ = (
    "llama_adapter_lora_init",
    "llama_adapter_lora_init_from_file_ptr",
    "llama_adapter_meta_val_str",
    "llama_adapter_meta_count",
    "llama_adapter_meta_key_by_index",
    "llama_adapter_meta_val_str_by_index",
    "llama_adapter_lora_free",
    "llama_adapter_get_alora_n_invocation_tokens",
    "llama_adapter_get_alora_invocation_tokens",
    "llama_set_adapters_lora",
    "llama_set_adapter_cvec",
)


@c_function(
    "struct llama_adapter_lora * llama_adapter_lora_init("
    "struct llama_model * model, const char * path_lora)",
    argtypes=[llama_model_p, c_char_p],
    restype=llama_adapter_lora_p,
)
def llama_adapter_lora_init(
    model: llama_model_p | None, path_lora: bytes | None
) -> llama_adapter_lora_p:
    """Load a LoRA adapter; NULL on failure. Valid as long as the model."""


@c_function(
    "struct llama_adapter_lora * llama_adapter_lora_init_from_file_ptr("
    "struct llama_model * model, FILE * file)",
    argtypes=[llama_model_p, FILE_p],
    restype=llama_adapter_lora_p,
    optional=True,
)
def llama_adapter_lora_init_from_file_ptr(
    model: llama_model_p | None, file: FILE_p | None
) -> llama_adapter_lora_p:
    """Load a LoRA adapter from an open stream, from its position; NULL on failure."""


@c_function(
    "int32_t llama_adapter_meta_val_str("
    "const struct llama_adapter_lora * adapter, const char * key, char * buf, "
    "size_t buf_size)",
    argtypes=[llama_adapter_lora_p, c_char_p, POINTER(c_char), c_size_t],
    restype=c_int32,
)
def llama_adapter_meta_val_str(
    adapter: llama_adapter_lora_p | None,
    key: bytes | None,
    buf: Pointer[c_char],
    buf_size: int,
) -> int:
    """Write a metadata value as text; returns its length, or -1 when there is no such key."""


@c_function(
    "int32_t llama_adapter_meta_count(const struct llama_adapter_lora * adapter)",
    argtypes=[llama_adapter_lora_p],
    restype=c_int32,
)
def llama_adapter_meta_count(adapter: llama_adapter_lora_p | None) -> int:
    """Return the number of metadata entries."""


@c_function(
    "int32_t llama_adapter_meta_key_by_index("
    "const struct llama_adapter_lora * adapter, int32_t i, char * buf, "
    "size_t buf_size)",
    argtypes=[llama_adapter_lora_p, c_int32, POINTER(c_char), c_size_t],
    restype=c_int32,
)
def llama_adapter_meta_key_by_index(
    adapter: llama_adapter_lora_p | None, i: int, buf: Pointer[c_char], buf_size: int
) -> int:
    """Write the key of an entry; returns its length, or -1 when out of range."""


@c_function(
    "int32_t llama_adapter_meta_val_str_by_index("
    "const struct llama_adapter_lora * adapter, int32_t i, char * buf, "
    "size_t buf_size)",
    argtypes=[llama_adapter_lora_p, c_int32, POINTER(c_char), c_size_t],
    restype=c_int32,
)
def llama_adapter_meta_val_str_by_index(
    adapter: llama_adapter_lora_p | None, i: int, buf: Pointer[c_char], buf_size: int
) -> int:
    """Write the value of an entry as text; returns its length, or -1 when out of range."""


@c_function(
    "void llama_adapter_lora_free(struct llama_adapter_lora * adapter)",
    argtypes=[llama_adapter_lora_p],
    restype=None,
)
def llama_adapter_lora_free(adapter: llama_adapter_lora_p | None) -> None:
    """Free an adapter before its model does; no context may still use it."""


@c_function(
    "uint64_t llama_adapter_get_alora_n_invocation_tokens("
    "const struct llama_adapter_lora * adapter)",
    argtypes=[llama_adapter_lora_p],
    restype=c_uint64,
)
def llama_adapter_get_alora_n_invocation_tokens(
    adapter: llama_adapter_lora_p | None,
) -> int:
    """Return how many tokens invoke an activated LoRA; 0 for an ordinary one."""


@c_function(
    "const llama_token * llama_adapter_get_alora_invocation_tokens("
    "const struct llama_adapter_lora * adapter)",
    argtypes=[llama_adapter_lora_p],
    restype=POINTER(llama_token),
)
def llama_adapter_get_alora_invocation_tokens(
    adapter: llama_adapter_lora_p | None,
) -> ctypes._Pointer[llama_token]:
    """Return the tokens that invoke an activated LoRA; owned by the adapter."""


@c_function(
    "int32_t llama_set_adapters_lora(struct llama_context * ctx, "
    "struct llama_adapter_lora ** adapters, size_t n_adapters, float * scales)",
    argtypes=[
        llama_context_p,
        POINTER(llama_adapter_lora_p),
        c_size_t,
        POINTER(c_float),
    ],
    restype=c_int32,
)
def llama_set_adapters_lora(
    ctx: llama_context_p | None,
    adapters: Pointer[llama_adapter_lora_p],
    n_adapters: int,
    scales: Pointer[c_float],
) -> int:
    """Use exactly these adapters with these scales; returns 0.

    With 0 adapters none is used. The arrays are copied.
    """


@c_function(
    "int32_t llama_set_adapter_cvec(struct llama_context * ctx, "
    "const float * data, size_t len, int32_t n_embd, int32_t il_start, "
    "int32_t il_end)",
    argtypes=[llama_context_p, POINTER(c_float), c_size_t, c_int32, c_int32, c_int32],
    restype=c_int32,
)
def llama_set_adapter_cvec(
    ctx: llama_context_p | None,
    data: Pointer[c_float],
    len: int,
    n_embd: int,
    il_start: int,
    il_end: int,
) -> int:
    """Use a control vector, or none when `data` is NULL; 0 on success, -1 on failure.

    `data` holds `len` float32: one row of `n_embd` per layer from layer 1 on. Layers
    `il_start` to `il_end` are steered, both included.
    """
