"""Small readers that the arguments' forms share. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from llamactypes.chat.output.markers import SPACE, tail_of
from llamactypes.chat.output.source import (
    BrokenTextError,
    CutOffError,
    Reading,
    Source,
    more,
    skip_space,
)

__all__ = ("LONGEST_NAME", "WordEnd", "peek", "read_run", "read_word")

LONGEST_NAME = 256
"""Characters of a name, an id or a key: what is longer is no call."""

_NO_WORD = re.compile(r"[\x00-\x1f\x7f]")
_NO_NAME = re.compile(r"[\x00-\x20\x7f]")


class WordEnd:
    """What a word ends at: one of some texts."""

    __slots__ = ("_longest", "_pattern", "_tail")

    def __init__(
        self, firsts: Iterable[str], *, at_space: bool = False, is_quoted: bool = False
    ) -> None:
        """End at one of `firsts`, at white space, or at a quote that is no escape."""
        texts = tuple(first for first in firsts if first)
        self._longest = max(map(len, texts), default=1)
        self._tail = tail_of(texts)
        patterns = [re.escape(text) for text in texts]
        if at_space:
            patterns.append(f"[{SPACE}]")
        if is_quoted:
            patterns.append(r'(?<!\\)"')
        self._pattern = re.compile("|".join(patterns) or r"(?!)")

    def find(self, text: str, pos: int) -> int:
        """Return where it is, or -1."""
        found = self._pattern.search(text, pos)
        return -1 if found is None else found.start()

    def held(self, text: str, pos: int) -> int:
        """Return where the last characters begin that may become it."""
        begins = self._tail.search(text, max(pos, len(text) - self._longest + 1))
        return len(text) if begins is None else begins.start()


def peek(source: Source) -> Reading[str]:
    """Read white space; return the character behind it without reading it.

    Raises:
        CutOffError: There is none.
    """
    yield from skip_space(source)
    while source.is_empty:
        yield from more(source)
    return source.text[source.pos]


def read_word(source: Source, end: WordEnd, *, is_name: bool = False) -> Reading[str]:
    """Read a short text on one line up to where `end` begins; without it.

    A name has no white space within.

    Raises:
        BrokenTextError: It is empty, longer than `LONGEST_NAME` or has control
            characters; nothing but white space is read then.
        CutOffError: The text is over before `end`; has what there is of the word.
    """
    yield from skip_space(source)
    while True:
        found = end.find(source.text, source.pos)
        until = end.held(source.text, source.pos) if found < 0 else found
        word = source.text[source.pos : until].rstrip(SPACE)
        forbidden = _NO_NAME if is_name else _NO_WORD
        if len(word) > LONGEST_NAME or forbidden.search(word):
            raise BrokenTextError
        if found >= 0:
            break
        if source.is_final:
            raise CutOffError(source.text[source.pos :])
        yield
    if not word:
        raise BrokenTextError
    source.take(until)
    return word


def read_run(source: Source, characters: re.Pattern[str]) -> Reading[str]:
    """Read the characters that match, until another comes.

    Raises:
        CutOffError: The text is over before another comes; has what was read.
    """
    parts: list[str] = []
    while True:
        run = characters.match(source.text, source.pos)
        parts.append(source.take(source.pos if run is None else run.end()))
        if not source.is_empty:
            return "".join(parts)
        if source.is_final:
            raise CutOffError("".join(parts))
        yield
