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
    """Set what is told before ggml aborts the process; returns the old one.

    NULL restores the default, which prints to stderr. Process-wide. The process aborts
    after the callback returns: it is a last word, not a way to continue.
    """


@c_function(
    "const char * ggml_status_to_string(enum ggml_status status)",
    argtypes=[c_int],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_status_to_string(status: int) -> bytes | None:
    """Return the name of a ``ggml_status``; static string."""


@c_function(
    "const char * ggml_version(void)",
    argtypes=[],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_version() -> bytes | None:
    """Return ggml's version, such as ``0.26.0``; static string."""


@c_function(
    "const char * ggml_commit(void)",
    argtypes=[],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_commit() -> bytes | None:
    """Return the commit ggml was built from, ``unknown`` when it was not told."""


@c_function(
    "int64_t ggml_time_ms(void)",
    argtypes=[],
    restype=c_int64,
    library="ggml-base",
)
def ggml_time_ms() -> int:
    """Return a monotonic clock in milliseconds."""


@c_function(
    "int64_t ggml_time_us(void)",
    argtypes=[],
    restype=c_int64,
    library="ggml-base",
)
def ggml_time_us() -> int:
    """Return a monotonic clock in microseconds."""


@c_function(
    "int64_t ggml_blck_size(enum ggml_type type)",
    argtypes=[c_int],
    restype=c_int64,
    library="ggml-base",
)
def ggml_blck_size(type: int) -> int:
    """Return how many elements one block of `type` holds."""


@c_function(
    "size_t ggml_type_size(enum ggml_type type)",
    argtypes=[c_int],
    restype=c_size_t,
    library="ggml-base",
)
def ggml_type_size(type: int) -> int:
    """Return the bytes of one block of `type`."""


@c_function(
    "size_t ggml_row_size(enum ggml_type type, int64_t ne)",
    argtypes=[c_int, c_int64],
    restype=c_size_t,
    library="ggml-base",
)
def ggml_row_size(type: int, ne: int) -> int:
    """Return the bytes of a row of `ne` elements; `ne` is a multiple of the block size."""


@c_function(
    "const char * ggml_type_name(enum ggml_type type)",
    argtypes=[c_int],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_type_name(type: int) -> bytes | None:
    """Return the name of a ``ggml_type``, such as ``q4_0``; static string."""


@c_function(
    "bool ggml_is_quantized(enum ggml_type type)",
    argtypes=[c_int],
    restype=c_bool,
    library="ggml-base",
)
def ggml_is_quantized(type: int) -> bool:
    """Whether `type` stores quantised blocks."""


@c_function(
    "void ggml_log_get(ggml_log_callback * log_callback, void ** user_data)",
    argtypes=[POINTER(ggml_log_callback), POINTER(c_void_p)],
    restype=None,
    library="ggml-base",
)
def ggml_log_get(log_callback: Pointer[Callback], user_data: Pointer[c_void_p]) -> None:
    """Write the log callback and its user data now in use to the two pointers."""


@c_function(
    "void ggml_log_set(ggml_log_callback log_callback, void * user_data)",
    argtypes=[ggml_log_callback, c_void_p],
    restype=None,
    library="ggml-base",
)
def ggml_log_set(
    log_callback: Callback | None, user_data: int | ctypes.c_void_p | None
) -> None:
    """Set the log callback of ggml; NULL prints to stderr. Process-wide, not thread-safe.

    Keep `log_callback` alive until another is set.
    """


@c_function(
    "struct ggml_threadpool_params ggml_threadpool_params_default(int n_threads)",
    argtypes=[c_int],
    restype=ggml_threadpool_params,
    library="ggml-base",
)
def ggml_threadpool_params_default(n_threads: int) -> ggml_threadpool_params:
    """Return the default parameters for `n_threads` threads."""


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
    """Fill `p` with the defaults for `n_threads` threads."""


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
    """Whether two sets of parameters describe the same pool."""


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
    """Start a thread pool; NULL on failure. Free with ``ggml_threadpool_free``.

    The CPU backend exports it. Where that is loaded at run time, take the address from
    ``ggml_backend_reg_get_proc_address(cpu, b"ggml_threadpool_new")`` and give it to
    ``at_address``; so for the other ``ggml_threadpool_`` functions as far as it has them.
    """


@c_function(
    "void ggml_threadpool_free(struct ggml_threadpool * threadpool)",
    argtypes=[ggml_threadpool_t],
    restype=None,
    optional=True,
    library="ggml",
)
def ggml_threadpool_free(threadpool: ggml_threadpool_t | None) -> None:
    """Stop the threads and free the pool; detach it from its contexts first."""


@c_function(
    "int ggml_threadpool_get_n_threads(struct ggml_threadpool * threadpool)",
    argtypes=[ggml_threadpool_t],
    restype=c_int,
    optional=True,
    library="ggml",
)
def ggml_threadpool_get_n_threads(threadpool: ggml_threadpool_t | None) -> int:
    """Return how many threads the pool has."""


@c_function(
    "void ggml_threadpool_pause(struct ggml_threadpool * threadpool)",
    argtypes=[ggml_threadpool_t],
    restype=None,
    optional=True,
    library="ggml",
)
def ggml_threadpool_pause(threadpool: ggml_threadpool_t | None) -> None:
    """Put the threads to sleep."""


@c_function(
    "void ggml_threadpool_resume(struct ggml_threadpool * threadpool)",
    argtypes=[ggml_threadpool_t],
    restype=None,
    optional=True,
    library="ggml",
)
def ggml_threadpool_resume(threadpool: ggml_threadpool_t | None) -> None:
    """Wake the threads."""


# -- ggml-backend.h ----------------------------------------------------------------


@c_function(
    "const char * ggml_backend_buft_name(ggml_backend_buffer_type_t buft)",
    argtypes=[ggml_backend_buffer_type_t],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_backend_buft_name(buft: ggml_backend_buffer_type_t | None) -> bytes | None:
    """Return the name of a buffer type; it lives as long as the device."""


@c_function(
    "const char * ggml_backend_name(ggml_backend_t backend)",
    argtypes=[ggml_backend_t],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_backend_name(backend: ggml_backend_t | None) -> bytes | None:
    """Return the name of a backend stream."""


@c_function(
    "void ggml_backend_free(ggml_backend_t backend)",
    argtypes=[ggml_backend_t],
    restype=None,
    library="ggml-base",
)
def ggml_backend_free(backend: ggml_backend_t | None) -> None:
    """Free a stream that ``ggml_backend_dev_init`` made."""


@c_function(
    "const char * ggml_backend_dev_name(ggml_backend_dev_t device)",
    argtypes=[ggml_backend_dev_t],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_backend_dev_name(device: ggml_backend_dev_t | None) -> bytes | None:
    """Return the device's name, such as ``CUDA0``; it lives as long as the device."""


@c_function(
    "const char * ggml_backend_dev_description(ggml_backend_dev_t device)",
    argtypes=[ggml_backend_dev_t],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_backend_dev_description(device: ggml_backend_dev_t | None) -> bytes | None:
    """Return what the device is, for people; it lives as long as the device."""


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
    """Write the free and total memory in bytes; both 0 when the device does not know."""


@c_function(
    "enum ggml_backend_dev_type ggml_backend_dev_type(ggml_backend_dev_t device)",
    argtypes=[ggml_backend_dev_t],
    restype=c_int,
    library="ggml-base",
)
def ggml_backend_dev_type(device: ggml_backend_dev_t | None) -> int:
    """Return the ``ggml_backend_dev_type`` of a device."""


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
    """Fill `props`; its strings live as long as the device."""


@c_function(
    "ggml_backend_reg_t ggml_backend_dev_backend_reg(ggml_backend_dev_t device)",
    argtypes=[ggml_backend_dev_t],
    restype=ggml_backend_reg_t,
    library="ggml-base",
)
def ggml_backend_dev_backend_reg(
    device: ggml_backend_dev_t | None,
) -> ggml_backend_reg_t:
    """Return the backend that owns the device."""


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
    """Open a stream on the device; NULL on failure. Free with ``ggml_backend_free``.

    `params` is normally NULL.
    """


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
    """Return the device's normal buffer type."""


@c_function(
    "const char * ggml_backend_reg_name(ggml_backend_reg_t reg)",
    argtypes=[ggml_backend_reg_t],
    restype=c_char_p,
    library="ggml-base",
)
def ggml_backend_reg_name(reg: ggml_backend_reg_t | None) -> bytes | None:
    """Return the backend's name, such as ``CUDA``."""


@c_function(
    "size_t ggml_backend_reg_dev_count(ggml_backend_reg_t reg)",
    argtypes=[ggml_backend_reg_t],
    restype=c_size_t,
    library="ggml-base",
)
def ggml_backend_reg_dev_count(reg: ggml_backend_reg_t | None) -> int:
    """Return how many devices the backend has."""


@c_function(
    "ggml_backend_dev_t ggml_backend_reg_dev_get(ggml_backend_reg_t reg, size_t index)",
    argtypes=[ggml_backend_reg_t, c_size_t],
    restype=ggml_backend_dev_t,
    library="ggml-base",
)
def ggml_backend_reg_dev_get(
    reg: ggml_backend_reg_t | None, index: int
) -> ggml_backend_dev_t:
    """Return a device by index; aborts the process when out of range."""


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
    """Return the address of a function that only the backend exports, or None."""


@c_function(
    "void ggml_backend_register(ggml_backend_reg_t reg)",
    argtypes=[ggml_backend_reg_t],
    restype=None,
    library="ggml",
)
def ggml_backend_register(reg: ggml_backend_reg_t | None) -> None:
    """Register a backend and its devices."""


@c_function(
    "void ggml_backend_device_register(ggml_backend_dev_t device)",
    argtypes=[ggml_backend_dev_t],
    restype=None,
    library="ggml",
)
def ggml_backend_device_register(device: ggml_backend_dev_t | None) -> None:
    """Register one device, such as a remote one."""


@c_function(
    "size_t ggml_backend_reg_count(void)",
    argtypes=[],
    restype=c_size_t,
    library="ggml",
)
def ggml_backend_reg_count() -> int:
    """Return how many backends are registered.

    A build with backends linked in registers them on the first call.
    """


@c_function(
    "ggml_backend_reg_t ggml_backend_reg_get(size_t index)",
    argtypes=[c_size_t],
    restype=ggml_backend_reg_t,
    library="ggml",
)
def ggml_backend_reg_get(index: int) -> ggml_backend_reg_t:
    """Return a backend by index; aborts the process when out of range."""


@c_function(
    "ggml_backend_reg_t ggml_backend_reg_by_name(const char * name)",
    argtypes=[c_char_p],
    restype=ggml_backend_reg_t,
    library="ggml",
)
def ggml_backend_reg_by_name(name: bytes | None) -> ggml_backend_reg_t:
    """Return a backend by name, ignoring case; NULL when there is none."""


@c_function(
    "size_t ggml_backend_dev_count(void)",
    argtypes=[],
    restype=c_size_t,
    library="ggml",
)
def ggml_backend_dev_count() -> int:
    """Return how many devices all backends have."""


@c_function(
    "ggml_backend_dev_t ggml_backend_dev_get(size_t index)",
    argtypes=[c_size_t],
    restype=ggml_backend_dev_t,
    library="ggml",
)
def ggml_backend_dev_get(index: int) -> ggml_backend_dev_t:
    """Return a device by index; aborts the process when out of range."""


@c_function(
    "ggml_backend_dev_t ggml_backend_dev_by_name(const char * name)",
    argtypes=[c_char_p],
    restype=ggml_backend_dev_t,
    library="ggml",
)
def ggml_backend_dev_by_name(name: bytes | None) -> ggml_backend_dev_t:
    """Return a device by name, ignoring case; NULL when there is none."""


@c_function(
    "ggml_backend_dev_t ggml_backend_dev_by_type(enum ggml_backend_dev_type type)",
    argtypes=[c_int],
    restype=ggml_backend_dev_t,
    library="ggml",
)
def ggml_backend_dev_by_type(type: int) -> ggml_backend_dev_t:
    """Return the first device of a ``ggml_backend_dev_type``; NULL when there is none."""


@c_function(
    "ggml_backend_reg_t ggml_backend_load(const char * path)",
    argtypes=[c_char_p],
    restype=ggml_backend_reg_t,
    library="ggml",
)
def ggml_backend_load(path: bytes | None) -> ggml_backend_reg_t:
    """Load a backend from a file and register it; NULL when it does not fit.

    A backend of another API version is refused with a log line.
    """


@c_function(
    "void ggml_backend_unload(ggml_backend_reg_t reg)",
    argtypes=[ggml_backend_reg_t],
    restype=None,
    library="ggml",
)
def ggml_backend_unload(reg: ggml_backend_reg_t | None) -> None:
    """Unregister a backend that ``ggml_backend_load`` loaded, and close its file.

    No model, context or buffer may still use it.
    """


@c_function(
    "void ggml_backend_load_all_from_path(const char * dir_path)",
    argtypes=[c_char_p],
    restype=None,
    library="ggml",
)
def ggml_backend_load_all_from_path(dir_path: bytes | None) -> None:
    """Load the best fitting file of every known backend in a directory.

    This, and never ``ggml_backend_load_all``, which also searches the directory of the
    executable and the working directory.
    """


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
    """Return the default optimiser parameters; ignores `userdata`."""


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
    """Return the parameters that `userdata` points to."""


# -- ggml-rpc.h --------------------------------------------------------------------


@c_function(
    "ggml_backend_t ggml_backend_rpc_init(const char * endpoint, uint32_t device)",
    argtypes=[c_char_p, c_uint32],
    restype=ggml_backend_t,
    optional=True,
    library="ggml",
)
def ggml_backend_rpc_init(endpoint: bytes | None, device: int) -> ggml_backend_t:
    """Open a stream on a device of a remote server, as ``host:port``; NULL on failure."""


@c_function(
    "bool ggml_backend_is_rpc(ggml_backend_t backend)",
    argtypes=[ggml_backend_t],
    restype=c_bool,
    optional=True,
    library="ggml",
)
def ggml_backend_is_rpc(backend: ggml_backend_t | None) -> bool:
    """Whether a stream runs on a remote server."""


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
    """Return the buffer type of a remote device; NULL when it cannot be reached."""


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
    """Write the free and total memory in bytes of a remote device."""


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
    """Serve devices to others; does not return while the server runs.

    There is no authentication: never listen on an open network.
    """


@c_function(
    "ggml_backend_reg_t ggml_backend_rpc_reg(void)",
    argtypes=[],
    restype=ggml_backend_reg_t,
    optional=True,
    library="ggml",
)
def ggml_backend_rpc_reg() -> ggml_backend_reg_t:
    """Return the RPC backend."""


@c_function(
    "ggml_backend_reg_t ggml_backend_rpc_add_server(const char * endpoint)",
    argtypes=[c_char_p],
    restype=ggml_backend_reg_t,
    optional=True,
    library="ggml",
)
def ggml_backend_rpc_add_server(endpoint: bytes | None) -> ggml_backend_reg_t:
    """Connect to a server and return a backend with its devices; NULL on failure.

    Register it with ``ggml_backend_register``. Where the RPC backend is loaded at run
    time, take the address from ``ggml_backend_reg_get_proc_address``.
    """
