"""Wait for something to become true, with a limit, instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable

_POLL_S = 0.01


def eventually(condition: Callable[[], object], within_s: float = 5) -> None:
    """Return once `condition()` is true; fail after `within_s` seconds."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"still not true after {within_s} s: {condition}")
        time.sleep(_POLL_S)
