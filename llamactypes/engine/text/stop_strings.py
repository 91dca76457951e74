"""Stop sequences, looked for in text that grows. Pure.

Built for the step of one token: what a piece of text costs grows neither with the
length of the stop sequences nor, but for those whose first character is there, with
their number.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

__all__ = ("StopStrings",)


class StopStrings:
    """The stop sequences of one request; false when there are none. Immutable."""

    __slots__ = ("_by_first", "_longest", "_sorted")

    def __init__(self, words: Sequence[str]) -> None:
        """Take `words`; an empty one would match everywhere and is left out."""
        unique = [word for word in dict.fromkeys(words) if word]
        self._sorted = sorted(unique)
        self._longest = max(map(len, unique), default=0)
        self._by_first: dict[str, list[tuple[int, str]]] = {}
        for order, word in enumerate(unique):
            self._by_first.setdefault(word[0], []).append((order, word))

    def __bool__(self) -> bool:
        return bool(self._sorted)

    def find(self, text: str, n_old: int = 0) -> tuple[int, str] | None:
        """Return (position, word) of the word that begins first in `text`, or None.

        Args:
            text: Where to look.
            n_old: Characters that were searched before: no word ends within them.
        """
        best: tuple[int, int, str] | None = None
        for first, entries in self._by_first.items():
            if first not in text:
                continue
            for order, word in entries:
                at = text.find(word, max(0, n_old - len(word) + 1))
                if at >= 0 and (best is None or (at, order) < best[:2]):
                    best = at, order, word
        return None if best is None else (best[0], best[2])

    def n_open(self, text: str) -> int:
        """Return how many last characters of `text` may be the beginning of a word."""
        for at in range(max(0, len(text) - self._longest + 1), len(text)):
            if text[at] in self._by_first and self._some_begins_with(text[at:]):
                return len(text) - at
        return 0

    def _some_begins_with(self, part: str) -> bool:
        """Whether a word longer than `part` begins with it."""
        # In sorted order the words that `part` begins come right behind it.
        at = bisect_right(self._sorted, part)
        return at < len(self._sorted) and self._sorted[at].startswith(part)
