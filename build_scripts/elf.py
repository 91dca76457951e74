"""What a Linux shared library needs, read with binutils' readelf."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pin import BuildError
from toolchain import find_tool, output_of

__all__ = ("Needs", "highest", "needs_of", "parse_dynamic", "parse_versions")


@dataclass(frozen=True, slots=True)
class Needs:
    """One library's name and what it asks of the machine."""

    soname: str
    libraries: tuple[str, ...]
    run_path: str
    glibc: str
    """Newest GLIBC symbol version asked for, such as 2.34; empty when none."""
    glibcxx: str


def needs_of(library: Path) -> Needs:
    """Read one shared library.

    Raises:
        BuildError: readelf is missing, or the file is no ELF library.
    """
    readelf = find_tool("readelf")
    if readelf is None:
        raise BuildError(
            "readelf is not installed; it is part of binutils:\n"
            "  Debian, Ubuntu: sudo apt install binutils"
        )
    text = output_of(readelf, "--wide", "--dynamic", "--version-info", str(library))
    if "Dynamic section" not in text:
        raise BuildError(f"{library} is not an ELF shared library")
    soname, libraries, run_path = parse_dynamic(text)
    versions = parse_versions(text)
    return Needs(
        soname=soname or library.name,
        libraries=libraries,
        run_path=run_path,
        glibc=highest(versions.get("GLIBC", ())),
        glibcxx=highest(versions.get("GLIBCXX", ())),
    )


def parse_dynamic(text: str) -> tuple[str, tuple[str, ...], str]:
    """Return (soname, needed libraries, run path) out of `readelf --dynamic`."""
    soname = re.search(r"\(SONAME\).*\[(.+)\]", text)
    run_path = re.search(r"\((?:RUNPATH|RPATH)\).*\[(.+)\]", text)
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", text)
    return (
        soname[1] if soname else "",
        tuple(needed),
        run_path[1] if run_path else "",
    )


def parse_versions(text: str) -> dict[str, set[str]]:
    """Return the needed symbol versions by family out of `readelf --version-info`.

    Versions that the library itself defines stand in another section and are left out.
    """
    found: dict[str, set[str]] = {}
    _, _, needs = text.partition("Version needs section")
    for family, version in re.findall(r"Name: ([A-Z_]+)_(\d[\d.]*)\s", needs):
        found.setdefault(family, set()).add(version)
    return found


def highest(versions: Iterable[str]) -> str:
    """Return the newest of dotted versions; empty when there is none."""
    return max(
        versions, key=lambda text: [int(part) for part in text.split(".")], default=""
    )
