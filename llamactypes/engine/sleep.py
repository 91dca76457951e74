"""When an idle engine gives its memory back, and how those wait who need it again.

    awake ──idle, nobody inside──► asleep ──somebody enters──► loading ──► awake
                                     ▲                            │
                                     └────── it failed ───────────┘

Whoever is inside keeps the engine awake. Newcomers wait until the model is there; when
it cannot be loaded they get the reason, and the next one lets it be tried again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llamactypes.errors import EngineAsleep, LlamaError

__all__ = ("Sleep",)


class Sleep:
    """Counts who needs the model. Guarded by one condition."""

    def __init__(self, idle_s: float, wake_engine: Callable[[], None]) -> None:
        """Begin awake.

        Args:
            idle_s: Sleep after so many seconds without work; below 0: never.
            wake_engine: Lets the engine thread look at `is_wanted`; any thread.
        """
        self._idle_s = idle_s
        self._wake_engine = wake_engine
        self._changed = threading.Condition()
        self._n_inside = 0
        self._idle_since = time.monotonic()
        self._is_asleep = False
        self._is_wanted = False
        self._n_failures = 0
        self._failure: LlamaError | None = None

    # -- any thread --------------------------------------------------------------------

    @contextmanager
    def awake(self) -> Iterator[None]:
        """Keep the engine awake inside; wait until it is. May be nested.

        Raises:
            EngineAsleep: The model could not be loaded again.
        """
        if self._idle_s < 0:
            yield
            return
        with self._changed:
            self._n_inside += 1
        try:
            self._wait()
            yield
        finally:
            with self._changed:
                self._n_inside -= 1
                self._idle_since = time.monotonic()

    def _wait(self) -> None:
        with self._changed:
            n_failures = self._n_failures
            if self._is_asleep:
                self._is_wanted = True
                self._wake_engine()
            self._changed.wait_for(
                lambda: not self._is_asleep or self._n_failures > n_failures
            )
            if self._is_asleep:
                raise EngineAsleep(
                    "the model was unloaded, for nobody needed it, and cannot be "
                    f"loaded again: {self._failure}; the next request tries once more"
                )

    # -- engine thread -----------------------------------------------------------------

    def note_work(self) -> None:
        """Note that there was work until now."""
        self._idle_since = time.monotonic()

    @property
    def left_s(self) -> float | None:
        """Seconds until `fall_asleep` may succeed; None: it never does."""
        if self._idle_s < 0:
            return None
        return max(0.0, self._idle_since + self._idle_s - time.monotonic())

    def fall_asleep(self) -> bool:
        """Sleep from now on, unless somebody is inside or was a moment ago."""
        with self._changed:
            if self.left_s != 0.0 or self._n_inside:
                return False
            self._is_asleep = True
            return True

    @property
    def is_wanted(self) -> bool:
        """Whether somebody waits for the model."""
        return self._is_wanted

    def wake_up(self) -> None:
        """Let everybody in; also at the engine's end, to be told of it."""
        with self._changed:
            self._is_asleep = self._is_wanted = False
            self._idle_since = time.monotonic()
            self._changed.notify_all()

    def fail(self, error: LlamaError) -> None:
        """Tell those who wait why the model cannot be loaded, and sleep on."""
        with self._changed:
            self._is_wanted = False
            self._failure = error
            self._n_failures += 1
            self._changed.notify_all()
