"""Text of any kind that a marker ends, given away as it comes. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable

from llamactypes.chat.output.markers import NO, Marker
from llamactypes.chat.output.source import Reading, Source, more

__all__ = ("MarkedText", "escaped")

Add = Callable[[str], None]


def escaped(text: str) -> str:
    """Return `text` as it stands between the quotes of a JSON string."""
    # Surrogates alone are no text that could be sent.
    is_text = not any("\ud800" <= character <= "\udfff" for character in text)
    return json.dumps(text, ensure_ascii=not is_text)[1:-1]


class MarkedText:
    """Reads a text as it is, up to a marker and the white space written before it."""

    def __init__(self, marker: Marker, space: str) -> None:
        """Read up to `marker`, which has one spelling; `space` is no text either."""
        self._marker = marker
        self._first = next(iter(marker.firsts), "")
        self._space = space
        self._beginnings = (space + self._first, self._first)

    def read(self, source: Source, add: Add) -> Reading[None]:
        """Read the text, giving it to `add` as it comes, and what ends it.

        Raises:
            CutOffError: The text is over before its end; `add` has all of it.
        """
        searched = source.pos
        while True:
            found = source.text.find(self._first, searched)
            end = NO if found < 0 else self._marker.match(source.text, found)
            if end >= 0:
                add(source.take(self._without_space(source, found)))
                source.take(end)
                return
            if found >= 0 and end == NO:
                searched = found + 1
                continue
            safe = self._held(source) if found < 0 else found
            add(source.take(self._without_space(source, safe)))
            searched = source.pos
            if source.is_final:
                add(source.take(len(source.text)))
            yield from more(source)
            searched = source.pos

    def _without_space(self, source: Source, end: int) -> int:
        start = end - len(self._space)
        is_there = start >= source.pos and source.text.startswith(self._space, start)
        return start if is_there else end

    def _held(self, source: Source) -> int:
        """Where the last characters begin that may become the end."""
        text = source.text
        longest = len(self._beginnings[0]) - 1
        for start in range(max(source.pos, len(text) - longest), len(text)):
            rest = text[start:]
            if any(beginning.startswith(rest) for beginning in self._beginnings):
                return start
        return len(text)
