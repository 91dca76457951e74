"""Load ggml's loadable backends (CPU variants, CUDA, Vulkan …) from known folders only.

``ggml_backend_load_all()`` is never called: it searches the Python executable's folder
and the working directory.
"""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from llamactypes.bindings import ggml
from llamactypes.bindings._candidates import package_folders
from llamactypes.bindings._loader import LoadedLibrary, backend_files
from llamactypes.bindings._open import explain, missing_dependency, open_file
from llamactypes.errors import LibraryError

__all__ = ("SkippedBackend", "load_backends", "skipped_backends")

_logger = logging.getLogger("llamactypes.bindings")
_DRIVER = "libcuda.so.1"
_REGISTERED_AS = {"hip": "rocm", "metal": "mtl"}  # file's kind → registered name


@dataclass(frozen=True, slots=True)
class SkippedBackend:
    """A backend file that lies beside the library and is not in use."""

    file: Path
    reason: str


def load_backends(library: LoadedLibrary) -> None:
    """Register the backends of `library`; nothing to do where they are linked in.

    Call it after the log callback is set: ggml logs while it loads. Idempotent.

    Raises:
        LibraryError: No device is available afterwards, not even a CPU.
    """
    if ggml.ggml_backend_reg_count() == 0:
        for directory in library.backend_directories:
            prepare_cuda(directory)
            ggml.ggml_backend_load_all_from_path(os.fsencode(directory))
        for skipped in skipped_backends(library):
            quiet = "vulkan" in skipped.file.name
            level = logging.DEBUG if quiet else logging.INFO
            _logger.log(level, "backend skipped: %s", skipped.reason)
    if ggml.ggml_backend_dev_count() == 0:
        raise LibraryError(_no_device(library))


def skipped_backends(library: LoadedLibrary) -> tuple[SkippedBackend, ...]:
    """Return the backend files that gave no backend, each with its reason."""
    registered = _registered_kinds()
    return tuple(
        SkippedBackend(file, why_skipped(file))
        for directory in library.backend_directories
        for file in backend_files(directory)
        if _kind(file) not in registered
    )


def _kind(file: Path) -> str:
    """Return "cpu" for libggml-cpu-haswell.so, "cuda" for libggml-cuda.so."""
    kind = file.stem.removeprefix("lib").removeprefix("ggml-").partition("-")[0]
    return _REGISTERED_AS.get(kind, kind)


def _registered_kinds() -> set[str]:
    kinds = set()
    for index in range(ggml.ggml_backend_reg_count()):
        name = ggml.ggml_backend_reg_name(ggml.ggml_backend_reg_get(index))
        kinds.add((name or b"").decode().lower())
    return kinds


def why_skipped(file: Path) -> str:
    """Return why the backend in `file` is not in use; it may be opened to tell."""
    if _kind(file) == "cuda" and not opens(_DRIVER):
        return f"{file.name}: no NVIDIA driver on this machine ({_DRIVER} not found)"
    try:
        handle = open_file(str(file))
    except LibraryError as error:
        return str(error)
    init = getattr(handle, "ggml_backend_init", None)
    if init is None:
        return f"{file}: not a backend (it exports no ggml_backend_init)"
    init.restype = ctypes.POINTER(ctypes.c_int)
    registration = init()
    if not registration:
        return f"{file}: it found no device on this machine"
    found, expected = registration[0], _api_version()
    if expected is not None and found != expected:
        return f"{file}: backend API {found}, this library has {expected}"
    return f"{file}: refused by ggml, see the log"


def _api_version() -> int | None:
    """Return the backend API version of the first registered backend."""
    if ggml.ggml_backend_reg_count() == 0:
        return None
    first = ctypes.cast(ggml.ggml_backend_reg_get(0), ctypes.POINTER(ctypes.c_int))
    return int(first[0])


def prepare_cuda(directory: Path) -> None:
    """Open the CUDA runtime out of NVIDIA's wheels, where the loader does not look.

    Without a driver nothing is opened: cuBLAS alone has half a gigabyte.
    """
    for file in backend_files(directory):
        if _kind(file) != "cuda" or not opens(_DRIVER):
            continue
        try:
            _open_with_wheels(str(file))
        except LibraryError as error:
            _logger.warning(
                "the CUDA backend cannot be loaded: %s. The CUDA runtime is in "
                "pip install nvidia-cuda-runtime nvidia-cublas",
                error,
            )


def _open_with_wheels(name: str) -> None:
    tried: set[str] = set()
    while True:
        try:
            ctypes.CDLL(name)
            return
        except OSError as error:
            missing = missing_dependency(str(error))
            file = _find_in_wheels(missing) if missing else None
            if file is None or file.name in tried:
                raise LibraryError(explain(str(error), name)) from error
            tried.add(file.name)
            open_file(str(file), ctypes.RTLD_GLOBAL)


def _find_in_wheels(name: str) -> Path | None:
    """Find `name` in nvidia/cu13/lib, nvidia/cublas/lib … or in a CUDA toolkit."""
    roots = [(folder, f"*/lib/{name}") for folder in package_folders("nvidia")]
    roots.append((Path("/usr/local"), f"cuda*/lib64/{name}"))
    found = (file for root, pattern in roots for file in root.glob(pattern))
    return next(found, None)


def opens(soname: str) -> bool:
    """Whether the system's loader can open `soname`; the library stays open."""
    if not sys.platform.startswith("linux"):
        return True  # only Linux names the driver's library so
    try:
        ctypes.CDLL(soname)
    except OSError:
        return False
    return True


def _no_device(library: LoadedLibrary) -> str:
    reasons = [skipped.reason for skipped in skipped_backends(library)]
    if not reasons:
        reasons = [f"no libggml-*.so beside {library.path}, nor in ../bin"]
    return f"{library.path} has no usable ggml backend: {'; '.join(reasons)}"
