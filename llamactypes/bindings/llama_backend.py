"""llama.h: the library itself, its defaults, limits and log."""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_bool, c_char_p, c_int, c_int64, c_size_t, c_void_p
from typing import TYPE_CHECKING

from llamactypes.bindings._declare import c_function
from llamactypes.bindings.structs import (
    llama_context_params,
    llama_model_params,
    llama_model_quantize_params,
    llama_sampler_chain_params,
)
from llamactypes.bindings.types import ggml_log_callback

if TYPE_CHECKING:
    from llamactypes.bindings.types import Callback, Pointer

__all__ = (
    "llama_ftype_name",
    "llama_flash_attn_type_name",
    "llama_load_mode_name",
    "llama_load_mode_from_str",
    "llama_version",
    "llama_model_default_params",
    "llama_context_default_params",
    "llama_sampler_chain_default_params",
    "llama_model_quantize_default_params",
    "llama_backend_init",
    "llama_backend_free",
    "llama_numa_init",
    "llama_time_us",
    "llama_max_devices",
    "llama_max_parallel_sequences",
    "llama_max_tensor_buft_overrides",
    "llama_supports_mmap",
    "llama_supports_mlock",
    "llama_supports_gpu_offload",
    "llama_supports_rpc",
    "llama_print_system_info",
    "llama_log_get",
    "llama_log_set",
)


@c_function(
    "const char * llama_ftype_name(enum llama_ftype ftype)",
    argtypes=[c_int],
    restype=c_char_p,
)
def llama_ftype_name(ftype: int) -> bytes | None:
    """Return the name of a ``llama_ftype``, such as ``Q4_K - Medium``; static string."""


@c_function(
    "const char * llama_flash_attn_type_name("
    "enum llama_flash_attn_type flash_attn_type)",
    argtypes=[c_int],
    restype=c_char_p,
)
def llama_flash_attn_type_name(flash_attn_type: int) -> bytes | None:
    """Return the name of a ``llama_flash_attn_type``; static string."""


@c_function(
    "const char * llama_load_mode_name(enum llama_load_mode load_mode)",
    argtypes=[c_int],
    restype=c_char_p,
)
def llama_load_mode_name(load_mode: int) -> bytes | None:
    """Return the name of a ``llama_load_mode``; static string."""


@c_function(
    "enum llama_load_mode llama_load_mode_from_str(const char * str)",
    argtypes=[c_char_p],
    restype=c_int,
)
def llama_load_mode_from_str(str: bytes | None) -> int:
    """Return the ``llama_load_mode`` with this name."""


@c_function(
    "const char * llama_version(void)",
    argtypes=[],
    restype=c_char_p,
)
def llama_version() -> bytes | None:
    """Return llama.cpp's version; several builds share one, so it does not tell the ABI."""


@c_function(
    "struct llama_model_params llama_model_default_params(void)",
    argtypes=[],
    restype=llama_model_params,
)
def llama_model_default_params() -> llama_model_params:
    """Return the default parameters for loading a model."""


@c_function(
    "struct llama_context_params llama_context_default_params(void)",
    argtypes=[],
    restype=llama_context_params,
)
def llama_context_default_params() -> llama_context_params:
    """Return the default parameters of a context, in the layout of the library."""


@c_function(
    "struct llama_sampler_chain_params llama_sampler_chain_default_params(void)",
    argtypes=[],
    restype=llama_sampler_chain_params,
)
def llama_sampler_chain_default_params() -> llama_sampler_chain_params:
    """Return the default parameters of a sampler chain."""


@c_function(
    "struct llama_model_quantize_params llama_model_quantize_default_params(void)",
    argtypes=[],
    restype=llama_model_quantize_params,
    optional=True,
)
def llama_model_quantize_default_params() -> llama_model_quantize_params:
    """Return the default parameters for quantising."""


@c_function(
    "void llama_backend_init(void)",
    argtypes=[],
    restype=None,
)
def llama_backend_init() -> None:
    """Initialise the library. Call it once per process, before anything else.

    Load the backends first: with none registered it searches the directory of the
    executable and the working directory for them.
    """


@c_function(
    "void llama_backend_free(void)",
    argtypes=[],
    restype=None,
)
def llama_backend_free() -> None:
    """Free what ``llama_backend_init`` made; models and contexts must be gone."""


@c_function(
    "void llama_numa_init(enum ggml_numa_strategy numa)",
    argtypes=[c_int],
    restype=None,
)
def llama_numa_init(numa: int) -> None:
    """Set the NUMA strategy, a ``ggml_numa_strategy``; the CPU backend must be loaded."""


@c_function(
    "int64_t llama_time_us(void)",
    argtypes=[],
    restype=c_int64,
)
def llama_time_us() -> int:
    """Return a monotonic clock in microseconds."""


@c_function(
    "size_t llama_max_devices(void)",
    argtypes=[],
    restype=c_size_t,
)
def llama_max_devices() -> int:
    """Return how many devices one model can use: the length of `tensor_split`."""


@c_function(
    "size_t llama_max_parallel_sequences(void)",
    argtypes=[],
    restype=c_size_t,
    optional=True,
)
def llama_max_parallel_sequences() -> int:
    """Return the greatest `n_seq_max` of a context."""


@c_function(
    "size_t llama_max_tensor_buft_overrides(void)",
    argtypes=[],
    restype=c_size_t,
)
def llama_max_tensor_buft_overrides() -> int:
    """Return how many entries `tensor_buft_overrides` may have."""


@c_function(
    "bool llama_supports_mmap(void)",
    argtypes=[],
    restype=c_bool,
)
def llama_supports_mmap() -> bool:
    """Whether models can be mapped into memory on this system."""


@c_function(
    "bool llama_supports_mlock(void)",
    argtypes=[],
    restype=c_bool,
)
def llama_supports_mlock() -> bool:
    """Whether memory can be locked on this system."""


@c_function(
    "bool llama_supports_gpu_offload(void)",
    argtypes=[],
    restype=c_bool,
)
def llama_supports_gpu_offload() -> bool:
    """Whether a GPU or RPC backend is registered. Load the backends first."""


@c_function(
    "bool llama_supports_rpc(void)",
    argtypes=[],
    restype=c_bool,
)
def llama_supports_rpc() -> bool:
    """Whether the RPC backend is registered. Load the backends first."""


@c_function(
    "const char * llama_print_system_info(void)",
    argtypes=[],
    restype=c_char_p,
)
def llama_print_system_info() -> bytes | None:
    """Return the CPU features the backends use, for people. Prints nothing.

    The string is a static buffer: the next call overwrites it.
    """


@c_function(
    "void llama_log_get(ggml_log_callback * log_callback, void ** user_data)",
    argtypes=[POINTER(ggml_log_callback), POINTER(c_void_p)],
    restype=None,
)
def llama_log_get(
    log_callback: Pointer[Callback], user_data: Pointer[c_void_p]
) -> None:
    """Write the log callback and its user data now in use to the two pointers."""


@c_function(
    "void llama_log_set(ggml_log_callback log_callback, void * user_data)",
    argtypes=[ggml_log_callback, c_void_p],
    restype=None,
)
def llama_log_set(
    log_callback: Callback | None, user_data: int | ctypes.c_void_p | None
) -> None:
    """Set the log callback of llama.cpp and ggml; NULL prints to stderr.

    Process-wide, not thread-safe. Keep `log_callback` alive until another is set. It is
    called from any thread of the library.
    """
