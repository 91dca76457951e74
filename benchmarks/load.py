"""How much of the CPUs others used: a timing taken beside them says little.

Linux only (``/proc``); elsewhere every share is None.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = (
    "FOREIGN_LIMIT",
    "Reading",
    "busy_ticks",
    "family_ticks",
    "foreign_share",
    "process_ticks",
    "read_load",
    "read_process",
    "watch_load",
)

FOREIGN_LIMIT = 0.10
"""Share of the CPUs from which on others are worth a warning."""

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Reading:
    """CPU time up to one moment, in seconds."""

    at: float
    busy: float
    """Of the CPUs this process may use, by anybody; time the host stole counts."""
    own: float
    """Of this process and all that it started."""
    n_cpus: int


def read_load() -> Reading | None:
    """Read the CPU times now; None where ``/proc`` does not tell."""
    cpus = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    try:
        busy = busy_ticks((_PROC / "stat").read_text(), cpus)
        own = family_ticks(_processes(), os.getpid())
    except (OSError, ValueError):
        return None
    n_cpus = len(cpus) or 1
    return Reading(time.monotonic(), busy / _TICKS_PER_S, own / _TICKS_PER_S, n_cpus)


def read_process(process_id: int) -> float | None:
    """Return the CPU seconds of a process so far; None where it cannot be seen."""
    try:
        stat = (_PROC / str(process_id) / "stat").read_text()
    except OSError:
        return None
    return process_ticks(stat)[2] / _TICKS_PER_S


def watch_load(seconds: float) -> float | None:
    """Return others' share of the CPUs over the next `seconds`."""
    before = read_load()
    time.sleep(seconds)
    return foreign_share(before, read_load())


def foreign_share(before: Reading | None, after: Reading | None) -> float | None:
    """Return the share (0 … 1) of all CPU time between two readings that others used.

    None: there is no reading, or less than a tenth of a second between them, in which
    the clock's ticks are too coarse.
    """
    if before is None or after is None or after.at - before.at < 0.1:
        return None
    others = (after.busy - before.busy) - (after.own - before.own)
    capacity = (after.at - before.at) * after.n_cpus
    return min(1.0, max(0.0, others / capacity))


def busy_ticks(stat: str, cpus: set[int]) -> int:
    """Return the ticks in which `cpus` were not idle, from the text of /proc/stat."""
    names = {f"cpu{number}" for number in cpus}
    ticks = 0
    for line in stat.splitlines():
        name, *fields = line.split()
        if name in names:
            user, nice, system, _idle, _iowait, irq, soft_irq, stolen, *_guests = fields
            ticks += sum(map(int, (user, nice, system, irq, soft_irq, stolen)))
    return ticks


def process_ticks(stat: str) -> tuple[int, int, int]:
    """Return process id, parent and ticks of a process and its ended children.

    Args:
        stat: Text of /proc/PID/stat; the name in parentheses may hold anything.
    """
    process_id = int(stat.split("(", 1)[0])
    fields = stat.rsplit(")", 1)[1].split()
    return process_id, int(fields[1]), sum(map(int, fields[11:15]))


def family_ticks(processes: list[tuple[int, int, int]], root: int) -> int:
    """Return the ticks of `root` and all its descendants; see `process_ticks`."""
    children: dict[int, list[int]] = {}
    for process_id, parent, _ in processes:
        children.setdefault(parent, []).append(process_id)
    ticks = {process_id: spent for process_id, _, spent in processes}
    total, waiting = 0, [root]
    while waiting:
        process_id = waiting.pop()
        total += ticks.get(process_id, 0)
        waiting += children.get(process_id, [])
    return total


def _processes() -> list[tuple[int, int, int]]:
    found = []
    for folder in _PROC.iterdir():
        if folder.name.isdecimal():
            try:
                found.append(process_ticks((folder / "stat").read_text()))
            except (OSError, IndexError):
                continue  # it ended meanwhile
    return found
