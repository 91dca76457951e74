"""Find compilers and build tools, and say how to get the one that is missing."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pin import BuildError

__all__ = (
    "Toolchain",
    "find_tool",
    "find_toolchain",
    "measure_abi",
    "output_of",
    "system_name",
)

CMAKE_FLOOR = (3, 18)
"""What llama.cpp's CUDA part asks for; the rest would take 3.14."""

COMPILER_FIX = (
    "  Debian, Ubuntu: sudo apt install build-essential\n"
    "  Fedora, RHEL:   sudo dnf install gcc gcc-c++\n"
    "  macOS:          xcode-select --install\n"
    "  Another one:    set CC and CXX"
)
PIP_TOOLS_FIX = f"  Any system: {sys.executable} -m pip install cmake ninja"

ABI_PROGRAM = """\
#include <stdio.h>
#include "llama.h"
int main(void) { printf("%zu", sizeof(struct llama_context_params)); return 0; }
"""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The tools of one build, each as an absolute path."""

    c_compiler: str
    cxx_compiler: str
    compiler_version: str
    cmake: str
    cmake_version: str
    generator: str
    """CMake's name: `Ninja` or `Unix Makefiles`."""


def find_tool(name: str) -> str | None:
    """Return a program's path: on PATH, or beside this Python, where pip puts it."""
    beside = Path(sys.executable).parent / name
    found = shutil.which(name)
    if found is None and os.access(beside, os.X_OK):
        found = str(beside)
    return found


def output_of(*command: str) -> str:
    """Return what `command` prints, both streams together; empty when it fails."""
    try:
        done = subprocess.run(
            command,
            check=False,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C"},
        )
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def find_toolchain(find: Callable[[str], str | None] = find_tool) -> Toolchain:
    """Return the compilers, cmake and the generator.

    Args:
        find: Looks a program up by its name.

    Raises:
        BuildError: One is missing or too old; the message has the fixing command.
    """
    c_compiler = _compiler(find, "CC", ("cc", "gcc", "clang"), "C")
    cxx_compiler = _compiler(find, "CXX", ("c++", "g++", "clang++"), "C++")
    cmake, cmake_version = _cmake(find)
    if find("ninja"):
        generator = "Ninja"
    elif find("make"):
        generator = "Unix Makefiles"
    else:
        raise BuildError(f"neither ninja nor make is installed.\n{PIP_TOOLS_FIX}")
    version = output_of(c_compiler, "--version").partition("\n")[0]
    return Toolchain(c_compiler, cxx_compiler, version, cmake, cmake_version, generator)


def measure_abi(source: Path, c_compiler: str) -> str:
    """Return the size of llama_context_params, compiled from the headers in `source`.

    This number is what the bindings call the ABI.

    Raises:
        BuildError: The headers do not compile.
    """
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "abi"
        text = program.with_suffix(".c")
        text.write_text(ABI_PROGRAM, encoding="utf-8")
        includes = [f"-I{source / 'include'}", f"-I{source / 'ggml' / 'include'}"]
        command = [c_compiler, *includes, str(text), "-o", str(program)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise BuildError(f"llama.h of {source} does not compile:\n{done.stderr}")
        return output_of(str(program))


def _compiler(
    find: Callable[[str], str | None],
    variable: str,
    names: Sequence[str],
    language: str,
) -> str:
    wanted = os.environ.get(variable)
    for name in (wanted,) if wanted else names:
        if found := find(name):
            return found
    asked = f"{variable}={wanted}" if wanted else ", ".join(names)
    raise BuildError(f"no {language} compiler found ({asked}).\n{COMPILER_FIX}")


def _cmake(find: Callable[[str], str | None]) -> tuple[str, str]:
    cmake = find("cmake")
    if cmake is None:
        raise BuildError(f"cmake is not installed.\n{PIP_TOOLS_FIX}")
    match = re.search(r"cmake version (\d+)\.(\d+)(\S*)", output_of(cmake, "--version"))
    if match is None:
        raise BuildError(f"{cmake} --version says no version.\n{PIP_TOOLS_FIX}")
    version = f"{match[1]}.{match[2]}{match[3]}"
    if (int(match[1]), int(match[2])) < CMAKE_FLOOR:
        floor = ".".join(map(str, CMAKE_FLOOR))
        raise BuildError(
            f"cmake {version} is too old: {floor} is the least.\n{PIP_TOOLS_FIX}"
        )
    return cmake, version


def system_name() -> str:
    """Return the operating system as CMake names it: Linux, Darwin, Windows."""
    return platform.system()
