"""How the process's threads share the interpreter."""

from __future__ import annotations

import sys

__all__ = ("SWITCH_INTERVAL_S", "share_fairly")

SWITCH_INTERVAL_S = 0.5e-3
"""PERF: the engine comes back from each decode without the GIL. Behind one thread that
formats without a pause it then waits 6.8 ms at Python's default of 5 ms, 1.2 ms with
this; behind four 19 and 4.6 ms. Less gives nothing more (benchmarks/gil.py, medians on
2 busy virtual CPUs)."""


def share_fairly() -> None:
    """Let threads take the interpreter from each other sooner than by default.

    For a process that is a server; it is a setting of the whole process.
    """
    sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_INTERVAL_S))
