"""Arguments that are written as JSON with bare keys and marks for quotes. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from llamactypes.chat.output.json_scan import is_json
from llamactypes.chat.output.marked_text import MarkedText, escaped
from llamactypes.chat.output.markers import Marker
from llamactypes.chat.output.reading import WordEnd, peek, read_run, read_word
from llamactypes.chat.output.source import (
    BrokenTextError,
    CutOffError,
    Reading,
    Source,
    accept,
)

__all__ = ("UnquotedReader",)

Add = Callable[[str], None]

_DEEPEST = 50
"""Levels of arrays and objects: each is a generator inside another."""

_QUOTE = '"'
_COLON = WordEnd((":",))
_BARE = re.compile(r"[^,\[\]{}]*")
_CONSTANTS = {"True": "true", "False": "false", "None": "null"}
"""Templates write some of them as Python does."""
_CLOSING = {"[": "]", "{": "}"}


class UnquotedReader:
    """Reads ``a:<|"|>x<|"|>,b:{c:1}`` up to a bracket that closes it."""

    def __init__(self, quote: str) -> None:
        self._quote = Marker(quote)
        self._text = MarkedText(self._quote, "")

    def read(self, source: Source, add: Add) -> Reading[None]:
        """Read all arguments and give them to `add` as a JSON object.

        Raises:
            BrokenTextError: They are not as the form says.
            CutOffError: The text is over within them.
        """
        yield from self._read_members(source, add, 0)

    def _read_members(self, source: Source, add: Add, depth: int) -> Reading[None]:
        before = "{"
        while (yield from peek(source)) != "}":
            yield from self._read_key(source, add, before)
            yield from self._read_value(source, add, depth)
            yield from _skip_comma(source, "}")
            before = ", "
        add("{}" if before == "{" else "}")

    def _read_key(self, source: Source, add: Add, before: str) -> Reading[None]:
        if (yield from accept(source, self._quote)):
            add(f'{before}"')
            yield from self._text.read(source, lambda text: add(escaped(text)))
            add('": ')
            yield from _expect(source, ":")
            return
        key = ""
        try:
            key = yield from read_word(source, _COLON)
            yield from _expect(source, ":")
        except CutOffError as cut:
            add(f'{before}"{escaped(key or cut.unread)}')
            raise
        add(f"{before}{json.dumps(key.strip(_QUOTE), ensure_ascii=False)}: ")

    def _read_value(self, source: Source, add: Add, depth: int) -> Reading[None]:
        first = yield from peek(source)
        if first in _CLOSING and depth >= _DEEPEST:
            raise BrokenTextError
        if first == "{":
            source.take(source.pos + 1)
            yield from self._read_members(source, add, depth + 1)
            source.take(source.pos + 1)
        elif first == "[":
            yield from self._read_items(source, add, depth + 1)
        elif (yield from accept(source, self._quote)):
            add('"')
            yield from self._text.read(source, lambda text: add(escaped(text)))
            add('"')
        else:
            yield from _read_bare(source, add)

    def _read_items(self, source: Source, add: Add, depth: int) -> Reading[None]:
        source.take(source.pos + 1)
        add("[")
        before = ""
        while (yield from peek(source)) != "]":
            add(before)
            yield from self._read_value(source, add, depth)
            yield from _skip_comma(source, "]")
            before = ", "
        source.take(source.pos + 1)
        add("]")


def _read_bare(source: Source, add: Add) -> Reading[None]:
    """Read a number or a constant; what is neither is a text without its marks."""
    try:
        written = yield from read_run(source, _BARE)
    except CutOffError as cut:
        add(cut.unread)
        raise
    if not written.strip():
        raise BrokenTextError
    bare = _CONSTANTS.get(written.strip(), written.strip())
    add(bare if is_json(bare) else json.dumps(bare, ensure_ascii=False))


def _expect(source: Source, character: str) -> Reading[None]:
    if (yield from peek(source)) != character:
        raise BrokenTextError
    source.take(source.pos + 1)


def _skip_comma(source: Source, closing: str) -> Reading[None]:
    if (yield from peek(source)) != closing:
        yield from _expect(source, ",")
