"""Text of any kind that a marker ends, given away as it comes. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from llamactypes.chat.output.markers import NO, Marker, tail_of
from llamactypes.chat.output.source import Reading, Source, more

__all__ = ("MarkedText", "escaped")

Add = Callable[[str], None]

_SURROGATES = re.compile("[\ud800-\udfff]")
_AS_IT_IS = json.JSONEncoder(ensure_ascii=False).encode
_ALL_ESCAPED = json.JSONEncoder().encode


def escaped(text: str) -> str:
    """Return `text` as it stands between the quotes of a JSON string."""
    # Surrogates alone are no text that could be sent.
    is_text = text.isascii() or _SURROGATES.search(text) is None
    return (_AS_IT_IS if is_text else _ALL_ESCAPED)(text)[1:-1]


class MarkedText:
    """Reads a text as it is, up to a marker and the white space written before it."""

    def __init__(self, marker: Marker, space: str) -> None:
        """Read up to `marker`, which has one spelling; `space` is no text either."""
        self._marker = marker
        self._first = next(iter(marker.firsts), "")
        self._space = space
        self._longest = len(space + self._first)
        self._tail = tail_of((space + self._first, self._first))

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
        lookback = max(source.pos, len(text) - self._longest + 1)
        begins = self._tail.search(text, lookback)
        return len(text) if begins is None else begins.start()
