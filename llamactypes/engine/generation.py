"""An append-only log of deltas with any number of readers.

Live, slow and late readers are the same code: each reads from an index of its own. The
engine thread appends; everything else may be called from any thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence

from llamactypes.engine.request import Delta, GenerationRequest, Result

__all__ = ("Generation",)

_WAIT_STEP_S = 1.0


class Generation:
    """One request's output, growing until `result` is set.

    Guarded by one condition: the log, `result`, `is_started`.
    """

    def __init__(
        self,
        id: int,
        request: GenerationRequest,
        on_cancel: Callable[[Generation], None],
    ) -> None:
        self.id = id
        """Number of the request in its engine."""
        self.request = request
        self.result: Result | None = None
        """How it ended; None while it goes on."""
        self.is_started = False
        """A slot began to evaluate the prompt (or the generation ended before)."""
        self.is_cancel_requested = False
        self.created_at = time.perf_counter()
        """When it was submitted (``time.perf_counter``)."""
        self.last_read_at = time.monotonic()
        """When somebody last looked (``time.monotonic``)."""
        self._on_cancel = on_cancel
        self._deltas: list[Delta] = []
        self._changed = threading.Condition(threading.Lock())

    # -- any thread -----------------------------------------------------------------

    def read(
        self, start: int, timeout_s: float | None = None
    ) -> tuple[list[Delta], Result | None]:
        """Return every delta from index `start` on, waiting for the first new one.

        Returns:
            The new deltas, and the result once they reach the end. ``([], None)`` when
            nothing came within `timeout_s` seconds.
        """
        with self._changed:
            if start >= len(self._deltas) and self.result is None:
                self._changed.wait(timeout_s)
            self.last_read_at = time.monotonic()
            return self._deltas[start:], self.result

    def wait_started(self, timeout_s: float | None = None) -> bool:
        """Wait until a slot began with the prompt, or the generation ended."""
        with self._changed:
            if not self.is_started:
                self._changed.wait(timeout_s)
            self.last_read_at = time.monotonic()
            return self.is_started

    def wait(self, timeout_s: float | None = None) -> Result | None:
        """Wait for the end; None when it did not come within `timeout_s` seconds."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while self.result is None:
            left = _WAIT_STEP_S if deadline is None else deadline - time.monotonic()
            if left <= 0:
                break
            with self._changed:
                if self.result is None:
                    self._changed.wait(min(left, _WAIT_STEP_S))
            self.last_read_at = time.monotonic()
        return self.result

    def __iter__(self) -> Iterator[str]:
        """Yield text as it comes.

        Raises:
            LlamaError: The generation failed; what it wrote before was yielded.
        """
        index, result = 0, None
        while result is None:
            deltas, result = self.read(index, _WAIT_STEP_S)
            index += len(deltas)
            yield from (delta.text for delta in deltas if delta.text)
        if result.error is not None:
            raise result.error

    def cancel(self) -> None:
        """Ask for the end. Idempotent, never blocks; the result follows soon."""
        if self.result is None and not self.is_cancel_requested:
            self.is_cancel_requested = True
            self._on_cancel(self)

    @property
    def text(self) -> str:
        """All text so far."""
        with self._changed:
            return "".join(delta.text for delta in self._deltas)

    @property
    def tokens(self) -> list[int]:
        """All tokens so far (those held back for a stop sequence excluded)."""
        with self._changed:
            return [token for delta in self._deltas for token in delta.tokens]

    def put_before(self, deltas: Sequence[Delta]) -> None:
        """Begin the log with what an earlier generation of the request has said.

        To be called before anybody reads.
        """
        with self._changed:
            self._deltas[:0] = deltas

    # -- engine thread ----------------------------------------------------------------

    def mark_started(self) -> None:
        """Tell readers that a slot began with the prompt."""
        with self._changed:
            if not self.is_started:
                self.is_started = True
                self._changed.notify_all()

    def append(self, delta: Delta | None, result: Result | None) -> None:
        """Add to the log; `result` ends it. The last of several results is ignored."""
        with self._changed:
            if self.result is not None:
                return
            if delta is not None:
                self._deltas.append(delta)
            self.result = result
            self.is_started = True
            self._changed.notify_all()
