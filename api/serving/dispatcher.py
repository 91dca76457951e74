"""Two lanes for requests: what asks about the server never waits behind generations.

                ┌─ control: few workers ──── /health, /metrics, refusals …
I/O thread ─────┤
                └─ work: many workers ────── everything else, in a bounded line
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

from waitress.task import ThreadedTaskDispatcher

from api.serving.refusals import LineFull

__all__ = (
    "CONTROL_ACTIONS",
    "CONTROL_PATHS",
    "LaneDispatcher",
    "LineFull",
    "control_test",
)

logger = logging.getLogger("llamactypes.server")

_WARN_EVERY_S = 10.0

CONTROL_PATHS = (
    *("/", "/health", "/v1/health", "/metrics", "/props", "/slots", "/openapi.json"),
    *("/readyz", "/livez"),
    *("/models", "/v1/models", "/v1/models/{model_id:path}", "/lora-adapters"),
    *("/responses/{response_id}", "/v1/responses/{response_id}"),
    *(
        "/responses/{response_id}/input_items",
        "/v1/responses/{response_id}/input_items",
    ),
)
"""Routes whose GET only looks at what is there."""

CONTROL_ACTIONS = (
    ("DELETE", "/responses/{response_id}"),
    ("DELETE", "/v1/responses/{response_id}"),
    ("POST", "/responses/{response_id}/cancel"),
    ("POST", "/v1/responses/{response_id}/cancel"),
    ("DELETE", "/v1/stream"),
    ("DELETE", "/v1/stream/{conversation_id:path}"),
    ("POST", "/v1/streams/lookup"),
    ("POST", "/chat/completions/control"),
    ("POST", "/v1/chat/completions/control"),
)
"""What ends work must not wait behind it, nor what tells how far it is."""

_NAME = re.compile(r"\\{\w+\\}")
_REST = re.compile(r"\\{\w+:path\\}")


def control_test(prefix: str, more: Iterable[str] = ()) -> Callable[[Any], bool]:
    """Return what tells control requests, for routes mounted under `prefix`.

    It takes waitress's parsed request. Preflights are control, too, and so is what
    waitress itself refuses: neither takes long. `more` are looks of this server alone.
    """
    looks = _any_of(prefix + path for path in (*CONTROL_PATHS, *more))
    actions = _any_of(f"{method} {prefix}{path}" for method, path in CONTROL_ACTIONS)

    def is_control(request: Any) -> bool:
        if request.error or request.command == "OPTIONS":
            return True
        path = request.path.rstrip("/")
        if request.command in ("GET", "HEAD"):
            return looks(path) is not None and not _follows(request)
        return actions(f"{request.command} {path}") is not None

    return is_control


def _follows(request: Any) -> bool:
    """Whether a look goes on as long as what it looks at is made."""
    values = parse_qs(request.query or "").get("stream", ())
    return request.command == "GET" and any(
        value.lower() not in ("false", "f", "no", "n", "0", "off") for value in values
    )


def _any_of(templates: Iterable[str]) -> Callable[[str], object]:
    """Return what tells paths of these templates.

    A ``{name}`` is one segment, ``{name:path}`` all the rest.
    """
    escaped = (re.escape(path.rstrip("/")) for path in templates)
    patterns = (_NAME.sub("[^/]+", _REST.sub(".+", path)) for path in escaped)
    return re.compile("|".join(patterns)).fullmatch


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
