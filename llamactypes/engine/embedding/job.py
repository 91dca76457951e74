"""An embedding request as seen from outside: wait for its result, or cancel it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from llamactypes.engine.embedding.request import EmbeddingRequest, EmbeddingResult

__all__ = ("EmbeddingJob",)


class EmbeddingJob:
    """One request's result, once `result` is set. Any thread."""

    def __init__(
        self,
        id: int,
        request: EmbeddingRequest,
        on_cancel: Callable[[EmbeddingJob], None],
    ) -> None:
        self.id = id
        """Number of the request in its engine."""
        self.request = request
        self.result: EmbeddingResult | None = None
        self.is_cancel_requested = False
        self.created_at = time.perf_counter()
        """When it was submitted (``time.perf_counter``)."""
        self.last_read_at = time.monotonic()
        """When somebody last looked (``time.monotonic``)."""
        self._on_cancel = on_cancel
        self._ended = threading.Event()

    def wait(self, timeout_s: float | None = None) -> EmbeddingResult | None:
        """Wait for the end; None when it did not come within `timeout_s` seconds."""
        self.last_read_at = time.monotonic()
        self._ended.wait(timeout_s)
        self.last_read_at = time.monotonic()
        return self.result

    def cancel(self) -> None:
        """Ask for the end. Idempotent, never blocks; the result follows soon."""
        if self.result is None and not self.is_cancel_requested:
            self.is_cancel_requested = True
            self._on_cancel(self)

    # -- engine thread ----------------------------------------------------------------

    def end(self, result: EmbeddingResult) -> None:
        """Tell who waits. The last of several results is ignored."""
        if self.result is None:
            self.result = result
            self._ended.set()
