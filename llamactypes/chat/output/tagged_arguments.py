"""Arguments that are written each by itself, between tags. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from llamactypes.chat.output.format import TaggedArguments
from llamactypes.chat.output.json_arguments import read_json
from llamactypes.chat.output.json_scan import JsonScanner
from llamactypes.chat.output.markers import MORE, NO, SPACE, Marker
from llamactypes.chat.output.reading import read_word
from llamactypes.chat.output.source import (
    BrokenTextError,
    CutOffError,
    Reading,
    Source,
    accept,
    expect,
    more,
)
from llamactypes.chat.output.value_types import TEXT_ONLY, Types, json_of, types_of

__all__ = ("TaggedReader",)

Add = Callable[[str], None]


class TaggedReader:
    """Reads ``before_key key after_key value after_value`` as long as they come."""

    def __init__(self, tagged: TaggedArguments) -> None:
        self._before_key = Marker(tagged.before_key)
        self._separator = Marker(tagged.separator)
        self._after_value = Marker(tagged.after_value)
        self._are_strings_json = tagged.json_strings
        others = [(Marker(text), kind) for kind, text in tagged.after_key_by_type]
        self._after_key = ((Marker(tagged.after_key), "string"), *others)
        self._is_typed = bool(others)
        firsts = (re.escape(marker.first) for marker, _ in self._after_key)
        self._key_end = re.compile("|".join(firsts))
        # A value's own white space is kept: only what the format writes is not its.
        self._lead = _trailing_space(tagged.after_key)
        self._text = _TextEnd(self._after_value, _leading_space(tagged.after_value))

    @property
    def first(self) -> Marker:
        """What the arguments begin with, when there are any."""
        return self._before_key

    def read(
        self, source: Source, add: Add, schema: Mapping[str, Any] | None
    ) -> Reading[None]:
        """Read all arguments and give them to `add` as a JSON object.

        Args:
            source: Where they come from.
            add: Takes JSON text.
            schema: Of the parameters, for the values' types; None: not known.

        Raises:
            BrokenTextError: An argument is not as the format says.
            CutOffError: The text is over within them.
        """
        before = "{"
        while (yield from accept(source, self._before_key)):
            key = yield from self._read_key(source, add, before)
            types = yield from self._read_after_key(source, key, schema)
            add(f"{before}{json.dumps(key, ensure_ascii=False)}: ")
            yield from self._read_value(source, add, types)
            before = ", "
            if self._separator:
                yield from accept(source, self._separator)
        add("{}" if before == "{" else "}")

    def _read_key(self, source: Source, add: Add, before: str) -> Reading[str]:
        try:
            return (yield from read_word(source, self._key_end))
        except CutOffError as cut:
            if cut.unread:
                add(f'{before}"{_escaped(cut.unread)}')
            raise

    def _read_after_key(
        self, source: Source, key: str, schema: Mapping[str, Any] | None
    ) -> Reading[Types]:
        kind = yield from self._read_kind(source)
        if self._is_typed:
            return TEXT_ONLY if kind == "string" else frozenset({kind})
        properties = None if schema is None else schema.get("properties")
        if not isinstance(properties, Mapping):
            return None
        return types_of(properties.get(key), schema)

    def _read_kind(self, source: Source) -> Reading[str]:
        while True:
            ends = [
                (marker.match(source.text, source.pos), kind)
                for marker, kind in self._after_key
            ]
            if not any(end == MORE for end, _ in ends):
                break
            yield from more(source)
        end, kind = max(ends)
        if end == NO:
            raise BrokenTextError
        source.take(end)
        return kind

    def _read_value(self, source: Source, add: Add, types: Types) -> Reading[None]:
        if self._are_strings_json:
            yield from read_json(source, add, JsonScanner())
            yield from expect(source, self._after_value)
            return
        yield from _skip_exactly(source, self._lead)
        if types == TEXT_ONLY:
            add('"')
            yield from self._text.read(source, lambda text: add(_escaped(text)))
            add('"')
            return
        parts: list[str] = []
        try:
            yield from self._text.read(source, parts.append)
        except CutOffError:
            add("".join(parts))
            raise
        add(json_of("".join(parts), types))


class _TextEnd:
    """Reads a text as it is, up to a marker and the white space written before it."""

    def __init__(self, marker: Marker, space: str) -> None:
        self._marker = marker
        self._space = space
        self._beginnings = (space + marker.first, marker.first)

    def read(self, source: Source, add: Add) -> Reading[None]:
        """Read the text, giving it to `add` as it comes, and what ends it.

        Raises:
            CutOffError: The text is over before its end; `add` has all of it.
        """
        searched = source.pos
        while True:
            found = source.text.find(self._marker.first, searched)
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


def _skip_exactly(source: Source, space: str) -> Reading[None]:
    while True:
        rest = source.text[source.pos : source.pos + len(space)]
        if rest == space:
            source.take(source.pos + len(space))
            return
        if not space.startswith(rest):
            return
        yield from more(source)


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _leading_space(text: str) -> str:
    return text[: len(text) - len(text.lstrip(SPACE))]


def _trailing_space(text: str) -> str:
    return text[len(text.rstrip(SPACE)) :]
