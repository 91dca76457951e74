"""What was generated, written down before the events that are made of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from api.streams.journal import Journal
from llamactypes.engine import Delta, Generation

__all__ = ("RecordedDelta", "Recorder", "recorded")

RecordedDelta = tuple[str, tuple[int, ...]]
"""Text and tokens of one increment."""


class Recorder:
    """Follows the generations of one session for its journal. The session's thread."""

    def __init__(self, generations: Sequence[Generation], journal: Journal) -> None:
        self._generations = generations if journal.keeps_requests else ()
        self._positions = [0] * len(generations)
        self._journal = journal

    def note(self) -> None:
        """Write down what is new."""
        for index, generation in enumerate(self._generations):
            deltas, _ = generation.read(self._positions[index], 0.0)
            self._positions[index] += len(deltas)
            written = [_value(delta) for delta in deltas if _has_tokens(delta)]
            if written:
                self._journal.tokens(json.dumps([index, written]).encode())


def _has_tokens(delta: Delta) -> bool:
    return bool(delta.tokens or delta.text)


def _value(delta: Delta) -> list[object]:
    return [delta.text, list(delta.tokens)]


def recorded(payloads: Iterable[bytes]) -> dict[int, list[RecordedDelta]]:
    """Return by generation what was written down."""
    found: dict[int, list[RecordedDelta]] = {}
    for payload in payloads:
        index, deltas = json.loads(payload)
        found.setdefault(index, []).extend(
            (text, tuple(tokens)) for text, tokens in deltas
        )
    return found
