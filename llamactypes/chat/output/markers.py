"""Literal texts of a format, found with any white space for theirs. Pure."""

from __future__ import annotations

import re

__all__ = ("MORE", "NO", "SPACE", "Marker")

SPACE = " \t\r\n"
"""What counts as white space: JSON's. Others, like U+00A0, are text."""

NO = -1
MORE = -2

_RUN_OF_SPACE = re.compile(f"[{SPACE}]+")


class Marker:
    """A literal text; each run of white space in it stands for any, or for none.

    White space before and after is no part of it: whoever reads skips it.
    """

    __slots__ = ("first", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        """As the format has it."""
        self.words = tuple(word for word in _RUN_OF_SPACE.split(text) if word)
        self.first = self.words[0] if self.words else ""
        """What it begins with; empty for a blank marker, which is found everywhere."""

    def match(self, text: str, pos: int) -> int:
        """Look for the marker at `pos`.

        Returns:
            The position behind it; `NO` when it is not there; `MORE` when `text` ends
            before that is clear.
        """
        for word in self.words:
            pos = self._behind_space(text, pos)
            if not text.startswith(word, pos):
                is_cut = len(text) - pos < len(word) and word.startswith(text[pos:])
                return MORE if is_cut else NO
            pos += len(word)
        return pos

    def _behind_space(self, text: str, pos: int) -> int:
        while pos < len(text) and text[pos] in SPACE:
            pos += 1
        return pos

    def __bool__(self) -> bool:
        return bool(self.words)
