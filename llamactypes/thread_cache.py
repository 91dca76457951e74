"""Thread counts that were measured before, in a file of the user's cache folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import math
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from llamactypes import cpus, runtime

__all__ = ("KnownThreads", "cache_file", "find", "key_for", "remember")

logger = logging.getLogger("llamactypes.objects")

_VERSION = 1
_MOST_ENTRIES = 64


@dataclass(frozen=True, slots=True)
class KnownThreads:
    """What was chosen for one machine, library and model, and on what grounds."""

    n_threads: int
    n_threads_batch: int
    step_s: float
    """A decode of one token, in seconds."""
    chunk_s: float
    """A decode of the trials' prompt chunk, in seconds; 0: not tried."""
    others: float | None
    """CPUs that others kept busy meanwhile."""


def cache_file() -> Path:
    """Return where the choices are kept; the file need not exist."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The specification has relative paths ignored.
    folder = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return folder / "llamactypes" / "threads.json"


def key_for(model_path: str, *, settings: tuple[object, ...] = ()) -> str:
    """Return the key of this machine, library and model file.

    Args:
        model_path: The file; its size and time of change count, too.
        settings: What else changes the speed, such as layers on a GPU.
    """
    status = os.stat(model_path)
    facts = (
        cpus.cpu_name(),
        cpus.usable_cpus(),
        cpus.physical_cores(),
        cpus.cgroup_cpu_quota(),
        runtime.build_info(),
        runtime.system_info(),
        os.path.realpath(model_path),
        status.st_size,
        status.st_mtime_ns,
        settings,
    )
    return hashlib.sha256(repr(facts).encode("utf-8")).hexdigest()[:32]


def find(key: str) -> KnownThreads | None:
    """Return what is known under `key`; None also when the file cannot be used."""
    try:
        return _checked(KnownThreads(**_read()[key]))
    except (KeyError, TypeError, ValueError):
        return None


def remember(key: str, known: KnownThreads) -> None:
    """Write `known` under `key`; a file that cannot be written is no error."""
    entries = _read()
    entries.pop(key, None)
    entries[key] = asdict(known)
    while len(entries) > _MOST_ENTRIES:
        del entries[next(iter(entries))]
    try:
        _replace(cache_file(), {"version": _VERSION, "choices": entries})
    except OSError as error:
        logger.debug("thread counts are not kept: %s", error)


def _read() -> dict[str, Any]:
    """Return the entries, oldest first; none when the file is missing or strange."""
    try:
        content = json.loads(cache_file().read_text(encoding="utf-8"))
        if content["version"] == _VERSION:
            return dict(content["choices"])
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        logger.debug("no thread counts from the cache: %s", error)
    return {}


def _checked(known: KnownThreads) -> KnownThreads:
    """Refuse what no measurement gives.

    Raises:
        ValueError: An impossible value.
    """
    counts = (known.n_threads, known.n_threads_batch)
    if not all(type(count) is int and 1 <= count <= 512 for count in counts):
        raise ValueError(f"thread counts {counts}")
    durations = (known.step_s, known.chunk_s)
    if not all(math.isfinite(one) and one >= 0 for one in durations):
        raise ValueError(f"durations {durations}")
    if known.others is not None and not math.isfinite(known.others):
        raise ValueError(f"load {known.others}")
    return known


def _replace(path: Path, content: dict[str, object]) -> None:
    """Write a new file beside `path` and move it there: readers see old or new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
