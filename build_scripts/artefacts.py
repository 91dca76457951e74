"""Put the built libraries into place, with what is known about them."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from configuration import PEERS
from elf import highest, needs_of
from pin import BuildError
from toolchain import find_tool, output_of

__all__ = (
    "build_info",
    "collect_libraries",
    "describe_file",
    "install_name",
    "install_peers",
    "place",
    "write_build_info",
)

BUILD_INFO = "build_info.json"
LLAMA_LICENCE = "LICENSE.llama.cpp"
OPENMP_LICENCE = "LICENSE.libgomp"

OPENMP_NOTICE = """\
libgomp.so.1 in this folder is the OpenMP runtime of the GNU Compiler Collection,
copied unchanged from the machine that built these libraries, whose compiler is
  {compiler}
It is licensed under the GNU General Public License, version 3 or later, with the GCC
Runtime Library Exception, version 3.1 (gnu.org/licenses/gcc-exception-3.1.html).
Its source is part of GCC (gcc.gnu.org). Deleting the file makes the libraries use the
libgomp that the system has.
"""


def install_name(library: Path) -> str:
    """Return the file name under which other libraries ask for this one."""
    if platform.system() == "Linux":
        return needs_of(library).soname
    listed = output_of(find_tool("otool") or "otool", "-D", str(library)).split()
    return Path(listed[-1]).name if len(listed) > 1 else library.name


def collect_libraries(folder: Path, patterns: Iterable[str]) -> dict[str, Path]:
    """Return name to file of the built libraries: each once, under its install name.

    Raises:
        BuildError: The folder has none.
    """
    found = {
        install_name(path): path
        for pattern in patterns
        for path in sorted(folder.glob(pattern))
        if not path.is_symlink() and path.is_file()
    }
    if not found:
        raise BuildError(f"the build left no libraries in {folder}; try --clean")
    return found


def place(
    libraries: Mapping[str, Path],
    output: Path,
    *,
    licence: Path,
    compiler: str,
) -> dict[str, Path]:
    """Copy the libraries and the licences to `output`, replacing an older result.

    A running process keeps what it has loaded: files are replaced, not rewritten.

    Returns:
        Name to path of every library that is now in `output`.
    """
    output.mkdir(parents=True, exist_ok=True)
    files = dict(libraries)
    if runtime := _openmp_runtime(libraries.values()):
        files[runtime.name] = runtime
    _remove_older(output)
    with tempfile.TemporaryDirectory(dir=output) as scratch:
        for name, path in files.items():
            copy = Path(scratch) / name
            shutil.copyfile(path, copy)
            copy.chmod(0o755)
            if path != runtime:
                _strip(copy)
            os.replace(copy, output / name)
    shutil.copyfile(licence, output / LLAMA_LICENCE)
    if runtime:
        notice = OPENMP_NOTICE.format(compiler=compiler)
        (output / OPENMP_LICENCE).write_text(notice, encoding="utf-8")
    return {name: output / name for name in sorted(files)}


def build_info(
    facts: Mapping[str, Any],
    libraries: Mapping[str, Path],
    now: datetime.datetime,
) -> dict[str, Any]:
    """Return the content of build_info.json.

    Args:
        facts: What the build script knows: build, source, flags, compiler, ...
        libraries: Name to path of each file of the result.
        now: When the build ended, with a time zone.
    """
    linux = platform.system() == "Linux"
    needs = [needs_of(path) for path in libraries.values()] if linux else []
    return {
        **facts,
        "date": now.astimezone(datetime.UTC).isoformat(timespec="seconds"),
        "platform": f"{platform.system()} {platform.machine()}",
        "glibc": highest(each.glibc for each in needs if each.glibc),
        "glibcxx": highest(each.glibcxx for each in needs if each.glibcxx),
        "files": {name: describe_file(path) for name, path in libraries.items()},
    }


def write_build_info(info: Mapping[str, Any], output: Path) -> Path:
    """Write build_info.json beside the libraries."""
    path = output / BUILD_INFO
    path.write_text(json.dumps(info, indent=2) + "\n", encoding="utf-8")
    return path


def install_peers(built: Path, folder: Path) -> tuple[Path, ...]:
    """Copy the benchmark programs and all they load into `folder`/bin.

    ggml looks for its backends beside the program, so everything shares one folder.
    """
    target = folder / "bin"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name, path in collect_libraries(built, ("lib*.so*", "lib*.dylib")).items():
        shutil.copy2(path, target / name)
    for name in PEERS:
        shutil.copy2(built / name, target / name)
    return tuple(target / name for name in PEERS)


def _remove_older(output: Path) -> None:
    """Delete an earlier result: a backend that is no longer built must not stay."""
    for pattern in ("lib*.so*", "lib*.dylib", BUILD_INFO, "LICENSE.*"):
        for path in output.glob(pattern):
            path.unlink()


def _openmp_runtime(libraries: Iterable[Path]) -> Path | None:
    """Return the compiler's libgomp if the build needs it: slim machines have none."""
    if platform.system() != "Linux":
        return None
    needed = {name for path in libraries for name in needs_of(path).libraries}
    if "libgomp.so.1" not in needed:
        return None
    compiler = os.environ.get("CC") or find_tool("cc") or find_tool("gcc") or "cc"
    found = output_of(compiler, "-print-file-name=libgomp.so.1").strip()
    return Path(found) if Path(found).is_absolute() else None


def _strip(library: Path) -> None:
    """Drop the local symbols; the exported ones stay."""
    strip: Sequence[str] = ()
    if (tool := find_tool("strip")) and platform.system() == "Linux":
        strip = (tool, "--strip-unneeded", str(library))
    if strip and subprocess.run(strip, check=False).returncode:
        raise BuildError(f"strip failed on {library}")


def describe_file(path: Path) -> dict[str, Any]:
    """Return a file's checksum and size, as build_info.json records them."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"sha256": digest, "size_bytes": path.stat().st_size}
