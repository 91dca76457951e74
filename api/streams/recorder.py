"""What was generated, written down before the events that are made of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import Any

from api.streams.journal import Journal
from llamactypes.engine import Delta, Generation
from llamactypes.engine.request import Progress, Timings

__all__ = ("Recorder", "recorded")


class Recorder:
    """Follows the generations of one session for its journal. The session's thread."""

    def __init__(
        self,
        generations: Sequence[Generation],
        journal: Journal,
        known: Mapping[int, Sequence[Delta]],
    ) -> None:
        """Begin to follow.

        Args:
            generations: Of the session.
            journal: Gets what they say.
            known: How they begin, by their number: the journal has that.
        """
        self._generations = generations if journal.keeps_requests else ()
        self._positions = [len(known.get(i, ())) for i in range(len(generations))]
        self._journal = journal

    def note(self) -> None:
        """Write down what is new."""
        for index, generation in enumerate(self._generations):
            deltas, _ = generation.read(self._positions[index], 0.0)
            self._positions[index] += len(deltas)
            if deltas:
                value = [index, [_value(delta) for delta in deltas]]
                self._journal.tokens(json.dumps(value).encode())


def _value(delta: Delta) -> list[object]:
    """Return a delta as JSON, less its logprobs."""
    progress = None if delta.progress is None else astuple(delta.progress)
    return [delta.text, list(delta.tokens), delta.n_decoded, progress]


def recorded(payloads: Iterable[bytes]) -> dict[int, list[Delta]]:
    """Return by the number of its generation what was written down."""
    found: dict[int, list[Delta]] = {}
    for payload in payloads:
        index, deltas = json.loads(payload)
        found.setdefault(index, []).extend(_delta(*each) for each in deltas)
    return found


def _delta(
    text: str, tokens: list[int], n_decoded: int, progress: list[Any] | None
) -> Delta:
    made = None if progress is None else Progress(*progress)
    return Delta(text, tuple(tokens), (), n_decoded, Timings(), made)
