"""Where and when a run took place: a figure without that means nothing."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.load import watch_load
from llamactypes import __version__

__all__ = ("describe", "headline")

_LOOK_S = 0.5


def describe(threads: int, model: Path) -> dict[str, Any]:
    """Return date, command, hardware, software, model and the load there already is."""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "command": f"python -m benchmarks {shlex.join(sys.argv[1:])}".strip(),
        "cpu": _cpu(),
        "n_cpus": _n_cpus(),
        "memory_gib": round(_memory_gib(), 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "llamactypes": __version__,
        "threads": threads,
        "model": model.name,
        "model_mib": round(model.stat().st_size / 2**20, 1),
        "load_average": [round(value, 2) for value in os.getloadavg()],
        "foreign_cpu_before": watch_load(_LOOK_S),
    }


def headline(machine: dict[str, Any]) -> str:
    """Return the facts that a reader of the table needs, as one line."""
    load = ", ".join(f"{value:.2f}" for value in machine["load_average"])
    before = machine["foreign_cpu_before"]
    foreign = "unknown" if before is None else f"{before:.0%}"
    return (
        f"{machine['date']}, {machine['cpu']}, {machine['n_cpus']} CPUs, "
        f"{machine['memory_gib']} GiB, {machine['threads']} thread(s), "
        f"{machine['model']} ({machine['model_mib']} MiB), load {load}, "
        f"others' share of the CPUs before the run: {foreign}"
    )


def _n_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.machine()
