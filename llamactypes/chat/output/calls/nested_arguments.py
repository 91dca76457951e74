"""Arguments that are tags within tags, each named after its key. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from llamactypes.chat.output.calls.value_types import Types, allows, json_of, types_of
from llamactypes.chat.output.marked_text import MarkedText, escaped
from llamactypes.chat.output.markers import Marker
from llamactypes.chat.output.reading import WordEnd, read_word
from llamactypes.chat.output.source import (
    BrokenTextError,
    CutOffError,
    Reading,
    Source,
    accept,
    expect,
    is_next,
)

__all__ = ("ITEM", "NestedReader")

Add = Callable[[str], None]
Children = list[tuple[str, str]]

ITEM = "item"
"""The tag of each item of an array."""

_DEEPEST = 50
_END = Marker(">")
_OPEN, _CLOSE = Marker("<"), Marker("</")
_KEY_END = WordEnd((">",))
_EMPTY = {"null": "null", "object": "{}", "array": "[]"}


class NestedReader:
    """Reads ``<key>value</key>`` with a mark before each tag as long as they come."""

    def __init__(self, mark: str) -> None:
        self._first = Marker(f"{mark}<")
        self._last = Marker(f"{mark}</")
        self._text = MarkedText(Marker(mark), "")
        self._seen: list[str] = []

    @property
    def firsts(self) -> tuple[str, ...]:
        """What the arguments begin with, when there are any."""
        return self._first.firsts

    def read(
        self, source: Source, add: Add, schema: Mapping[str, Any] | None
    ) -> Reading[str]:
        """Read all arguments; as `TaggedReader.read`."""
        before = "{"
        while not (yield from is_next(source, self._last)):
            if not (yield from accept(source, self._first)):
                break
            self._seen = []
            try:
                key, value = yield from self._read_element(source, schema, schema, 0)
            except CutOffError as cut:
                text = escaped("".join([*self._seen, cut.unread]))
                add(f'{before}"{text}')
                raise
            add(f"{before}{json.dumps(key, ensure_ascii=False)}: {value}")
            before = ", "
        return "{}" if before == "{" else "}"

    def _read_element(
        self, source: Source, around: object, root: object, depth: int
    ) -> Reading[tuple[str, str]]:
        """Read an element behind its first ``<``.

        Args:
            source: Where it comes from.
            around: Schema of what holds it.
            root: Of all the arguments.
            depth: How many elements hold it.

        Returns:
            Its key, and its value as JSON.
        """
        if depth > _DEEPEST:
            raise BrokenTextError
        key = yield from self._read_key(source)
        schema = _part(around, key)
        children: Children = []
        while True:
            text = yield from self._read_text(source)
            if (yield from accept(source, _CLOSE)):
                break
            yield from expect(source, _OPEN)
            if text.strip():
                raise BrokenTextError
            child = yield from self._read_element(source, schema, root, depth + 1)
            children.append(child)
        if (yield from self._read_key(source)) != key or (children and text.strip()):
            raise BrokenTextError
        types = types_of(schema, root)
        return key, _joined(children, types) if children else _scalar(text, types)

    def _read_key(self, source: Source) -> Reading[str]:
        key = yield from read_word(source, _KEY_END)
        self._seen.append(key)
        yield from expect(source, _END)
        return key

    def _read_text(self, source: Source) -> Reading[str]:
        parts: list[str] = []

        def add(text: str) -> None:
            parts.append(text)
            self._seen.append(text)

        yield from self._text.read(source, add)
        return "".join(parts)


def _part(schema: object, key: str) -> object:
    if not isinstance(schema, Mapping):
        return None
    if key == ITEM and "items" in schema:
        return schema["items"]
    properties = schema.get("properties")
    return properties.get(key) if isinstance(properties, Mapping) else None


def _joined(children: Children, types: Types) -> str:
    if allows(types, "array") and all(key == ITEM for key, _ in children):
        return f"[{', '.join(value for _, value in children)}]"
    fields = (f"{json.dumps(key, ensure_ascii=False)}: {v}" for key, v in children)
    return f"{{{', '.join(fields)}}}"


def _scalar(text: str, types: Types) -> str:
    if not text.strip() and types is not None and "string" not in types:
        return next((_EMPTY[kind] for kind in _EMPTY if kind in types), '""')
    return json_of(text, types)
