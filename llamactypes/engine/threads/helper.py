"""One thread that does a piece of work while the engine's own is inside the library.

    engine   begin ──► llama_decode (without the GIL) ──► join
    helper        └──► work, with the GIL ──────────────┘

Between `join` and `begin` the helper does nothing: what the two share needs no lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ("Helper",)


class Helper:
    """Fork and join, a hundredth of a millisecond each. Engine thread only."""

    def __init__(self, name: str) -> None:
        """Start no thread yet; the first `begin` does."""
        self._name = name
        self._thread: threading.Thread | None = None
        self._work: Callable[[], None] | None = None
        self._error: BaseException | None = None
        self._may_begin = threading.Semaphore(0)
        self._is_done = threading.Event()
        self._is_done.set()

    def begin(self, work: Callable[[], None]) -> None:
        """Let the helper do `work`; `join` must come before the next `begin`."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._main, name=self._name, daemon=True
            )
            self._thread.start()
        self._work = work
        self._is_done.clear()
        self._may_begin.release()

    def join(self) -> None:
        """Wait until the work is done, and raise what it raised."""
        self._is_done.wait()
        error, self._error = self._error, None
        if error is not None:
            raise error

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._work = None
            self._may_begin.release()
            self._thread.join()
            self._thread = None

    def _main(self) -> None:
        while True:
            self._may_begin.acquire()
            if self._work is None:
                return
            try:
                self._work()
            except BaseException as error:
                self._error = error
            self._is_done.set()
