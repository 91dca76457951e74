"""Literal texts of a format, found with any white space for theirs. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ("MORE", "NO", "SPACE", "Aliases", "Marker", "tail_of")

SPACE = " \t\r\n"
"""What counts as white space: JSON's. Others, like U+00A0, are text."""

NO = -1
MORE = -2

MOST_SPACE = 200
"""White space within a marker: more is none, or a model that writes nothing else would
be looked at again with every token."""

_RUN_OF_SPACE = re.compile(f"[{SPACE}]+")

Aliases = tuple[tuple[str, str], ...]
"""(What may be written, what it stands for): see `ChatFormat.aliases`."""


class Marker:
    """A literal text; each run of white space in it stands for any, or for none.

    White space before and after is no part of it: whoever reads skips it.
    """

    __slots__ = ("_spellings", "text")

    def __init__(self, text: str, aliases: Aliases = ()) -> None:
        self.text = text
        """As the format has it."""
        bare = text.strip(SPACE)
        spellings = [bare]
        spellings += [
            written for written, meant in aliases if bare and meant.strip(SPACE) == bare
        ]
        self._spellings = tuple(_words(spelling) for spelling in spellings)

    @property
    def firsts(self) -> tuple[str, ...]:
        """What it may begin with; empty for a blank marker, which is everywhere."""
        return tuple(words[0] for words in self._spellings if words)

    def match(self, text: str, pos: int) -> int:
        """Look for the marker at `pos`.

        Returns:
            The position behind it; `NO` when it is not there; `MORE` when `text` ends
            before that is clear.
        """
        for words in self._spellings:
            # The first spelling that is not refuted decides. So the answer does not
            # depend on how much of the text is there.
            end = _match(words, text, pos)
            if end != NO:
                return end
        return NO

    def __bool__(self) -> bool:
        return bool(self._spellings[0])


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in _RUN_OF_SPACE.split(text) if word)


def _match(words: tuple[str, ...], text: str, pos: int) -> int:
    for word in words:
        limit = pos + MOST_SPACE
        while pos < len(text) and text[pos] in SPACE and pos < limit:
            pos += 1
        if not text.startswith(word, pos):
            is_cut = len(text) - pos < len(word) and word.startswith(text[pos:])
            return MORE if is_cut else NO
        pos += len(word)
    return pos


def tail_of(texts: Iterable[str]) -> re.Pattern[str]:
    """Return what finds the last characters that may become one of `texts`."""
    beginnings = {text[:n] for text in texts for n in range(1, len(text))}
    if not beginnings:
        return re.compile("(?!)")
    longest_first = sorted(beginnings, key=len, reverse=True)
    return re.compile(rf"(?:{'|'.join(map(re.escape, longest_first))})\Z")
