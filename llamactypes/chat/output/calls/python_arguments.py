"""Arguments that are written as those of a Python call, made JSON. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from llamactypes.chat.output.marked_text import escaped
from llamactypes.chat.output.reading import peek, read_run
from llamactypes.chat.output.source import (
    BrokenTextError,
    CutOffError,
    Reading,
    Source,
    more,
)

__all__ = ("json_of_python", "read_python")

Add = Callable[[str], None]

_DEEPEST = 50
"""Levels of lists and dicts: each is a generator inside another."""

_WORD = re.compile(r"[A-Za-z0-9_]*")
_NUMBER_CHARACTERS = re.compile(r"[0-9A-Za-z+\-._]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_BARE_POINT = re.compile(r"(?<![0-9])\.(?=[0-9])|(?<=[0-9])\.(?![0-9])")
_CONSTANTS = {"True": "true", "False": "false", "None": "null"}
_CONSTANTS |= {name: name for name in ("true", "false", "null")}
_ESCAPE = re.compile(
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U000[0-9a-fA-F]{5}|U0010[0-9a-fA-F]{4}"
    r"|[\\'\"abfnrtv\n])"
)
_CUT_ESCAPE = re.compile(
    r"\\(?:x[0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U0?|U00|U000[0-9a-fA-F]{0,4}"
    r"|U0010?|U0010[0-9a-fA-F]{0,3})?"
)
_SHORT = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_SHORT |= {"v": "\v", "\n": ""}
_PLAIN = {quote: re.compile(rf"[^\\{quote}]*") for quote in "'\""}


def read_python(source: Source, add: Add) -> Reading[None]:
    """Read ``a=1, b="x"`` up to the bracket that closes the call, as a JSON object.

    Raises:
        BrokenTextError: Something is no keyword argument with a plain value.
        CutOffError: The text is over within the arguments.
    """
    before = "{"
    while (yield from peek(source)) != ")":
        name = yield from _read_name(source, add, before)
        if not name:
            raise BrokenTextError
        add(f"{before}{json.dumps(name)}: ")
        yield from _read_value(source, add, 0)
        yield from _skip_comma(source, ")")
        before = ", "
    add("{}" if before == "{" else "}")


def _read_name(source: Source, add: Add, before: str) -> Reading[str]:
    name = ""
    try:
        name = yield from read_run(source, _WORD)
        yield from _expect(source, "=")
    except CutOffError as cut:
        add(f'{before}"{name or cut.unread}')
        raise
    return name


def json_of_python(text: str) -> str | None:
    """Return the JSON of one value in Python's spelling; None when it is none."""
    source = Source()
    parts: list[str] = []
    # A number is over when something else comes.
    source.add(text + " ")
    source.is_final = True
    try:
        for _ in _read_value(source, parts.append, 0):
            return None
    except (BrokenTextError, CutOffError):
        return None
    return None if source.text[source.pos :].strip() else "".join(parts)


def _expect(source: Source, character: str) -> Reading[None]:
    if (yield from peek(source)) != character:
        raise BrokenTextError
    source.take(source.pos + 1)


def _skip_comma(source: Source, closing: str) -> Reading[None]:
    if (yield from peek(source)) != closing:
        yield from _expect(source, ",")


def _read_value(source: Source, add: Add, depth: int) -> Reading[None]:
    first = yield from peek(source)
    if first in "'\"":
        yield from _read_text(source, add)
    elif first in "[(":
        yield from _read_list(source, add, depth + 1)
    elif first == "{":
        yield from _read_dict(source, add, depth + 1)
    else:
        yield from _read_constant(source, add)


def _read_constant(source: Source, add: Add) -> Reading[None]:
    try:
        word = yield from read_run(source, _NUMBER_CHARACTERS)
    except CutOffError as cut:
        add(cut.unread)
        raise
    add(_constant(word))


def _constant(word: str) -> str:
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    number = _BARE_POINT.sub(_with_digits, word.removeprefix("+").replace("_", ""))
    if _NUMBER.fullmatch(number) is None:
        raise BrokenTextError
    return number


def _with_digits(match: re.Match[str]) -> str:
    begins = match.start() == 0 or not match.string[match.start() - 1].isdigit()
    return "0." if begins else ".0"


def _read_list(source: Source, add: Add, depth: int) -> Reading[None]:
    closing = yield from _open(source, depth)
    add("[")
    separator = ""
    while (yield from peek(source)) != closing:
        add(separator)
        yield from _read_value(source, add, depth)
        yield from _skip_comma(source, closing)
        separator = ", "
    source.take(source.pos + 1)
    add("]")


def _read_dict(source: Source, add: Add, depth: int) -> Reading[None]:
    closing = yield from _open(source, depth)
    add("{")
    separator = ""
    while (key := (yield from peek(source))) != closing:
        if key not in "'\"":
            raise BrokenTextError
        add(separator)
        yield from _read_text(source, add)
        yield from _expect(source, ":")
        add(": ")
        yield from _read_value(source, add, depth)
        yield from _skip_comma(source, closing)
        separator = ", "
    source.take(source.pos + 1)
    add("}")


def _open(source: Source, depth: int) -> Reading[str]:
    opening = yield from peek(source)
    if depth > _DEEPEST:
        raise BrokenTextError
    source.take(source.pos + 1)
    return {"[": "]", "(": ")", "{": "}"}[opening]


def _read_text(source: Source, add: Add) -> Reading[None]:
    quote = yield from peek(source)
    source.take(source.pos + 1)
    add('"')
    plain = _PLAIN[quote]
    while True:
        run = plain.match(source.text, source.pos)
        text = source.take(source.pos if run is None else run.end())
        add(escaped(text))
        while source.is_empty:
            yield from more(source)
        if source.text[source.pos] == quote:
            break
        if source.text[source.pos] == "\\":
            add(escaped((yield from _read_escape(source))))
    source.take(source.pos + 1)
    add('"')


def _read_escape(source: Source) -> Reading[str]:
    while _CUT_ESCAPE.fullmatch(source.text, source.pos):
        yield from more(source)
    match = _ESCAPE.match(source.text, source.pos)
    if match is None:
        return source.take(source.pos + 1)  # a backslash that means itself
    kind, digits = match[0][1], match[0][2:]
    source.take(match.end())
    return chr(int(digits, 16)) if digits else _SHORT.get(kind, kind)
