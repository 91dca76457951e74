"""A door to something that one thread will close while others may still be inside."""

from __future__ import annotations

import time
from _thread import allocate_lock
from collections.abc import Callable

__all__ = ("Gate",)

_POLL_S = 0.001


class Gate:
    """Counts who is inside; `close` refuses newcomers and waits for the last to leave.

    Any thread may enter, with ``with gate:``. Native memory is freed only behind a
    closed gate. The lock covers two integers, never a native call.
    """

    __slots__ = ("_is_open", "_lock", "_n_inside", "_refusal")

    def __init__(
        self, refusal: Callable[[], Exception], *, is_open: bool = True
    ) -> None:
        """Create a gate; `refusal` makes the exception for those who come too late."""
        self._refusal = refusal
        self._lock = allocate_lock()
        self._n_inside = 0
        self._is_open = is_open

    def open(self) -> None:
        """Let threads in."""
        with self._lock:
            self._is_open = True

    def close(self, timeout_s: float | None = None) -> bool:
        """Let nobody in any more; return whether everybody left within `timeout_s`."""
        with self._lock:
            self._is_open = False
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self._n_inside and (deadline is None or time.monotonic() < deadline):
            time.sleep(_POLL_S)
        return self._n_inside == 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._is_open:
                raise self._refusal()
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
