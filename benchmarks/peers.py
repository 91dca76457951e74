"""Finds the programs that ours is compared with, and says how to get the others.

Ours runs on each peer's own library, so that what is compared is the server.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.raw_decode import RawDecode
from benchmarks.servers import (
    Server,
    Shape,
    llama_cpp_python,
    llama_server,
    xllamacpp,
)

__all__ = ("PEERS", "Contender", "Missing", "Peer", "Places", "find_peers")

Contender = Server | RawDecode
PEERS = ("llama-server", "llama-batched-bench", "xllamacpp", "llama-cpp-python")

_BUILD = (
    "python build_scripts/build_libllama.py --backend cpu --with-peers, or --peers DIR"
)
_XLLAMACPP = "pip install xllamacpp, or --xllamacpp-python PYTHON that has it"
_LLAMA_CPP_PYTHON = (
    "pip install 'llama-cpp-python[server]' (compiles for about 20 minutes), best in a "
    "virtual environment of its own, and --llama-cpp-python PYTHON of that"
)
_UNKNOWN = "of an unknown build"
_LOOK = """
import importlib.metadata, importlib.util, json, sys
package, distribution, needed = sys.argv[1:4]
spec = importlib.util.find_spec(package)
missing = [name for name in needed.split() if not importlib.util.find_spec(name)]
if spec and spec.origin and not missing:
    version = importlib.metadata.version(distribution)
    print(json.dumps({"file": spec.origin, "version": version}))
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """A program that is here."""

    name: str
    library: Path
    """File or folder of the library that it runs on; ours then runs on it, too."""
    version: str
    make: Callable[[Shape], Contender]
    is_llama_server: bool = False
    """It is llama-server, or has it inside: the same targets hold."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A program that is not here."""

    name: str
    how_to_get: str


@dataclass(frozen=True, slots=True)
class Places:
    """Where to look."""

    binaries: Path
    """Folder with llama-server, llama-batched-bench and their library."""
    xllamacpp_python: Path = Path(sys.executable)
    llama_cpp_python: Path = Path(sys.executable)


def find_peers(
    places: Places, names: tuple[str, ...] = PEERS
) -> tuple[list[Peer], list[Missing]]:
    """Return those of `names` that are here, and those that are not."""
    finders = {
        "llama-server": lambda: _find_llama_server(places.binaries),
        "llama-batched-bench": lambda: _find_batched_bench(places.binaries),
        "xllamacpp": lambda: _find_xllamacpp(places.xllamacpp_python),
        "llama-cpp-python": lambda: _find_llama_cpp_python(places.llama_cpp_python),
    }
    found = [finders[name]() for name in names]
    return (
        [one for one in found if isinstance(one, Peer)],
        [one for one in found if isinstance(one, Missing)],
    )


def _find_llama_server(folder: Path) -> Peer | Missing:
    binary = (folder / "llama-server").absolute()
    if not binary.is_file():
        return Missing("llama-server", _BUILD)
    return Peer(
        "llama-server",
        binary.parent,
        _build(binary),
        lambda shape: llama_server(shape, binary),
        is_llama_server=True,
    )


def _find_batched_bench(folder: Path) -> Peer | Missing:
    binary = (folder / "llama-batched-bench").absolute()
    if not binary.is_file():
        return Missing("llama-batched-bench", _BUILD)
    return Peer(
        "llama-batched-bench",
        binary.parent,
        _build(binary),
        lambda shape: RawDecode(shape, binary),
    )


def _find_xllamacpp(python: Path) -> Peer | Missing:
    package = _look(python, "xllamacpp", "xllamacpp")
    if package is None:
        return Missing("xllamacpp", _XLLAMACPP)
    (library, *_) = sorted(Path(package["file"]).parent.glob("xllamacpp.*.so"))
    return Peer(
        "xllamacpp",
        library,
        package["version"],
        lambda shape: xllamacpp(shape, python),
        is_llama_server=True,
    )


def _find_llama_cpp_python(python: Path) -> Peer | Missing:
    needed = "fastapi uvicorn starlette_context sse_starlette pydantic_settings"
    package = _look(python, "llama_cpp", "llama_cpp_python", needed)
    if package is None:
        return Missing("llama-cpp-python", _LLAMA_CPP_PYTHON)
    return Peer(
        "llama-cpp-python",
        Path(package["file"]).parent / "lib",
        package["version"],
        lambda shape: llama_cpp_python(shape, python),
    )


def _build(binary: Path) -> str:
    """Return the build that a program of llama.cpp names itself."""
    try:
        done = subprocess.run(
            [str(binary), "--version"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return _UNKNOWN  # what is wrong with it shows when it is started
    lines = (done.stderr + done.stdout).splitlines()
    named = [one for one in lines if one.startswith("version: ")]
    return named[0].removeprefix("version: ") if named else _UNKNOWN


def _look(
    python: Path, package: str, distribution: str, needed: str = ""
) -> dict[str, Any] | None:
    """Ask another interpreter for a package's file and version, without importing."""
    command = [str(python), "-c", _LOOK, package, distribution, needed]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise RuntimeError(f"{python} cannot be asked for {package}: {error}") from None
    facts: dict[str, Any] | None = (
        json.loads(done.stdout) if done.stdout.strip() else None
    )
    return facts
