"""Process scope: the native library's start and end, its devices, its threads.

Everything else in the object layer calls `start_backend()` by itself; call it first
only to choose the library.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import weakref
from _thread import allocate_lock
from collections.abc import Callable
from ctypes import byref, c_size_t
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llamactypes import _native_log
from llamactypes import bindings as C  # noqa: N812
from llamactypes.bindings import _backends, _loader
from llamactypes.errors import LibraryError

if TYPE_CHECKING:
    from llamactypes._handle import NativeObject

__all__ = (
    "Device",
    "acquire_backend",
    "backend_is_started",
    "build_info",
    "devices",
    "forget_at_exit",
    "free_backend",
    "release_backend",
    "start_backend",
    "stop_at_exit",
    "supports_gpu_offload",
    "system_info",
    "use_numa",
)

logger = logging.getLogger("llamactypes.objects")

_DEVICE_KINDS = {
    C.GGML_BACKEND_DEVICE_TYPE_CPU: "cpu",
    C.GGML_BACKEND_DEVICE_TYPE_GPU: "gpu",
    C.GGML_BACKEND_DEVICE_TYPE_IGPU: "igpu",
    C.GGML_BACKEND_DEVICE_TYPE_ACCEL: "accel",
}


_NUMA = {
    "distribute": C.GGML_NUMA_STRATEGY_DISTRIBUTE,
    "isolate": C.GGML_NUMA_STRATEGY_ISOLATE,
    "numactl": C.GGML_NUMA_STRATEGY_NUMACTL,
}


class _State:
    """What this process has started; the lock makes one start at a time."""

    def __init__(self) -> None:
        self.lock = allocate_lock()
        self.is_started = False
        self.has_backends = False
        self.numa: str | None = None
        self.n_users = 0
        self.models: weakref.WeakSet[NativeObject[Any]] = weakref.WeakSet()
        self.stoppers: list[Callable[[], bool]] = []
        """What ends the threads that use them."""


_state = _State()


@dataclass(frozen=True, slots=True)
class Device:
    """A device that can hold or compute a model."""

    name: str
    description: str
    kind: str
    """"cpu", "gpu", "igpu", "accel" or "other"."""
    memory_free_bytes: int
    memory_total_bytes: int


def start_backend(library: str | None = None) -> None:
    """Load the native library and start it; a second call does nothing.

    Native log lines go to ``logging.getLogger("llamactypes.native")`` from here on.

    Args:
        library: A file or folder to load instead of searching (see `bindings`).

    Raises:
        LibraryError: No usable library, or another one is already loaded.
    """
    with _state.lock:
        if _state.is_started and library is None:
            return
        loaded = _loader.load(library)
        if _state.is_started:
            return
        _native_log.install()
        if not _state.has_backends:
            _load_backends(loaded)
        C.llama_backend_init()
        _state.is_started = True


def _load_backends(loaded: _loader.LoadedLibrary) -> None:
    _backends.load_backends(loaded)
    _state.has_backends = True
    # What is registered last runs first: threads have to end before anything they use
    # is freed, by us or by the finalisers of objects that nobody closed.
    weakref.finalize(_state, _no_finalizer).detach()
    atexit.register(_at_exit)


def _no_finalizer() -> None:
    """Do nothing; the first finaliser of a process registers the end of them all."""


def stop_at_exit(stop: Callable[[], bool]) -> None:
    """Call `stop` when the interpreter ends, before anything of the library is freed.

    It returns whether its thread has ended. Where it has not, the process ends at once:
    what the thread uses cannot be freed.
    """
    _state.stoppers.append(stop)


def forget_at_exit(stop: Callable[[], bool]) -> None:
    """Forget what `stop_at_exit` was told. Idempotent."""
    with contextlib.suppress(ValueError):
        _state.stoppers.remove(stop)


def use_numa(strategy: str) -> None:
    """Place compute threads on NUMA nodes from now on; once in a process.

    Args:
        strategy: "distribute" over all nodes, "isolate" on the current one, or as
            "numactl" says. On a machine with one node nothing changes.

    Raises:
        LibraryError: There is no such strategy, or another one was chosen before.

    C: llama.h `llama_numa_init`.
    """
    if strategy not in _NUMA:
        known = ", ".join(_NUMA)
        raise LibraryError(f"NUMA strategy {strategy!r} is unknown; use {known}")
    start_backend()
    with _state.lock:
        if _state.numa not in (None, strategy):
            raise LibraryError(
                f"NUMA strategy {strategy} cannot follow {_state.numa}: the library "
                "takes one in a process"
            )
        if _state.numa is None:
            C.llama_numa_init(_NUMA[strategy])
            _state.numa = strategy


def free_backend() -> None:
    """Close every live model and its contexts, then release the backend.

    Idempotent; `start_backend` may follow. Nothing may be using a context meanwhile.
    """
    with _state.lock:
        if not _state.is_started:
            return
        _state.is_started = False
    for model in tuple(_state.models):
        model.close()
    C.llama_backend_free()
    logger.info("backend freed")


def acquire_backend(library: str | None = None) -> None:
    """Start the backend and count the caller as a user; see `release_backend`.

    Raises:
        LibraryError: As `start_backend`.
    """
    start_backend(library)
    with _state.lock:
        _state.n_users += 1


def release_backend() -> None:
    """End one `acquire_backend`; the last one frees the backend.

    Models that others opened and still use keep it alive: `free_backend` would close
    them.
    """
    with _state.lock:
        _state.n_users -= 1
        is_in_use = _state.n_users > 0
    if not is_in_use and not any(not model.closed for model in tuple(_state.models)):
        free_backend()


def backend_is_started() -> bool:
    """Whether the native library is loaded and started."""
    return _state.is_started


def devices() -> tuple[Device, ...]:
    """Return the devices of every loaded backend; memory figures are of this moment."""
    start_backend()
    count = C.ggml_backend_dev_count()
    return tuple(_describe(C.ggml_backend_dev_get(index)) for index in range(count))


def supports_gpu_offload() -> bool:
    """Whether a loaded backend can take layers of a model."""
    start_backend()
    return bool(C.llama_supports_gpu_offload())


def system_info() -> str:
    """Return the library's own line on CPU features and backends."""
    start_backend()
    text: bytes | None = C.llama_print_system_info()
    return (text or b"").decode("utf-8", "replace").strip()


def build_info() -> str:
    """Return the library's build as llama-server spells it: ``b<number>-<commit>``.

    No function of the library reports the number: it comes from the ``build_info.json``
    that our build scripts leave beside it; 0 stands for an unknown one.
    """
    start_backend()
    loaded = _loader.load()
    commit = loaded.ggml_commit or "unknown"
    if commit.removeprefix("b").isdigit():
        return commit
    return f"{_build_name(loaded) or 'b0'}-{commit}"


def _build_name(loaded: _loader.LoadedLibrary) -> str:
    try:
        text = (loaded.directory / "build_info.json").read_text(encoding="utf-8")
        build = json.loads(text)["build"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return str(build)


def register_model(model: NativeObject[Any]) -> None:
    """Let `free_backend` know of a live model (held weakly)."""
    _state.models.add(model)


def _describe(device: C.ggml_backend_dev_t) -> Device:
    free, total = c_size_t(), c_size_t()
    C.ggml_backend_dev_memory(device, byref(free), byref(total))
    return Device(
        name=(C.ggml_backend_dev_name(device) or b"").decode("utf-8", "replace"),
        description=(C.ggml_backend_dev_description(device) or b"").decode(
            "utf-8", "replace"
        ),
        kind=_DEVICE_KINDS.get(C.ggml_backend_dev_type(device), "other"),
        memory_free_bytes=free.value,
        memory_total_bytes=total.value,
    )


def _at_exit() -> None:
    ended = [stop() for stop in tuple(_state.stoppers)]
    if not all(ended):
        logger.error("a thread is stuck inside the library: ending without it")
        logging.shutdown()
        os._exit(1)
    free_backend()
    # Destructors of the library run after Python is gone and may still log.
    _native_log.silence()
