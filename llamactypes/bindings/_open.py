"""dlopen a libllama with its neighbours, and say plainly why it cannot be done."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llamactypes.errors import LibraryError, LibraryNotFound

_MISSING = re.compile(r"(?:^|: )([^\s:/]+\.so[^\s:]*): cannot open shared object file")
_VERSION = re.compile(r"version [`']?([A-Z]+)_([\d.]+)'? not found")
_UNDEFINED = re.compile(r"undefined symbol: (\S+)")
_MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
_NEIGHBOURS = ("mtmd", "ggml", "ggml-base")


@dataclass(frozen=True, slots=True)
class OpenLibrary:
    """The open files of one llama.cpp build; symbols are looked up in this order."""

    path: Path
    handles: tuple[ctypes.CDLL, ...]
    notes: tuple[str, ...]

    def symbol(self, name: str) -> Any | None:
        """Return the function `name` (a shared ctypes object), None when absent."""
        for handle in self.handles:
            try:
                return getattr(handle, name)
            except AttributeError:
                continue
        return None


def open_library(name: str) -> OpenLibrary:
    """Open the library at path (or soname) `name` and its neighbours.

    RTLD_LOCAL: two llama.cpp builds in one process must not see each other's symbols.

    Raises:
        LibraryNotFound: The system's loader knows no such soname.
        LibraryError: It cannot be opened; the message says what is missing.
    """
    if os.path.isabs(name):
        check_file(Path(name))
    main = open_file(name)
    path = _path_of(main, name)
    handles, notes = [main], []
    for stem in _NEIGHBOURS:
        for neighbour in _spellings(path, stem):
            try:
                handles.append(open_file(str(neighbour)))
                break
            except LibraryError as error:
                notes.append(str(error))
    library = OpenLibrary(path, tuple(handles), tuple(notes))
    _refuse_mixed_builds(library)
    return library


def check_file(path: Path) -> None:
    """Refuse what is no library for this machine, by its ELF header (Linux only).

    The loader's own words for a wrong machine are "No such file or directory".
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        with path.open("rb") as file:
            head = file.read(20)
    except OSError as error:
        raise LibraryError(f"{path}: {error.strerror}") from error
    if len(head) < 20 or head[:4] != b"\x7fELF":
        raise LibraryError(f"{path} is not an ELF library")
    order = "<" if head[5] == 1 else ">"
    machine = struct.unpack_from(order + "H", head, 18)[0]
    found = _MACHINES.get(machine, f"ELF machine {machine}")
    here = platform.machine()
    if here in _MACHINES.values() and found != here:
        raise LibraryError(f"{path} is built for {found}; this machine is {here}")


def explain(text: str, path: str) -> str:
    """Turn the loader's words into what is wrong with `path` and what to do."""
    if version := _VERSION.search(text):
        return f"{path}: {_explain_version(*version.groups())}"
    if missing := missing_dependency(text):
        return f"{path}: {_explain_missing(missing)}"
    if undefined := _UNDEFINED.search(text):
        return (
            f"{path}: undefined symbol {undefined.group(1)}: the file expects to be "
            "loaded by another program or beside libraries of its own build"
        )
    if "invalid ELF header" in text or "file too short" in text:
        return f"{path} is not an ELF library"
    return f"{path}: {text}"


def glibc_version() -> str:
    """Return the C library's version ("2.36"), empty where there is no glibc."""
    try:
        text = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, ValueError, OSError):
        return ""
    return text.removeprefix("glibc ").strip()


def _explain_version(family: str, version: str) -> str:
    if family == "GLIBC":
        return (
            f"needs glibc {version}; this system has {glibc_version() or 'another'} "
            "(use a build made for an older system)"
        )
    return f"needs {family}_{version}, newer than this system's C++ runtime"


def _explain_missing(dependency: str) -> str:
    if dependency.startswith("libgomp"):
        return (
            f"needs {dependency} (GNU OpenMP), which is not installed: apt install "
            "libgomp1, dnf install libgomp, apk add libgomp; or "
            'pip install "llamactypes[cpu]", which brings its own'
        )
    return f"needs {dependency}, which is not installed"


def missing_dependency(text: str) -> str | None:
    """Return the library that the loader says it did not find."""
    missing = _MISSING.search(text)
    return missing.group(1) if missing else None


def open_file(name: str, mode: int = ctypes.DEFAULT_MODE) -> ctypes.CDLL:
    """Open `name`; what it needs and lies beside it is opened first.

    The loader finds an already opened dependency by its soname, so that no rpath and
    no RTLD_GLOBAL is needed.

    Raises:
        LibraryNotFound: `name` is a soname unknown to the loader.
        LibraryError: It cannot be opened; the message says what is missing.
    """
    folder = Path(name).parent if os.path.isabs(name) else None
    opened: set[str] = set()
    while True:
        try:
            return ctypes.CDLL(name, mode)
        except OSError as error:
            missing = missing_dependency(str(error))
            if missing == name:
                raise LibraryNotFound(f"{name} is not installed") from error
            beside = folder / missing if folder and missing else None
            if beside is None or beside.name in opened or not beside.exists():
                raise LibraryError(explain(str(error), name)) from error
            opened.add(beside.name)
            open_file(str(beside), mode)


def _spellings(path: Path, stem: str) -> list[Path]:
    """Return the files of library `stem` beside `path`, the shortest name first."""
    pattern = re.compile(
        rf"lib{stem}(\.v?\d[\d.]*)?\.so(\.\d+)*|lib{stem}(\.\d+)*\.dylib|(lib)?{stem}\.dll"
    )
    try:
        names = [e for e in path.parent.iterdir() if pattern.fullmatch(e.name)]
    except OSError:
        return []
    return sorted(names, key=lambda entry: (len(entry.name), entry.name))


class _DlInfo(ctypes.Structure):
    __slots__ = ()
    _fields_ = (
        ("dli_fname", ctypes.c_char_p),
        ("dli_fbase", ctypes.c_void_p),
        ("dli_sname", ctypes.c_char_p),
        ("dli_saddr", ctypes.c_void_p),
    )


def file_of(function: Any) -> Path | None:
    """Return the file that `function` was loaded from; None where nobody can tell."""
    if sys.platform == "win32":
        return None
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes = (ctypes.c_void_p, ctypes.POINTER(_DlInfo))
    dladdr.restype = ctypes.c_int
    info = _DlInfo()
    address = ctypes.cast(function, ctypes.c_void_p)
    if not dladdr(address, ctypes.byref(info)) or not info.dli_fname:
        return None
    return Path(os.fsdecode(info.dli_fname))


def _path_of(handle: ctypes.CDLL, name: str) -> Path:
    if os.path.isabs(name):
        return Path(name)
    function = getattr(handle, "llama_backend_init", None)
    return (file_of(function) if function else None) or Path(name)


def _refuse_mixed_builds(library: OpenLibrary) -> None:
    """Refuse a libllama that the loader tied to another build's libggml.

    It happens when another package has loaded its own llama.cpp: sonames are equal.
    """
    function = library.symbol("ggml_time_us")
    file = file_of(function) if function else None
    if file is None or not library.path.is_absolute():
        return
    is_split = _spellings(library.path, "ggml-base") or _spellings(library.path, "ggml")
    if is_split and file.resolve().parent != library.path.resolve().parent:
        raise LibraryError(
            f"{library.path} was tied to {file}, which this process had loaded "
            "before: load llamactypes first, or use that build for both"
        )
