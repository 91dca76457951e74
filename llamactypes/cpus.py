"""How many CPUs there are to compute with: affinity, cores, control group."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = (
    "CpuLoad",
    "cgroup_cpu_quota",
    "cpu_limit",
    "cpu_name",
    "default_thread_count",
    "physical_cores",
    "usable_cpus",
)

_LEAST_SPAN_S = 0.05
"""The kernel counts a CPU's time in steps of 10 ms."""


def default_thread_count() -> int:
    """Return how many threads to compute with when nothing else is known.

    All physical cores but one, within this process's affinity and its control group's
    quota: ggml's threads spin at barriers, so that one busy neighbour on a shared core,
    or a quota used up by spinning, slows every step.
    """
    return max(1, min(cpu_limit(), physical_cores()) - 1)


def cpu_limit() -> int:
    """Return how many CPUs this process can keep busy: affinity and quota."""
    quota = cgroup_cpu_quota()
    usable = usable_cpus()
    return usable if quota is None else max(1, min(usable, int(quota)))


def usable_cpus() -> int:
    """Return the number of CPUs this process may run on."""
    return len(_affinity())


def _affinity() -> frozenset[int]:
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def cpu_name() -> str:
    """Return the processor's name, as good as the system knows it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass  # no Linux: the answer below is less precise, not wrong
    return platform.processor() or platform.machine()


class CpuLoad:
    """How busy others keep the CPUs that this process may use, since a moment."""

    def __init__(self, stat: Path = Path("/proc/stat")) -> None:
        """Begin to measure now."""
        self._stat = stat
        self.restart()

    def restart(self) -> None:
        """Begin to measure anew."""
        self._cpus = _affinity()
        self._busy_s = self._read()
        self._own_s = time.process_time()
        self._started = time.monotonic()

    @property
    def span_s(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._started

    def others(self) -> float | None:
        """Return the CPUs that others kept busy on average, such as 0.9.

        None when that is unknown: no Linux, or too short a time for the kernel's clock.
        """
        span_s, busy_s = self.span_s, self._read()
        if span_s < _LEAST_SPAN_S or busy_s is None or self._busy_s is None:
            return None
        own_s = time.process_time() - self._own_s
        return max(0.0, (busy_s - self._busy_s - own_s) / span_s)

    def _read(self) -> float | None:
        """Return the seconds that our CPUs have been busy, or None."""
        try:
            lines = self._stat.read_text(encoding="ascii").splitlines()
            fields = [line.split() for line in lines if line.startswith("cpu")]
            ticks = sum(_busy_ticks(one) for one in fields if _is_of(one, self._cpus))
            return ticks / os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError):
            return None


def _is_of(fields: list[str], cpus: frozenset[int]) -> bool:
    number = fields[0].removeprefix("cpu")
    return number.isdigit() and int(number) in cpus


def _busy_ticks(fields: list[str]) -> int:
    """Add user, nice, system, irq, softirq and steal; idle and iowait are free."""
    return sum(int(fields[index]) for index in (1, 2, 3, 6, 7, 8))


def physical_cores() -> int:
    """Count cores by their topology; hardware threads of one core count once."""
    cores = set()
    for cpu in _affinity():
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
