"""Notices that the engine thread went into a step and does not come back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ("Watchdog",)

_LOOKS = 4
"""How often it looks within the limit, so that it is at most a quarter late."""
_LONGEST_LOOK_S = 5.0


class Watchdog:
    """Measures the step that runs now. `begin` and `end` are the engine thread's.

    It cannot tell a step that is slow from one that hangs; the limit has to. So it is
    off unless somebody chose one that no healthy step comes near.
    """

    def __init__(self, limit_s: float, on_stuck: Callable[[float], object]) -> None:
        """Create one that is off.

        Args:
            limit_s: Longest a step may take; 0: there is no thread, nothing is noticed.
            on_stuck: Called once, on the watchdog's thread, with the step's age in
                seconds.
        """
        self._limit_s = limit_s
        self._on_stuck = on_stuck
        self._began_at: float | None = None
        self._is_over = threading.Event()

    def begin(self) -> None:
        """Note that a step begins."""
        self._began_at = time.monotonic()

    def end(self) -> None:
        """Note that it came back."""
        self._began_at = None

    def start(self) -> None:
        """Watch from now on, if there is a limit."""
        if self._limit_s > 0:
            name = "llamactypes-watchdog"
            threading.Thread(target=self._watch, name=name, daemon=True).start()

    def stop(self) -> None:
        """Watch no more. Idempotent."""
        self._is_over.set()

    def _watch(self) -> None:
        look_s = min(self._limit_s / _LOOKS, _LONGEST_LOOK_S)
        while not self._is_over.wait(look_s):
            began_at = self._began_at
            age_s = 0.0 if began_at is None else time.monotonic() - began_at
            if age_s > self._limit_s:
                self._on_stuck(age_s)
                return
