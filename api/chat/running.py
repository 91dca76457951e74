"""Answers that are being written, by the ids that their clients know. Any thread."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence

from llamactypes.engine import Generation

__all__ = ("RunningAnswers",)

_Entry = tuple["weakref.ref[Generation]", ...]


class RunningAnswers:
    """Finds the generations of a reply while they go on; keeps none alive."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}

    def add(self, id: str, generations: Sequence[Generation]) -> None:
        """Remember the generations of the reply `id` until they end."""
        with self._lock:
            # As many as the engine holds at a time: few enough to look at all of them.
            gone = [key for key, entry in self._entries.items() if not _living(entry)]
            for key in gone:
                del self._entries[key]
            self._entries[id] = tuple(map(weakref.ref, generations))

    def find(self, id: str) -> list[Generation]:
        """Return those of the reply `id` that are being computed."""
        with self._lock:
            entry = self._entries.get(id, ())
        return [generation for generation in _living(entry) if generation.is_started]


def _living(entry: _Entry) -> list[Generation]:
    found = (reference() for reference in entry)
    return [each for each in found if each is not None and each.result is None]
