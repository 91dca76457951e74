"""Tool calls that are one JSON object each, read in any order of its keys. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from llamactypes.chat.output.calls.draft import Draft
from llamactypes.chat.output.calls.json_arguments import (
    read_json_object,
    read_json_string,
)
from llamactypes.chat.output.format import ArgumentForm, Slot, ToolSyntax
from llamactypes.chat.output.markers import Marker
from llamactypes.chat.output.source import (
    BrokenTextError,
    CutOffError,
    Reading,
    Source,
    expect,
)

__all__ = ("EnvelopeReader", "envelope_of")

_MARKS = {Slot.NAME: "\ue000", Slot.ARGUMENTS: '"\ue001"', Slot.ID: "\ue002"}
_MARKS[Slot.INDEX] = "0"
_SLOTS = {"\ue000": Slot.NAME, "\ue001": Slot.ARGUMENTS, "\ue002": Slot.ID}

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
"""Finds where values end. Numbers stay texts: Python refuses very long ones."""

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Envelope:
    """Where in the object of a call its parts are."""

    prefix: Marker
    beginning: Marker
    """The prefix and the object's bracket."""
    suffix: Marker
    slots: dict[Path, Slot]
    constants: dict[Path, object]
    """What else is there, such as ``"type": "function"``."""


def envelope_of(syntax: ToolSyntax) -> Envelope | None:
    """Return how a call of this syntax is a JSON object, or None when it is none."""
    forms = (ArgumentForm.JSON, ArgumentForm.JSON_STRING)
    if syntax.arguments not in forms or not syntax.quotes_names:
        return None
    written = "".join(
        part if isinstance(part, str) else _MARKS[part] for part in syntax.call
    )
    begin, end = written.find("{"), written.rfind("}")
    try:
        example = json.loads(written[begin : end + 1])
    except ValueError:
        return None
    leaves = dict(_leaves(example, ()))
    slots = {
        path: _SLOTS[value]
        for path, value in leaves.items()
        if isinstance(value, str) and value in _SLOTS
    }
    if not {Slot.NAME, Slot.ARGUMENTS} <= set(slots.values()):
        return None
    constants = {path: leaves[path] for path in leaves.keys() - slots.keys()}
    prefix, suffix = Marker(written[:begin]), Marker(written[end + 1 :])
    return Envelope(prefix, Marker(written[: begin + 1]), suffix, slots, constants)


def _leaves(value: object, path: Path) -> Iterator[tuple[Path, object]]:
    if not isinstance(value, dict):
        yield path, value
        return
    for key, inner in value.items():
        yield from _leaves(inner, (*path, key))


class EnvelopeReader:
    """Reads the object of a call as a whole: for models that nothing constrains."""

    is_shown_early = False

    def __init__(self, syntax: ToolSyntax, envelope: Envelope) -> None:
        self._syntax = syntax
        self._envelope = envelope
        self._id = re.compile(syntax.id_pattern)
        self._parents = {path[:-1] for path in envelope.slots} | {()}

    @property
    def beginning(self) -> Marker:
        """What a call begins with."""
        return self._envelope.beginning

    def read(self, source: Source, draft: Draft) -> Reading[None]:
        """Read a call into `draft`; raises as `CallReader.read`."""
        yield from expect(source, self._envelope.prefix)
        parts: list[str] = []
        yield from read_json_object(source, parts.append)
        self._fill(draft, "".join(parts))
        draft.is_complete = True
        yield from expect(source, self._envelope.suffix)

    def _fill(self, draft: Draft, text: str) -> None:
        found: dict[Path, str] = {}
        for path, written in self._members(text, 0, ()):
            if path in found or not self._is_known(path, written):
                # Nobody would see it in a call, and text is not lost.
                raise BrokenTextError
            found[path] = written
        slots = {slot: found.get(path) for path, slot in self._envelope.slots.items()}
        name = slots[Slot.NAME]
        if name is None or not name.startswith('"') or len(name) < len('"a"'):
            raise BrokenTextError
        draft.name = _text_of(name)
        draft.id = _text_of(slots.get(Slot.ID))
        if draft.id and not self._id.fullmatch(draft.id):
            raise BrokenTextError
        draft.add(_object_of(slots[Slot.ARGUMENTS]))

    def _is_known(self, path: Path, written: str) -> bool:
        is_constant = path in self._envelope.constants and written[0] not in "{["
        return path in self._envelope.slots or is_constant

    def _members(self, text: str, pos: int, path: Path) -> Iterator[tuple[Path, str]]:
        """Yield each member's path and JSON text; `text` is valid and an object."""
        pos = _behind_space(text, pos + 1)
        while text[pos] != "}":
            key, pos = _DECODER.raw_decode(text, pos)
            start = _behind_space(text, _behind_space(text, pos) + 1)
            _, pos = _DECODER.raw_decode(text, start)
            inner = (*path, key)
            if inner in self._parents and text[start] == "{":
                yield from self._members(text, start, inner)
            else:
                yield inner, text[start:pos]
            pos = _behind_space(text, pos)
            if text[pos] == ",":
                pos = _behind_space(text, pos + 1)


def _behind_space(text: str, pos: int) -> int:
    match = _SPACE.match(text, pos)
    return pos if match is None else match.end()


def _text_of(written: str | None) -> str:
    """A text from JSON; a number is the text that it is written as."""
    value = "" if written is None else _DECODER.decode(written)
    if not isinstance(value, str):
        raise BrokenTextError
    return value


def _object_of(written: str | None) -> str:
    """The arguments' object; models write it as a text, too, and nothing for none."""
    if written is None or written == "null":
        return "{}"
    if written.startswith("{"):
        return written
    parts: list[str] = []
    source = Source()
    source.add(written)
    source.is_final = True
    reading = read_json_string(source, parts.append)
    try:
        next(reading, None)
    except CutOffError:
        raise BrokenTextError from None
    return "".join(parts)
