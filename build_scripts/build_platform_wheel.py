#!/usr/bin/env python3
"""Make a wheel with the native library inside: pip installs it and nothing else.

The library comes from llamactypes/lib/, where build_libllama.py puts it, or from
another folder. The platform tag is the oldest glibc that the files really work with.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from artefacts import describe_file
from elf import Needs, highest, needs_of
from pin import BuildError, repository_root
from platform_wheel import (
    add_library,
    build_tag,
    facts_line,
    platform_tag,
    require_self_contained,
    wheel_file_name,
)

__all__ = ("main", "make_wheel")

PROJECT_FILES = ("pyproject.toml", "README.md", "LICENSE")
PACKAGES = ("llamactypes", "api")
NOT_PACKAGED = shutil.ignore_patterns(
    "__pycache__", "lib*.so*", "lib*.dylib", "build_info.json", "LICENSE.*"
)


def main(arguments: list[str] | None = None) -> int:
    """Make the wheel and print its path."""
    summary = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(description=summary)
    default_library = repository_root() / "llamactypes" / "lib"
    parser.add_argument(
        "--library",
        metavar="DIR",
        default=str(default_library),
        help="a finished build; default: llamactypes/lib",
    )
    default_output = repository_root() / "dist"
    parser.add_argument(
        "--output",
        metavar="DIR",
        default=str(default_output),
        help="where the wheel goes; default: dist",
    )
    options = parser.parse_args(arguments)
    try:
        print(make_wheel(Path(options.library), Path(options.output)))
    except BuildError as error:
        print(f"build_platform_wheel: {error}", file=sys.stderr)
        return 1
    return 0


def make_wheel(library: Path, output: Path) -> Path:
    """Return the path of a wheel that carries the files of `library`.

    Raises:
        BuildError: The folder holds no finished build, its files do not match
            build_info.json or need what other machines lack, or pip failed.
    """
    info = read_build_info(library)
    files = library_files(library, info)
    glibc = ""
    if platform.system() == "Linux":
        needs = {name: needs_of(library / name) for name in info["files"]}
        require_self_contained(needs)
        glibc = glibc_needed(needs)
    tag = platform_tag(
        platform.system(), platform.machine(), glibc, sysconfig.get_platform()
    )
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        pure = build_pure_wheel(repository_root(), Path(scratch))
        build = build_tag(info["build"], info["backends"])
        target = output / wheel_file_name(pure.name, build, tag)
        add_library(pure, files, target, tag)
    size = target.stat().st_size / 1e6
    print(f"build_platform_wheel: {facts_line(info)}, {size:.1f} MB", file=sys.stderr)
    return target


def read_build_info(library: Path) -> dict[str, Any]:
    """Return the build_info.json of a finished build."""
    path = library / "build_info.json"
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BuildError(
            f"{library} holds no finished build ({error}).\n"
            "  Build one first: python build_scripts/build_libllama.py"
        ) from error
    if not isinstance(info, dict) or not info.get("files"):
        raise BuildError(f"{path} names no files; build the library again")
    return info


def library_files(library: Path, info: dict[str, Any]) -> list[Path]:
    """Return what goes into the wheel: the files that build_info.json names, and it.

    Raises:
        BuildError: One is missing, or is not what the build left.
    """
    for name, facts in info["files"].items():
        path = library / name
        if not path.is_file() or describe_file(path) != facts:
            raise BuildError(f"{path} is not the file that the build left; build again")
    names = [*info["files"], "build_info.json"]
    names += sorted(path.name for path in library.glob("LICENSE.*"))
    return [library / name for name in names]


def glibc_needed(needs: dict[str, Needs]) -> str:
    """Return the newest glibc version that any file asks for."""
    return highest(each.glibc for each in needs.values() if each.glibc)


def build_pure_wheel(project: Path, scratch: Path) -> Path:
    """Let pip build the project without its library, from a copy.

    The copy keeps what an earlier build left in the project's folder out of the wheel.
    """
    copy = scratch / "project"
    copy.mkdir()
    for name in PROJECT_FILES:
        if (project / name).is_file():
            shutil.copy2(project / name, copy / name)
    for name in PACKAGES:
        shutil.copytree(project / name, copy / name, ignore=NOT_PACKAGED)
    wheels = scratch / "wheels"
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--wheel-dir", str(wheels), str(copy)]
    if subprocess.run(command, check=False).returncode:
        raise BuildError("pip could not build the project's wheel; see the lines above")
    return next(wheels.glob("*.whl"))


if __name__ == "__main__":
    sys.exit(main())
