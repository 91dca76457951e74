"""A door to something that will be closed while others may still be inside."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

__all__ = ("Gate",)


class Gate:
    """Counts who is inside; `close` refuses newcomers and waits for the last to leave.

    Any thread. Native memory is freed only behind a closed gate.
    """

    def __init__(self, refusal: Callable[[], Exception]) -> None:
        """Create a closed gate; `refusal` makes the exception that `enter` raises."""
        self._refusal = refusal
        self._changed = threading.Condition(threading.Lock())
        self._n_inside = 0
        self._is_open = False

    def open(self) -> None:
        """Let threads in."""
        with self._changed:
            self._is_open = True

    def close(self, timeout_s: float | None = None) -> bool:
        """Let nobody in any more; return whether everybody left within `timeout_s`."""
        with self._changed:
            self._is_open = False
            return self._changed.wait_for(lambda: self._n_inside == 0, timeout_s)

    def __enter__(self) -> None:
        with self._changed:
            if not self._is_open:
                raise self._refusal()
            self._n_inside += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._changed:
            self._n_inside -= 1
            if not self._n_inside:
                self._changed.notify_all()
