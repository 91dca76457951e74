"""What `llamactypes doctor` says: the installation, explained.

Every place a library was looked for with its verdict, backends left out and why, the
devices, the threads, and the versions that matter.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from llamactypes import thread_cache
from llamactypes.bindings._backends import SkippedBackend, skipped_backends
from llamactypes.bindings._candidates import Candidate
from llamactypes.bindings._cpu import AVX2_BUILD, cpu_flags
from llamactypes.bindings._loader import LoadedLibrary, candidates, loaded
from llamactypes.bindings._open import glibc_version
from llamactypes.cpus import cgroup_cpu_quota, default_thread_count, usable_cpus
from llamactypes.errors import LibraryError
from llamactypes.runtime import Device, devices, start_backend

__all__ = ("Diagnosis", "Threads", "as_text", "diagnose", "report")

_PACKAGES = ("llamactypes", "numpy", "falcon", "waitress", "jinja2")
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Threads:
    """How many CPUs there are to compute with."""

    cpu_count: int
    """CPUs of the machine."""
    usable: int
    """CPUs this process may run on (affinity)."""
    quota: float | None
    """CPUs' worth of time that the control group grants; None without a limit."""
    default: int
    """Threads used for inference when nobody says and nothing is measured."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The state of an installation."""

    versions: Mapping[str, str]
    """Of Python, the C library, the packages; "not installed" when absent."""
    library: LoadedLibrary | None
    failure: str
    """Why no library is in use, or why it has no device; empty when all is well."""
    candidates: tuple[Candidate, ...]
    devices: tuple[Device, ...]
    skipped: tuple[SkippedBackend, ...]
    threads: Threads
    build_info: Mapping[str, Any] | None
    """Content of build_info.json beside the library, where our build wrote one."""

    @property
    def is_usable(self) -> bool:
        """Whether a model can be loaded."""
        return not self.failure


def report(library: str | os.PathLike[str] | None = None) -> str:
    """Return the diagnosis as text for a person. Never raises for what it finds."""
    return as_text(diagnose(library))


def as_text(diagnosis: Diagnosis) -> str:
    """Return `diagnosis` as text for a person."""
    return "\n".join(_lines(diagnosis))


def diagnose(library: str | os.PathLike[str] | None = None) -> Diagnosis:
    """Load the library as a server would, and gather what there is to know.

    Args:
        library: File or folder; None searches.
    """
    failure = ""
    try:
        start_backend(os.fspath(library) if library is not None else None)
    except LibraryError as error:
        failure = str(error)
    current = loaded()
    return Diagnosis(
        versions=_versions(),
        library=current,
        failure=failure,
        candidates=tuple(candidates(library)),
        devices=() if failure else devices(),
        skipped=skipped_backends(current) if current else (),
        threads=_threads(),
        build_info=_build_info(current.directory) if current else None,
    )


def _threads() -> Threads:
    return Threads(
        os.cpu_count() or 1, usable_cpus(), cgroup_cpu_quota(), default_thread_count()
    )


def _versions() -> dict[str, str]:
    versions = {
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "glibc": glibc_version() or "none",
    }
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def _build_info(directory: Path) -> Mapping[str, Any] | None:
    try:
        info = json.loads((directory / "build_info.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return info if isinstance(info, dict) else None


# -- text --------------------------------------------------------------------------


def _lines(diagnosis: Diagnosis) -> Iterator[str]:
    yield "Versions"
    yield "  " + ", ".join(f"{name} {v}" for name, v in diagnosis.versions.items())
    yield "Library"
    yield from _library_lines(diagnosis)
    yield "Candidates, in the order of search"
    yield from (line for c in diagnosis.candidates for line in _candidate_lines(c))
    yield "Backends left out"
    for skipped in diagnosis.skipped:
        yield f"  {skipped.reason.removeprefix(f'{skipped.file.parent}{os.sep}')}"
    if not diagnosis.skipped:
        yield "  none"
    yield "Devices"
    for device in diagnosis.devices:
        yield f"  {_device_line(device)}"
    if not diagnosis.devices:
        yield "  none"
    yield "CPU"
    yield from _cpu_lines(diagnosis.threads)


def _library_lines(diagnosis: Diagnosis) -> Iterator[str]:
    library = diagnosis.library
    if library is not None:
        commit = f" ({library.ggml_commit})" if library.ggml_commit else ""
        yield f"  {library.path}"
        yield (
            f"  from {library.origin}, C layout {library.abi}, "
            f"llama {library.version or 'unknown'}, ggml {library.ggml_version}{commit}"
        )
        yield f"  multimodal: {'yes' if library.mtmd else 'no'}"
        yield f"  optional functions missing: {_shortened(library.missing)}"
        yield from (f"  note: {note}" for note in library.notes)
    if diagnosis.build_info:
        facts = {k: v for k, v in diagnosis.build_info.items() if isinstance(v, str)}
        yield "  built: " + ", ".join(f"{k} {v}" for k, v in facts.items())
    if diagnosis.failure:
        yield from (f"  {line}" for line in diagnosis.failure.splitlines())


def _shortened(names: tuple[str, ...]) -> str:
    if not names:
        return "none"
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _candidate_lines(candidate: Candidate) -> Iterator[str]:
    layout = f" (C layout {candidate.abi})" if candidate.abi else ""
    yield f"  {candidate.verdict.value:9} {candidate.origin}: {candidate.path}{layout}"
    for reason in candidate.reasons:
        yield f"            {reason.removeprefix(f'{candidate.path}: ')}"


def _device_line(device: Device) -> str:
    free, total = device.memory_free_bytes / _GIB, device.memory_total_bytes / _GIB
    return (
        f"{device.name} ({device.kind}): {device.description}, "
        f"{free:.1f} of {total:.1f} GiB free"
    )


def _cpu_lines(threads: Threads) -> Iterator[str]:
    flags = cpu_flags()
    if flags is not None:
        features = (f"{name} {'yes' if name in flags else 'NO'}" for name in AVX2_BUILD)
        yield "  features: " + ", ".join(features)
    quota = "none" if threads.quota is None else f"{threads.quota:g} CPUs"
    yield (
        f"  {threads.cpu_count} CPUs, {threads.usable} usable, control group limit "
        f"{quota}"
    )
    yield (
        "  inference threads: measured at start, remembered in "
        f"{thread_cache.cache_file()}; {threads.default} where nothing is measured"
    )
