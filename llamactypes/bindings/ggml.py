"""ggml.h, ggml-cpu.h, ggml-backend.h, ggml-opt.h, ggml-rpc.h: the calls we use."""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_bool,
    c_char_p,
    c_int,
    c_int64,
    c_size_t,
    c_uint32,
    c_void_p,
)
from typing import TYPE_CHECKING

from llamactypes.bindings._declare import c_function
from llamactypes.bindings.structs import (
    ggml_backend_dev_props,
    ggml_opt_optimizer_params,
    ggml_threadpool_params,
)
from llamactypes.bindings.types import (
    ggml_abort_callback_t,
    ggml_backend_buffer_type_t,
    ggml_backend_dev_t,
    ggml_backend_reg_t,
    ggml_backend_t,
    ggml_log_callback,
    ggml_threadpool_t,
)

if TYPE_CHECKING:
    from llamactypes.bindings.types import Callback, Pointer

__all__ = (
    "ggml_set_abort_callback",
    "ggml_status_to_string",
    "ggml_version",
    "ggml_commit",
    "ggml_time_ms",
    "ggml_time_us",
    "ggml_blck_size",
    "ggml_type_size",
    "ggml_row_size",
    "ggml_type_name",
    "ggml_is_quantized",
    "ggml_log_get",
    "ggml_log_set",
    "ggml_threadpool_params_default",
    "ggml_threadpool_params_init",
    "ggml_threadpool_params_match",
    "ggml_threadpool_new",
    "ggml_threadpool_free",
    "ggml_threadpool_get_n_threads",
    "ggml_threadpool_pause",
    "ggml_threadpool_resume",
    "ggml_backend_buft_name",
    "ggml_backend_name",
    "ggml_backend_free",
    "ggml_backend_dev_name",
    "ggml_backend_dev_description",
    "ggml_backend_dev_memory",
    "ggml_backend_dev_type",
    "ggml_backend_dev_get_props",
    "ggml_backend_dev_backend_reg",
    "ggml_backend_dev_init",
    "ggml_backend_dev_buffer_type",
    "ggml_backend_reg_name",
    "ggml_backend_reg_dev_count",
    "ggml_backend_reg_dev_get",
    "ggml_backend_reg_get_proc_address",
    "ggml_backend_register",
    "ggml_backend_device_register",
    "ggml_backend_reg_count",
    "ggml_backend_reg_get",
    "ggml_backend_reg_by_name",
    "ggml_backend_dev_count",
    "ggml_backend_dev_get",
    "ggml_backend_dev_by_name",
    "ggml_backend_dev_by_type",
    "ggml_backend_load",
    "ggml_backend_unload",
    "ggml_backend_load_all_from_path",
    "ggml_opt_get_default_optimizer_params",
    "ggml_opt_get_constant_optimizer_params",
    "ggml_backend_rpc_init",
    "ggml_backend_is_rpc",
    "ggml_backend_rpc_buffer_type",
    "ggml_backend_rpc_get_device_memory",
    "ggml_backend_rpc_start_server",
    "ggml_backend_rpc_reg",
    "ggml_backend_rpc_add_server",
)


# -- ggml.h ------------------------------------------------------------------------


@c_function(
    "ggml_abort_callback_t ggml_set_abort_callback(ggml_abort_callback_t callback)",
    argtypes=[ggml_abort_callback_t],
    restype=ggml_abort_callback_t,
    library="ggml-base",
)
def ggml_set_abort_callback(callback: Callback | None) -> Callback:
    """See the header."""


@c_function(
    "const char * ggml_status_to_string(enum ggml_status status)",
    argtypes=[c_int],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_status_to_string(status: int) -> bytes | None:
    """See the header."""


@c_function(
    "const char * ggml_version(void)",
    argtypes=[],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_version() -> bytes | None:
    """See the header."""


@c_function(
    "const char * ggml_commit(void)",
    argtypes=[],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_commit() -> bytes | None:
    """See the header."""


@c_function(
    "int64_t ggml_time_ms(void)",
    argtypes=[],
    restype=c_int64,
    library="ggml-base",
)
def ggml_time_ms() -> int:
    """See the header."""


@c_function(
    "int64_t ggml_time_us(void)",
    argtypes=[],
    restype=c_int64,
    library="ggml-base",
)
def ggml_time_us() -> int:
    """See the header."""


@c_function(
    "int64_t ggml_blck_size(enum ggml_type type)",
    argtypes=[c_int],
    restype=c_int64,
    library="ggml-base",
)
def ggml_blck_size(type: int) -> int:
    """See the header."""


@c_function(
    "size_t ggml_type_size(enum ggml_type type)",
    argtypes=[c_int],
    restype=c_size_t,
    library="ggml-base",
)
def ggml_type_size(type: int) -> int:
    """See the header."""


@c_function(
    "size_t ggml_row_size(enum ggml_type type, int64_t ne)",
    argtypes=[c_int, c_int64],
    restype=c_size_t,
    library="ggml-base",
)
def ggml_row_size(type: int, ne: int) -> int:
    """See the header."""


@c_function(
    "const char * ggml_type_name(enum ggml_type type)",
    argtypes=[c_int],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_type_name(type: int) -> bytes | None:
    """See the header."""


@c_function(
    "bool ggml_is_quantized(enum ggml_type type)",
    argtypes=[c_int],
    restype=c_bool,
    library="ggml-base",
)
def ggml_is_quantized(type: int) -> bool:
    """See the header."""


@c_function(
    "void ggml_log_get(ggml_log_callback * log_callback, void ** user_data)",
    argtypes=[POINTER(ggml_log_callback), POINTER(c_void_p)],
    restype=None,
    library="ggml-base",
)
def ggml_log_get(log_callback: Pointer[Callback], user_data: Pointer[c_void_p]) -> None:
    """See the header."""


@c_function(
    "void ggml_log_set(ggml_log_callback log_callback, void * user_data)",
    argtypes=[ggml_log_callback, c_void_p],
    restype=None,
    library="ggml-base",
)
def ggml_log_set(
    log_callback: Callback | None, user_data: int | ctypes.c_void_p | None
) -> None:
    """See the header."""


@c_function(
    "struct ggml_threadpool_params ggml_threadpool_params_default(int n_threads)",
    argtypes=[c_int],
    restype=ggml_threadpool_params,
    library="ggml-base",
)
def ggml_threadpool_params_default(n_threads: int) -> ggml_threadpool_params:
    """See the header."""


@c_function(
    "void ggml_threadpool_params_init(struct ggml_threadpool_params * p, "
    "int n_threads)",
    argtypes=[POINTER(ggml_threadpool_params), c_int],
    restype=None,
    library="ggml-base",
)
def ggml_threadpool_params_init(
    p: Pointer[ggml_threadpool_params], n_threads: int
) -> None:
    """See the header."""


@c_function(
    "bool ggml_threadpool_params_match(const struct ggml_threadpool_params * p0, "
    "const struct ggml_threadpool_params * p1)",
    argtypes=[POINTER(ggml_threadpool_params), POINTER(ggml_threadpool_params)],
    restype=c_bool,
    library="ggml-base",
)
def ggml_threadpool_params_match(
    p0: Pointer[ggml_threadpool_params], p1: Pointer[ggml_threadpool_params]
) -> bool:
    """See the header."""


# -- ggml-cpu.h --------------------------------------------------------------------


@c_function(
    "struct ggml_threadpool * ggml_threadpool_new("
    "struct ggml_threadpool_params * params)",
    argtypes=[POINTER(ggml_threadpool_params)],
    restype=ggml_threadpool_t,
    optional=True,
    library="ggml",
)
def ggml_threadpool_new(params: Pointer[ggml_threadpool_params]) -> ggml_threadpool_t:
    """See the header."""


@c_function(
    "void ggml_threadpool_free(struct ggml_threadpool * threadpool)",
    argtypes=[ggml_threadpool_t],
    restype=None,
    optional=True,
    library="ggml",
)
def ggml_threadpool_free(threadpool: ggml_threadpool_t | None) -> None:
    """See the header."""


@c_function(
    "int ggml_threadpool_get_n_threads(struct ggml_threadpool * threadpool)",
    argtypes=[ggml_threadpool_t],
    restype=c_int,
    optional=True,
    library="ggml",
)
def ggml_threadpool_get_n_threads(threadpool: ggml_threadpool_t | None) -> int:
    """See the header."""


@c_function(
    "void ggml_threadpool_pause(struct ggml_threadpool * threadpool)",
    argtypes=[ggml_threadpool_t],
    restype=None,
    optional=True,
    library="ggml",
)
def ggml_threadpool_pause(threadpool: ggml_threadpool_t | None) -> None:
    """See the header."""


@c_function(
    "void ggml_threadpool_resume(struct ggml_threadpool * threadpool)",
    argtypes=[ggml_threadpool_t],
    restype=None,
    optional=True,
    library="ggml",
)
def ggml_threadpool_resume(threadpool: ggml_threadpool_t | None) -> None:
    """See the header."""


# -- ggml-backend.h ----------------------------------------------------------------


@c_function(
    "const char * ggml_backend_buft_name(ggml_backend_buffer_type_t buft)",
    argtypes=[ggml_backend_buffer_type_t],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_backend_buft_name(buft: ggml_backend_buffer_type_t | None) -> bytes | None:
    """See the header."""


@c_function(
    "const char * ggml_backend_name(ggml_backend_t backend)",
    argtypes=[ggml_backend_t],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_backend_name(backend: ggml_backend_t | None) -> bytes | None:
    """See the header."""


@c_function(
    "void ggml_backend_free(ggml_backend_t backend)",
    argtypes=[ggml_backend_t],
    restype=None,
    library="ggml-base",
)
def ggml_backend_free(backend: ggml_backend_t | None) -> None:
    """See the header."""


@c_function(
    "const char * ggml_backend_dev_name(ggml_backend_dev_t device)",
    argtypes=[ggml_backend_dev_t],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_backend_dev_name(device: ggml_backend_dev_t | None) -> bytes | None:
    """See the header."""


@c_function(
    "const char * ggml_backend_dev_description(ggml_backend_dev_t device)",
    argtypes=[ggml_backend_dev_t],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_backend_dev_description(device: ggml_backend_dev_t | None) -> bytes | None:
    """See the header."""


@c_function(
    "void ggml_backend_dev_memory(ggml_backend_dev_t device, size_t * free, "
    "size_t * total)",
    argtypes=[ggml_backend_dev_t, POINTER(c_size_t), POINTER(c_size_t)],
    restype=None,
    library="ggml-base",
)
def ggml_backend_dev_memory(
    device: ggml_backend_dev_t | None, free: Pointer[c_size_t], total: Pointer[c_size_t]
) -> None:
    """See the header."""


@c_function(
    "enum ggml_backend_dev_type ggml_backend_dev_type(ggml_backend_dev_t device)",
    argtypes=[ggml_backend_dev_t],
    restype=c_int,
    library="ggml-base",
)
def ggml_backend_dev_type(device: ggml_backend_dev_t | None) -> int:
    """See the header."""


@c_function(
    "void ggml_backend_dev_get_props(ggml_backend_dev_t device, "
    "struct ggml_backend_dev_props * props)",
    argtypes=[ggml_backend_dev_t, POINTER(ggml_backend_dev_props)],
    restype=None,
    library="ggml-base",
)
def ggml_backend_dev_get_props(
    device: ggml_backend_dev_t | None, props: Pointer[ggml_backend_dev_props]
) -> None:
    """See the header."""


@c_function(
    "ggml_backend_reg_t ggml_backend_dev_backend_reg(ggml_backend_dev_t device)",
    argtypes=[ggml_backend_dev_t],
    restype=ggml_backend_reg_t,
    library="ggml-base",
)
def ggml_backend_dev_backend_reg(
    device: ggml_backend_dev_t | None,
) -> ggml_backend_reg_t:
    """See the header."""


@c_function(
    "ggml_backend_t ggml_backend_dev_init(ggml_backend_dev_t device, "
    "const char * params)",
    argtypes=[ggml_backend_dev_t, c_char_p],
    restype=ggml_backend_t,
    library="ggml-base",
)
def ggml_backend_dev_init(
    device: ggml_backend_dev_t | None, params: bytes | None
) -> ggml_backend_t:
    """See the header."""


@c_function(
    "ggml_backend_buffer_type_t ggml_backend_dev_buffer_type("
    "ggml_backend_dev_t device)",
    argtypes=[ggml_backend_dev_t],
    restype=ggml_backend_buffer_type_t,
    library="ggml-base",
)
def ggml_backend_dev_buffer_type(
    device: ggml_backend_dev_t | None,
) -> ggml_backend_buffer_type_t:
    """See the header."""


@c_function(
    "const char * ggml_backend_reg_name(ggml_backend_reg_t reg)",
    argtypes=[ggml_backend_reg_t],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_backend_reg_name(reg: ggml_backend_reg_t | None) -> bytes | None:
    """See the header."""


@c_function(
    "size_t ggml_backend_reg_dev_count(ggml_backend_reg_t reg)",
    argtypes=[ggml_backend_reg_t],
    restype=c_size_t,
    library="ggml-base",
)
def ggml_backend_reg_dev_count(reg: ggml_backend_reg_t | None) -> int:
    """See the header."""


@c_function(
    "ggml_backend_dev_t ggml_backend_reg_dev_get(ggml_backend_reg_t reg, size_t index)",
    argtypes=[ggml_backend_reg_t, c_size_t],
    restype=ggml_backend_dev_t,
    library="ggml-base",
)
def ggml_backend_reg_dev_get(
    reg: ggml_backend_reg_t | None, index: int
) -> ggml_backend_dev_t:
    """See the header."""


@c_function(
    "void * ggml_backend_reg_get_proc_address(ggml_backend_reg_t reg, "
    "const char * name)",
    argtypes=[ggml_backend_reg_t, c_char_p],
    restype=c_void_p,
    library="ggml-base",
)
def ggml_backend_reg_get_proc_address(
    reg: ggml_backend_reg_t | None, name: bytes | None
) -> int | None:
    """See the header."""


@c_function(
    "void ggml_backend_register(ggml_backend_reg_t reg)",
    argtypes=[ggml_backend_reg_t],
    restype=None,
    library="ggml",
)
def ggml_backend_register(reg: ggml_backend_reg_t | None) -> None:
    """See the header."""


@c_function(
    "void ggml_backend_device_register(ggml_backend_dev_t device)",
    argtypes=[ggml_backend_dev_t],
    restype=None,
    library="ggml",
)
def ggml_backend_device_register(device: ggml_backend_dev_t | None) -> None:
    """See the header."""


@c_function(
    "size_t ggml_backend_reg_count(void)",
    argtypes=[],
    restype=c_size_t,
    library="ggml",
)
def ggml_backend_reg_count() -> int:
    """See the header."""


@c_function(
    "ggml_backend_reg_t ggml_backend_reg_get(size_t index)",
    argtypes=[c_size_t],
    restype=ggml_backend_reg_t,
    library="ggml",
)
def ggml_backend_reg_get(index: int) -> ggml_backend_reg_t:
    """See the header."""


@c_function(
    "ggml_backend_reg_t ggml_backend_reg_by_name(const char * name)",
    argtypes=[c_char_p],
    restype=ggml_backend_reg_t,
    library="ggml",
)
def ggml_backend_reg_by_name(name: bytes | None) -> ggml_backend_reg_t:
    """See the header."""


@c_function(
    "size_t ggml_backend_dev_count(void)",
    argtypes=[],
    restype=c_size_t,
    library="ggml",
)
def ggml_backend_dev_count() -> int:
    """See the header."""


@c_function(
    "ggml_backend_dev_t ggml_backend_dev_get(size_t index)",
    argtypes=[c_size_t],
    restype=ggml_backend_dev_t,
    library="ggml",
)
def ggml_backend_dev_get(index: int) -> ggml_backend_dev_t:
    """See the header."""


@c_function(
    "ggml_backend_dev_t ggml_backend_dev_by_name(const char * name)",
    argtypes=[c_char_p],
    restype=ggml_backend_dev_t,
    library="ggml",
)
def ggml_backend_dev_by_name(name: bytes | None) -> ggml_backend_dev_t:
    """See the header."""


@c_function(
    "ggml_backend_dev_t ggml_backend_dev_by_type(enum ggml_backend_dev_type type)",
    argtypes=[c_int],
    restype=ggml_backend_dev_t,
    library="ggml",
)
def ggml_backend_dev_by_type(type: int) -> ggml_backend_dev_t:
    """See the header."""


@c_function(
    "ggml_backend_reg_t ggml_backend_load(const char * path)",
    argtypes=[c_char_p],
    restype=ggml_backend_reg_t,
    library="ggml",
)
def ggml_backend_load(path: bytes | None) -> ggml_backend_reg_t:
    """See the header."""


@c_function(
    "void ggml_backend_unload(ggml_backend_reg_t reg)",
    argtypes=[ggml_backend_reg_t],
    restype=None,
    library="ggml",
)
def ggml_backend_unload(reg: ggml_backend_reg_t | None) -> None:
    """See the header."""


@c_function(
    "void ggml_backend_load_all_from_path(const char * dir_path)",
    argtypes=[c_char_p],
    restype=None,
    library="ggml",
)
def ggml_backend_load_all_from_path(dir_path: bytes | None) -> None:
    """See the header."""


# -- ggml-opt.h --------------------------------------------------------------------


@c_function(
    "struct ggml_opt_optimizer_params ggml_opt_get_default_optimizer_params("
    "void * userdata)",
    argtypes=[c_void_p],
    restype=ggml_opt_optimizer_params,
    library="ggml-base",
)
def ggml_opt_get_default_optimizer_params(
    userdata: int | ctypes.c_void_p | None,
) -> ggml_opt_optimizer_params:
    """See the header."""


@c_function(
    "struct ggml_opt_optimizer_params ggml_opt_get_constant_optimizer_params("
    "void * userdata)",
    argtypes=[c_void_p],
    restype=ggml_opt_optimizer_params,
    library="ggml-base",
)
def ggml_opt_get_constant_optimizer_params(
    userdata: int | ctypes.c_void_p | None,
) -> ggml_opt_optimizer_params:
    """See the header."""


# -- ggml-rpc.h --------------------------------------------------------------------


@c_function(
    "ggml_backend_t ggml_backend_rpc_init(const char * endpoint, uint32_t device)",
    argtypes=[c_char_p, c_uint32],
    restype=ggml_backend_t,
    optional=True,
    library="ggml",
)
def ggml_backend_rpc_init(endpoint: bytes | None, device: int) -> ggml_backend_t:
    """See the header."""


@c_function(
    "bool ggml_backend_is_rpc(ggml_backend_t backend)",
    argtypes=[ggml_backend_t],
    restype=c_bool,
    optional=True,
    library="ggml",
)
def ggml_backend_is_rpc(backend: ggml_backend_t | None) -> bool:
    """See the header."""


@c_function(
    "ggml_backend_buffer_type_t ggml_backend_rpc_buffer_type("
    "const char * endpoint, uint32_t device)",
    argtypes=[c_char_p, c_uint32],
    restype=ggml_backend_buffer_type_t,
    optional=True,
    library="ggml",
)
def ggml_backend_rpc_buffer_type(
    endpoint: bytes | None, device: int
) -> ggml_backend_buffer_type_t:
    """See the header."""


@c_function(
    "void ggml_backend_rpc_get_device_memory(const char * endpoint, "
    "uint32_t device, size_t * free, size_t * total)",
    argtypes=[c_char_p, c_uint32, POINTER(c_size_t), POINTER(c_size_t)],
    restype=None,
    optional=True,
    library="ggml",
)
def ggml_backend_rpc_get_device_memory(
    endpoint: bytes | None,
    device: int,
    free: Pointer[c_size_t],
    total: Pointer[c_size_t],
) -> None:
    """See the header."""


@c_function(
    "void ggml_backend_rpc_start_server(const char * endpoint, "
    "const char * cache_dir, size_t n_threads, size_t n_devices, "
    "ggml_backend_dev_t * devices)",
    argtypes=[c_char_p, c_char_p, c_size_t, c_size_t, POINTER(ggml_backend_dev_t)],
    restype=None,
    optional=True,
    library="ggml",
)
def ggml_backend_rpc_start_server(
    endpoint: bytes | None,
    cache_dir: bytes | None,
    n_threads: int,
    n_devices: int,
    devices: Pointer[ggml_backend_dev_t],
) -> None:
    """See the header."""


@c_function(
    "ggml_backend_reg_t ggml_backend_rpc_reg(void)",
    argtypes=[],
    restype=ggml_backend_reg_t,
    optional=True,
    library="ggml",
)
def ggml_backend_rpc_reg() -> ggml_backend_reg_t:
    """See the header."""


@c_function(
    "ggml_backend_reg_t ggml_backend_rpc_add_server(const char * endpoint)",
    argtypes=[c_char_p],
    restype=ggml_backend_reg_t,
    optional=True,
    library="ggml",
)
def ggml_backend_rpc_add_server(endpoint: bytes | None) -> ggml_backend_reg_t:
    """See the header."""
