"""One response in the making: a generation, read into a response and its events."""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Callable
from typing import Any

from api import sse
from api.errors import ConstraintBroken, describe
from api.protocol.error_reply import ErrorReply
from api.protocol.responses.items import Item
from api.protocol.responses.writer import Event, ResponseWriter
from api.streams.reader import failure
from llamactypes.engine import FinishReason, Generation, Result
from llamactypes.errors import ConstraintError

__all__ = ("Events", "ResponseRun")

_FOLLOW_STEP_S = 1.0


def _nobody(run: ResponseRun) -> None:
    """Tell nobody of the end."""


class Events(enum.Enum):
    """What becomes of a run's events."""

    NONE = "none"
    """They are not made."""
    ONCE = "once"
    """There is one reader; what it has read is dropped."""
    KEPT = "kept"
    """Any number of readers may read them, from the first on."""


class ResponseRun:
    """What a generation has become so far. Any thread.

    Whoever reads pulls: each call takes in what the generation has appended since the
    last one, whoever made that. Guarded by one condition: the writer, the events and
    the cursor.

    A run that has ended holds its response and nothing of what that came from.

    Attributes:
        error: Why the generation failed; None when it did not.
    """

    def __init__(
        self,
        generation: Generation,
        writer: ResponseWriter,
        *,
        events: Events = Events.NONE,
        on_end: Callable[[ResponseRun], None] = _nobody,
    ) -> None:
        """Begin to read.

        Args:
            generation: Submitted.
            writer: New.
            events: Whether there will be readers.
            on_end: Called once, by the thread that meets the end.
        """
        self._generation: Generation | None = generation
        self.error: Exception | None = None
        self._writer = writer
        self._kept = events
        self._on_end = on_end
        self._events: list[bytes] = []
        self._n_dropped = 0
        self._cursor = 0
        self._is_followed = False
        self._looked_at = time.monotonic()
        self._changed = threading.Condition(threading.Lock())
        with self._changed:
            self._add(writer.create())

    @property
    def id(self) -> str:
        """The response's id."""
        return self._writer.id

    @property
    def keeps_events(self) -> bool:
        """Whether its events can be read again."""
        return self._kept is Events.KEPT

    @property
    def is_ended(self) -> bool:
        """Whether nothing changes any more."""
        return self._writer.is_ended

    @property
    def is_live(self) -> bool:
        """Whether its generation goes on."""
        generation = self._generation
        return generation is not None and generation.result is None

    @property
    def output(self) -> list[Item]:
        """The items made so far."""
        with self._changed:
            return self._writer.output

    @property
    def n_event_bytes(self) -> int:
        """Bytes of the events that are kept."""
        with self._changed:
            return sum(map(len, self._events))

    def response(self) -> dict[str, Any]:
        """Return the response object as it is now."""
        self.pull(0.0)
        with self._changed:
            self._looked_at = time.monotonic()
            return self._writer.response()

    def read(self, start: int, timeout_s: float) -> tuple[list[bytes], bool]:
        """Return the events from number `start` on, and whether these are the last.

        Waits at most `timeout_s` seconds for the first of them.
        """
        if not self._is_followed:
            self.pull(timeout_s if self._n_events <= start else 0.0)
        with self._changed:
            if self._n_events <= start and not self.is_ended and self._is_followed:
                self._changed.wait(timeout_s)
            self._looked_at = time.monotonic()
            events = self._events[start - self._n_dropped :]
            if self._kept is Events.ONCE:
                self._n_dropped += len(self._events)
                self._events.clear()
            return events, self.is_ended

    def pull(self, timeout_s: float) -> None:
        """Take in what is new; wait for it at most `timeout_s` seconds."""
        generation = self._generation
        if timeout_s > 0 and generation is not None:
            # Outside the lock: whoever looks meanwhile must not wait.
            generation.read(self._cursor, timeout_s)
        with self._changed:
            self._take_in()
        self._tell_end()

    def leave(self) -> None:
        """Tell that the one reader is gone: what only it wanted ends.

        Any thread, at any time, repeatedly.
        """
        if self._is_followed:
            return
        self.cancel()
        with self._changed:
            self._kept = Events.NONE
            self._events.clear()

    def cancel(self) -> None:
        """End it, as its owner wishes; the slot is free soon after."""
        self._end_early(lambda: self._writer.cancel())

    def expire(self, patience_s: float) -> None:
        """End it, because nobody asks for it."""
        reason = f"nobody asked for this response for {patience_s:g} s: it was ended"
        self._end_early(lambda: self._writer.fail(ErrorReply(500, reason)))

    # -- without readers --------------------------------------------------------------

    def follow(self, patience_s: float) -> None:
        """Read on a thread of its own until the end.

        Args:
            patience_s: End it after so many seconds without anybody asking for it; 0:
                never.
        """
        self._is_followed = True
        threading.Thread(
            target=self._follow, args=(patience_s,), name=self.id, daemon=True
        ).start()

    def _follow(self, patience_s: float) -> None:
        step_s = min(_FOLLOW_STEP_S, patience_s) if patience_s else _FOLLOW_STEP_S
        while (generation := self._generation) is not None:
            if not generation.is_started:
                generation.wait_started(step_s)
                self.pull(0.0)
            else:
                self.pull(step_s)
            if 0 < patience_s < time.monotonic() - self._looked_at:
                self.expire(patience_s)

    # -- helpers, with the lock held unless they say otherwise ------------------------

    @property
    def _n_events(self) -> int:
        return self._n_dropped + len(self._events)

    def _take_in(self) -> None:
        generation = self._generation
        if generation is None or self._writer.is_ended:
            return
        deltas, result = generation.read(self._cursor, 0.0)
        self._cursor += len(deltas)
        if generation.is_started and result is None:
            self._add(self._writer.begin())
        for delta in deltas:
            self._add(self._writer.add(delta))
        if result is not None:
            self._add(self._last_events(result))

    def _failure(self, result: Result) -> Exception | None:
        """Return why the generation failed, with its text if only the rest did."""
        error, generation = failure(result), self._generation
        if not isinstance(error, ConstraintError) or generation is None:
            return error
        text = "".join(delta.text for delta in generation.read(0, 0.0)[0])
        return ConstraintBroken(error, [text]) if text else error

    def _last_events(self, result: Result) -> list[Event]:
        self.error = self._failure(result)
        if self.error is None:
            return self._writer.finish(result)
        if result.error is None and result.finish is FinishReason.CANCELLED:
            return self._writer.cancel(result)
        return self._writer.fail(describe(self.error))

    def _add(self, events: list[Event]) -> None:
        if events and self._kept is not Events.NONE:
            self._events += [sse.named_event(event["type"], event) for event in events]
            self._changed.notify_all()

    def _end_early(self, end: Callable[[], list[Event]]) -> None:
        """End by `end` unless it has ended; takes the lock itself."""
        generation = self._generation
        try:
            with self._changed:
                self._take_in()
                if not self._writer.is_ended:
                    self._add(end())
        finally:
            if generation is not None:
                generation.cancel()
        self._tell_end()

    def _tell_end(self) -> None:
        """Tell of the end, once, if there is one; takes the lock itself."""
        tell: Callable[[ResponseRun], None] = _nobody
        with self._changed:
            if self._writer.is_ended:
                tell, self._on_end = self._on_end, _nobody
                self._generation = None
        tell(self)
