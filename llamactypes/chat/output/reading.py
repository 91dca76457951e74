"""Small readers that the arguments' forms share. Pure."""

from __future__ import annotations

import re

from llamactypes.chat.output.source import (
    BrokenTextError,
    CutOffError,
    Reading,
    Source,
    more,
    skip_space,
)

__all__ = ("LONGEST_NAME", "peek", "read_run", "read_word")

LONGEST_NAME = 256
"""Characters of a name, an id or a key: what is longer is no call."""

_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f]")


def peek(source: Source) -> Reading[str]:
    """Read white space; return the character behind it without reading it.

    Raises:
        CutOffError: There is none.
    """
    yield from skip_space(source)
    while source.is_empty:
        yield from more(source)
    return source.text[source.pos]


def read_word(source: Source, end: re.Pattern[str]) -> Reading[str]:
    """Read a short text on one line up to where `end` begins; without it.

    Raises:
        BrokenTextError: It is empty, longer than `LONGEST_NAME` or has control
            characters; nothing but white space is read then.
        CutOffError: The text is over before `end`; has what there is of the word.
    """
    yield from skip_space(source)
    while True:
        found = end.search(source.text, source.pos)
        until = len(source.text) if found is None else found.start()
        word = source.text[source.pos : until].rstrip(" \t\r\n")
        if len(word) > LONGEST_NAME or _FORBIDDEN.search(word):
            raise BrokenTextError
        if found is not None:
            break
        if source.is_final:
            raise CutOffError(word)
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
