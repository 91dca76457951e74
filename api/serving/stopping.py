"""SIGTERM and SIGINT as a flag and a wake-up. Imports little: installed first."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from types import FrameType

__all__ = ("StopSignal",)

_REPEAT_S = 0.5
"""A signal this soon after the first is the same wish: launchers that pass signals on
make two of one Ctrl-C."""

_SECOND = b"second signal: ending at once\n"


def _nothing() -> None:
    """Do nothing: there is nothing to wake, or to clean, yet."""


class StopSignal:
    """Whether somebody asked the process to end. Main thread only, but for reading.

    The handler sets the flag and wakes the loop; everything else happens in the loop.
    A second signal, unless it comes along with the first, ends the process at once
    with status 1.
    """

    def __init__(self) -> None:
        self.is_set = False
        self._set_at = 0.0
        self._wake: Callable[[], object] = _nothing
        self._clean: Callable[[], object] = _nothing

    def install(self) -> None:
        """Take over SIGTERM and SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def wake_with(self, wake: Callable[[], object]) -> None:
        """Call `wake` from the handler; it must be safe there, such as one write."""
        self._wake = wake

    def clean_with(self, clean: Callable[[], object]) -> None:
        """Call `clean` before a second signal ends the process; it must be quick."""
        self._clean = clean

    def wake_nobody(self) -> None:
        """Forget `wake_with`: what it woke is gone."""
        self._wake = _nothing

    def ignore(self) -> None:
        """Let later signals change nothing: the work is done, only Python has to end.

        Python gives signals back their defaults while it ends, but not ignored ones.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.is_set:
            if time.monotonic() - self._set_at < _REPEAT_S:
                return
            self._end_at_once()
        self.is_set = True
        self._set_at = time.monotonic()
        self._wake()

    def _end_at_once(self) -> None:
        try:
            os.write(2, _SECOND)
            self._clean()
        finally:
            os._exit(1)
