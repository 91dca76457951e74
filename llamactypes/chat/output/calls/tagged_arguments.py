"""Arguments that are written each by itself, between tags. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from llamactypes.chat.output.calls.json_arguments import read_json
from llamactypes.chat.output.calls.value_types import (
    TEXT_ONLY,
    Types,
    allows,
    json_of,
    types_of,
)
from llamactypes.chat.output.format import TaggedArguments
from llamactypes.chat.output.json_scan import JsonScanner
from llamactypes.chat.output.marked_text import MarkedText, escaped
from llamactypes.chat.output.markers import SPACE, Marker
from llamactypes.chat.output.reading import WordEnd, peek, read_word
from llamactypes.chat.output.source import (
    BrokenTextError,
    CutOffError,
    Reading,
    Source,
    accept,
    expect,
    more,
)

__all__ = ("TaggedReader",)

Add = Callable[[str], None]

_NESTED = {"{": "object", "[": "array"}


class TaggedReader:
    """Reads ``before_key key after_key value after_value`` as long as they come."""

    def __init__(
        self, tagged: TaggedArguments, *, is_constrained: bool = False
    ) -> None:
        """Prepare to read; `is_constrained`: values are of the schema's types."""
        self._is_constrained = is_constrained
        self._before_key = Marker(tagged.before_key)
        self._separator = Marker(tagged.separator)
        self._after_value = Marker(tagged.after_value)
        self._are_strings_json = tagged.json_strings
        self._is_typed = bool(tagged.after_key_by_type)
        self._after_key = _typed(tagged)
        self._key_end = WordEnd(
            first for after, _ in self._after_key for first in after.firsts
        )
        # A value's own white space is kept: only what the format writes is not its.
        self._lead = _trailing_space(tagged.after_key)
        self._text = MarkedText(self._after_value, _leading_space(tagged.after_value))

    @property
    def firsts(self) -> tuple[str, ...]:
        """What the arguments begin with, when there are any."""
        return self._before_key.firsts

    def read(
        self, source: Source, add: Add, schema: Mapping[str, Any] | None
    ) -> Reading[str]:
        """Read all arguments and give them to `add` as a JSON object.

        Args:
            source: Where they come from.
            add: Takes JSON text.
            schema: Of the parameters, for the values' types; None: not known.

        Returns:
            What is missing at the end of the object, to add when it is certain that
            no argument follows.

        Raises:
            BrokenTextError: An argument is not as the format says.
            CutOffError: The text is over within them.
        """
        before = "{"
        while (yield from accept(source, self._before_key)):
            key, types = yield from self._read_key(source, add, before, schema)
            add(f"{before}{json.dumps(key, ensure_ascii=False)}: ")
            if self._is_constrained and (yield from self._is_nested(source, types)):
                yield from read_json(source, add, JsonScanner())
                yield from expect(source, self._after_value)
            else:
                yield from self._read_value(source, add, types)
            before = ", "
            if self._separator:
                yield from accept(source, self._separator)
        return "{}" if before == "{" else "}"

    def _read_key(
        self, source: Source, add: Add, before: str, schema: Mapping[str, Any] | None
    ) -> Reading[tuple[str, Types]]:
        key = ""
        try:
            key = yield from read_word(source, self._key_end)
            said = yield from self._read_types(source)
        except CutOffError as cut:
            if key or cut.unread:
                add(f'{before}"{escaped(key or cut.unread)}')
            raise
        return key, said if self._is_typed else _known_types(schema, key)

    def _read_types(self, source: Source) -> Reading[Types]:
        for after, types in self._after_key:
            if (yield from accept(source, after)):
                return types
        raise BrokenTextError

    def _read_value(self, source: Source, add: Add, types: Types) -> Reading[None]:
        if self._are_strings_json:
            yield from read_json(source, add, JsonScanner())
            yield from expect(source, self._after_value)
            return
        yield from _skip_exactly(source, self._lead)
        if types == TEXT_ONLY:
            add('"')
            yield from self._text.read(source, lambda text: add(escaped(text)))
            add('"')
            return
        if (yield from self._read_nested(source, add, types)):
            return
        parts: list[str] = []
        try:
            yield from self._text.read(source, parts.append)
        except CutOffError:
            add("".join(parts))
            raise
        add(json_of("".join(parts), types))

    def _is_nested(self, source: Source, types: Types) -> Reading[bool]:
        """Whether the value must be an object or an array, as its type has it."""
        if types is None or "string" in types:
            return False
        return (yield from peek(source)) in _NESTED

    def _read_nested(self, source: Source, add: Add, types: Types) -> Reading[bool]:
        """Read an object or an array, whose texts may hold what ends the value.

        Returns:
            Whether there was one; else nothing was read.
        """
        source.mark()
        written: list[str] = []
        try:
            kind = _NESTED.get((yield from peek(source)))
            if kind is not None and allows(types, kind):
                yield from read_json(source, written.append, JsonScanner())
                yield from expect(source, self._after_value)
                source.unmark()
                add("".join(written))
                return True
        except (BrokenTextError, CutOffError):
            # No JSON, or not all of it: a text that begins like it, up to its end tag.
            written.clear()
        source.give_back()
        return False


def _known_types(schema: Mapping[str, Any] | None, key: str) -> Types:
    properties = None if schema is None else schema.get("properties")
    if not isinstance(properties, Mapping):
        return None
    return types_of(properties.get(key), schema)


def _typed(tagged: TaggedArguments) -> tuple[tuple[Marker, Types], ...]:
    """What may follow a key, and the types that it says."""
    texts: dict[str, frozenset[str]] = {tagged.after_key: frozenset({"string"})}
    for kind, text in tagged.after_key_by_type:
        texts[text] = texts.get(text, frozenset()) | {kind}
    return tuple((Marker(text), types) for text, types in texts.items())


def _skip_exactly(source: Source, space: str) -> Reading[None]:
    while True:
        rest = source.text[source.pos : source.pos + len(space)]
        if rest == space:
            source.take(source.pos + len(space))
            return
        if not space.startswith(rest):
            return
        yield from more(source)


def _leading_space(text: str) -> str:
    return text[: len(text) - len(text.lstrip(SPACE))]


def _trailing_space(text: str) -> str:
    return text[len(text.rstrip(SPACE)) :]
