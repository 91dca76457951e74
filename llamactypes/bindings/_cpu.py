"""CPU features, read before a library that needs them is opened.

A library compiled for AVX2 dies with SIGILL on a machine without it, and nothing in
the file says so: what a published build needs is a measured fact (`_candidates`).
"""

from __future__ import annotations

import platform
from collections.abc import Iterable
from pathlib import Path

AVX2_BUILD = ("avx2", "fma", "f16c", "bmi2")
"""What ggml's usual AVX2 build uses, as /proc/cpuinfo spells it."""

X86_64 = frozenset({"x86_64", "amd64"})


def is_x86_64() -> bool:
    """Tell whether this process runs on x86-64 (64-bit calls, System V or Windows)."""
    return platform.machine().lower() in X86_64


def parse_flags(cpuinfo: str) -> frozenset[str]:
    """Return the first CPU's flags from the text of /proc/cpuinfo."""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "flags":
            return frozenset(value.split())
    return frozenset()


def cpu_flags() -> frozenset[str] | None:
    """Return this machine's flags, or None where they cannot be read.

    None means "do not judge": other systems than Linux, other CPUs than x86-64.
    """
    if not is_x86_64():
        return None
    try:
        flags = parse_flags(Path("/proc/cpuinfo").read_text(errors="replace"))
    except OSError:
        return None
    return flags or None


def missing_features(
    required: Iterable[str], flags: frozenset[str] | None
) -> tuple[str, ...]:
    """Return which of `required` the CPU lacks; nothing when `flags` is unknown."""
    if flags is None:
        return ()
    return tuple(name for name in required if name not in flags)
