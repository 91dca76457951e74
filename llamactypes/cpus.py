"""How many CPUs there are to compute with: affinity, cores, control group."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ("cgroup_cpu_quota", "default_thread_count", "usable_cpus")


def default_thread_count() -> int:
    """Return how many inference threads to use when nobody said: all cores but one.

    Counts physical cores within this process's affinity and its control group's quota:
    ggml's threads spin at barriers, so that one busy neighbour on a shared core, or a
    quota used up by spinning, slows every step.
    """
    quota = cgroup_cpu_quota()
    limits = [usable_cpus(), _physical_cores()]
    if quota is not None:
        limits.append(int(quota))
    return max(1, min(limits) - 1)


def usable_cpus() -> int:
    """Return the number of CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _physical_cores() -> int:
    """Count cores by their topology; hardware threads of one core count once."""
    cores = set()
    for cpu in range(os.cpu_count() or 1):
        folder = f"/sys/devices/system/cpu/cpu{cpu}/topology"
        try:
            with open(f"{folder}/thread_siblings_list", encoding="ascii") as file:
                cores.add(file.read().strip())
        except OSError:
            return os.cpu_count() or 1
    return len(cores)


def cgroup_cpu_quota(
    root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> float | None:
    """Return how many CPUs' time this process may use, None without a limit.

    Reads ``cpu.max`` (v2) of the process's group and of its parents, or the
    ``cpu.cfs_*`` files (v1).
    """
    limits = [_quota_of(folder) for folder in _cgroup_folders(root, own)]
    known = [limit for limit in limits if limit is not None]
    return min(known, default=None)


def _cgroup_folders(root: Path, own: Path) -> Iterator[Path]:
    yield root
    yield root / "cpu"
    try:
        groups = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in groups:
        _, controllers, path = line.split(":", 2)
        base = root / "cpu" if "cpu" in controllers.split(",") else root
        folder = base
        for part in Path(path).parts[1:]:
            folder = folder / part
            yield folder


def _quota_of(folder: Path) -> float | None:
    try:
        if (folder / "cpu.max").exists():
            quota, period = (folder / "cpu.max").read_text().split()
        else:
            quota = (folder / "cpu.cfs_quota_us").read_text().strip()
            period = (folder / "cpu.cfs_period_us").read_text().strip()
    except (OSError, ValueError):
        return None
    if quota in ("max", "-1"):
        return None
    return int(quota) / int(period)
