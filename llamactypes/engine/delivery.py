"""How what the scheduler says reaches the logs. Engine thread only, but for one helper.

Readers wake while a decode runs without the GIL: they format then, and do not contend
for it with the engine. When many are due, their deltas are made then, too, by a thread
that does nothing at any other time: whatever it touches needs no lock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from llamactypes.engine.generation import Generation
from llamactypes.engine.planning.plan import Event
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.threads.helper import Helper

__all__ = ("Delivery",)

_MANY = 9
"""PERF: fewer events are not worth waking a thread for."""


class Delivery:
    """Events that no reader has seen yet, in order."""

    def __init__(
        self,
        live: Mapping[int, tuple[Sequence, Generation]],
        farewell: Callable[[Sequence], None],
    ) -> None:
        """Begin without events.

        Args:
            live: Sequence id to the generation that gets its events.
            farewell: Called before the last event of a sequence is appended.
        """
        self._live = live
        self._farewell = farewell
        self._events: list[Event] = []
        self._helper = Helper("llamactypes-deltas")

    def post(self, event: Event | None) -> None:
        """Note what readers should see at the next `deliver`."""
        if event is not None and not event.is_empty:
            self._events.append(event)

    def deliver(self) -> None:
        """Append everything to the logs."""
        events, self._events = self._events, []
        for event in events:
            self._append(event)

    def begin(self) -> None:
        """Do the same while the engine is in a decode; `end` must follow it.

        What belongs to sequences that ended is appended at once: their samplers go, and
        these are the engine thread's.
        """
        events = self._events
        ended = {event.sequence.id for event in events if event.result is not None}
        if ended:
            self._events = [e for e in events if e.sequence.id in ended]
            self.deliver()
            self._events = [e for e in events if e.sequence.id not in ended]
        if len(self._events) < _MANY:
            self.deliver()
        else:
            self._helper.begin(self.deliver)

    def end(self) -> None:
        """Wait until what was begun is done."""
        self._helper.join()

    def close(self) -> None:
        """Deliver what is left; end the helping thread until it is needed again."""
        self.deliver()
        self._helper.close()

    def _append(self, event: Event) -> None:
        generation = self._live[event.sequence.id][1]
        if event.result is not None:
            self._farewell(event.sequence)
        delta = event.sequence.take_delta() if event.is_due else event.delta
        if delta is not None or event.result is not None:
            generation.append(delta, event.result)
