"""Two lanes for requests: what asks about the server never waits behind generations.

                ┌─ control: few workers ──── /health, /metrics, refusals …
I/O thread ─────┤
                └─ work: many workers ────── everything else, in a bounded line
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from waitress.task import ThreadedTaskDispatcher
from waitress.utilities import Error

__all__ = ("CONTROL_PATHS", "LaneDispatcher", "LineFull", "control_test")

logger = logging.getLogger("llamactypes.server")

_WARN_EVERY_S = 10.0

CONTROL_PATHS = (
    *("/", "/health", "/v1/health", "/metrics", "/props", "/slots"),
    *("/models", "/v1/models"),
)
"""Routes whose GET only looks at what is there."""


class LineFull(Error):  # noqa: N818 - what happened, answered like an error
    """The line of requests that wait for a worker is full."""

    code = 429
    reason = "Too Many Requests"


def control_test(prefix: str) -> Callable[[Any], bool]:
    """Return what tells control requests, for routes mounted under `prefix`.

    It takes waitress's parsed request. Preflights are control, too, and so is what
    waitress itself refuses: neither takes long.
    """
    paths = frozenset((prefix + path).rstrip("/") for path in CONTROL_PATHS)

    def is_control(request: Any) -> bool:
        if request.error or request.command == "OPTIONS":
            return True
        is_look = request.command in ("GET", "HEAD")
        return is_look and request.path.rstrip("/") in paths

    return is_control


class LaneDispatcher(ThreadedTaskDispatcher):
    """waitress's dispatcher, which is the work lane, and a second for control.

    Any thread may add tasks.
    """

    def __init__(
        self,
        is_control: Callable[[Any], bool],
        *,
        n_control: int,
        n_work: int,
        n_line: int,
    ) -> None:
        """Start the workers.

        Args:
            is_control: Whether a parsed request goes to the control lane.
            n_control: Workers for control requests.
            n_work: Workers for all others.
            n_line: Most other requests that wait for a worker; more are refused.
        """
        super().__init__()
        self._is_control = is_control
        self._n_line = n_line
        self._warn_at = 0.0
        self._control = ThreadedTaskDispatcher()
        self._control.set_thread_count(n_control)
        self.set_thread_count(n_work)

    def add_task(self, task: Any) -> None:
        """Let a worker serve the first request of a channel; never blocks."""
        request = task.requests[0]
        if not self._is_control(request):
            if self._n_waiting < self._n_line:
                super().add_task(task)
                return
            request.error = LineFull("")
            self._warn()
        self._control.add_task(task)

    def _warn(self) -> None:
        """Say that requests are refused, not for each of them."""
        now = time.monotonic()
        if now >= self._warn_at:
            self._warn_at = now + _WARN_EVERY_S
            logger.warning(
                "all %d workers are taken and %d requests wait for one: more get 429",
                len(self.threads),
                self._n_line,
            )

    @property
    def _n_waiting(self) -> int:
        """Work for which there is no idle worker (one may be about to take it)."""
        n_idle = len(self.threads) - self.stop_count - self.active_count
        return len(self.queue) - n_idle

    def shutdown(self, cancel_pending: bool = True, timeout: int = 5) -> bool:
        """End idle workers; wait for busy ones about `timeout` seconds."""
        self._control.set_thread_count(0)
        is_done = super().shutdown(cancel_pending, timeout)
        # Looking at the server takes no time: these have ended meanwhile.
        return self._control.shutdown(cancel_pending, 1) and is_done
