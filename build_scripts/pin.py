"""The pinned llama.cpp build, as upstream.json states it.

upstream.json is the one place that names a build, its source and its checksum;
every script here reads it through `read_pin`, so that moving to the next build is
an edit of that file.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = (
    "BuildError",
    "GitSource",
    "Pin",
    "Sdist",
    "build_root",
    "parse_pin",
    "read_pin",
    "repository_root",
)


class BuildError(Exception):
    """Stop a build script: the message says what is wrong and what to do next."""


@dataclass(frozen=True, slots=True)
class Sdist:
    """A source distribution that carries a complete llama.cpp tree."""

    project: str
    version: str
    file: str
    sha256: str
    folder: str
    """Path of the llama.cpp tree below the archive's top folder."""
    build: str
    abi: str

    @property
    def requirement(self) -> str:
        """The exact requirement that pip is given."""
        return f"{self.project}=={self.version}"


@dataclass(frozen=True, slots=True)
class GitSource:
    """A tag of a git repository."""

    url: str
    tag: str


@dataclass(frozen=True, slots=True)
class Pin:
    """One llama.cpp build: where it comes from and how it is configured."""

    build: str
    abi: str
    """Layout of llama_context_params: its size on 64-bit machines, in bytes."""
    sdist: Sdist
    git: GitSource
    second_layout: tuple[Sdist, ...]
    """Sources of the other layout that the bindings support."""
    cmake_common: tuple[str, ...]
    cmake_backends: dict[str, tuple[str, ...]]
    cmake_peers: tuple[str, ...]
    cuda_architectures: tuple[str, ...]
    cuda_wheels: dict[str, str]
    """Part of the CUDA toolkit to the wheel that carries it."""
    providers: dict[str, str]
    """Prebuilt library packages to their pinned versions."""


def repository_root() -> Path:
    """Return the folder that holds build_scripts/."""
    return Path(__file__).resolve().parent.parent


def build_root() -> Path:
    """Return the git-ignored folder where downloads and build trees are kept."""
    return repository_root() / ".build"


def read_pin(path: Path | None = None) -> Pin:
    """Read the pin from `path`, or from the upstream.json beside this file.

    Raises:
        BuildError: The file is absent, not JSON, or lacks or misspells a field.
    """
    path = path or Path(__file__).resolve().parent / "upstream.json"
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BuildError(f"cannot read the pin {path}: {error}") from error
    try:
        return parse_pin(document)
    except KeyError as error:
        raise BuildError(f"the pin {path} has no field {error}") from error


def parse_pin(document: dict[str, Any]) -> Pin:
    """Turn the decoded upstream.json into a Pin.

    Raises:
        KeyError: A field is missing.
        BuildError: A field has a value that cannot be right.
    """
    cmake = document["cmake"]
    return Pin(
        build=_matching("build", document["build"], r"b\d+"),
        abi=_matching("abi", document["abi"], r"\d+"),
        sdist=_parse_sdist(document["source"]["sdist"]),
        git=GitSource(
            url=document["source"]["git"]["url"], tag=document["source"]["git"]["tag"]
        ),
        second_layout=tuple(_parse_sdist(each) for each in document["second_layout"]),
        cmake_common=tuple(cmake["common"]),
        cmake_backends={k: tuple(v) for k, v in cmake["backends"].items()},
        cmake_peers=tuple(cmake["peers"]),
        cuda_architectures=tuple(document["cuda"]["architectures"]),
        cuda_wheels=dict(document["cuda"]["toolkit_wheels"]),
        providers=dict(document["providers"]),
    )


def _parse_sdist(document: dict[str, Any]) -> Sdist:
    return Sdist(
        project=document["project"],
        version=document["version"],
        file=document["file"],
        sha256=_matching("sha256", document["sha256"], r"[0-9a-f]{64}"),
        folder=document["folder"].strip("/"),
        build=document["build"],
        abi=document["abi"],
    )


def _matching(field: str, value: str, pattern: str) -> str:
    if not re.fullmatch(pattern, value):
        raise BuildError(f"the pin's field {field!r} is {value!r}; wanted {pattern}")
    return value
