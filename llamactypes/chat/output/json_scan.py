"""Reads one JSON value as its text comes; every character once. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ("MAX_DEPTH", "JsonScanner", "is_json")

MAX_DEPTH = 200
"""Levels of arrays and objects. Readers of JSON that recurse, as Python's own does,
must be able to read what we let through."""

_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
_NUMBER_CHARACTERS = re.compile(r"[0-9+\-.eE]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LITERALS = {"t": "rue", "f": "alse", "n": "ull"}
_CONTROL = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

_WAIT = -1


class JsonScanner:
    """Checks JSON as it comes, strictly but for what models do to strings.

    In strings, control characters and backslashes that begin no escape are escaped:
    models write such texts, and escaped they are what the model meant.
    """

    __slots__ = (
        "_from",
        "_is_key",
        "_number",
        "_output",
        "_rest",
        "_stack",
        "_step",
        "is_broken",
        "is_done",
    )

    def __init__(self, *, is_object: bool = False) -> None:
        """Read any value, or only an object."""
        self.is_done = False
        self.is_broken = False
        """What came is not the beginning of a JSON value."""
        self._step: Callable[[JsonScanner, str, int], int] = (
            JsonScanner._object if is_object else JsonScanner._value
        )
        self._stack: list[str] = []
        self._is_key = False
        self._rest = ""
        self._number: list[str] = []
        self._output: list[str] = []
        self._from = 0

    def scan(self, text: str, pos: int) -> int:
        """Go on with `text` from `pos`.

        Returns:
            The position up to which the text is read: its end, or behind the value,
            or where it breaks, or where an escape begins that is not whole.
        """
        self._from = pos
        while pos < len(text) and not (self.is_done or self.is_broken):
            after = self._step(self, text, pos)
            if after == _WAIT:
                break
            pos = after
        self._keep(text, pos)
        return pos

    def output(self) -> str:
        """Return what was read since the last call, as valid JSON."""
        joined = "".join(self._output)
        self._output.clear()
        return joined

    def _keep(self, text: str, end: int) -> None:
        if end > self._from:
            self._output.append(text[self._from : end])
        self._from = end

    def _replace(self, text: str, pos: int, by: str) -> int:
        self._keep(text, pos)
        self._output.append(by)
        self._from = pos + 1
        return pos + 1

    def _break(self, pos: int) -> int:
        self.is_broken = True
        return pos

    # Each step reads something at `pos` and returns the position behind it.

    def _object(self, text: str, pos: int) -> int:
        pos = _behind_space(text, pos)
        if pos < len(text) and text[pos] != "{":
            return self._break(pos)
        return self._value(text, pos)

    def _value(self, text: str, pos: int) -> int:
        pos = _behind_space(text, pos)
        if pos == len(text):
            return pos
        first = text[pos]
        if first == '"':
            return self._begin_string(pos, is_key=False)
        if first in "{[":
            return self._open(first, pos)
        if first in _LITERALS:
            self._rest = _LITERALS[first]
            self._step = JsonScanner._literal
            return pos + 1
        if first in "-0123456789":
            self._number.clear()
            self._step = JsonScanner._in_number
            return pos
        return self._break(pos)

    def _open(self, bracket: str, pos: int) -> int:
        if len(self._stack) >= MAX_DEPTH:
            return self._break(pos)
        self._stack.append(bracket)
        is_object = bracket == "{"
        self._step = JsonScanner._first_key if is_object else JsonScanner._first_item
        return pos + 1

    def _close(self, pos: int) -> int:
        self._stack.pop()
        self._end_value()
        return pos + 1

    def _end_value(self) -> None:
        if self._stack:
            self._step = JsonScanner._after_value
        else:
            self.is_done = True

    def _first_key(self, text: str, pos: int) -> int:
        pos = _behind_space(text, pos)
        if text.startswith("}", pos):
            return self._close(pos)
        return self._key(text, pos)

    def _key(self, text: str, pos: int) -> int:
        pos = _behind_space(text, pos)
        if pos == len(text):
            return pos
        if text[pos] != '"':
            return self._break(pos)
        return self._begin_string(pos, is_key=True)

    def _colon(self, text: str, pos: int) -> int:
        pos = _behind_space(text, pos)
        if pos == len(text):
            return pos
        if text[pos] != ":":
            return self._break(pos)
        self._step = JsonScanner._value
        return pos + 1

    def _first_item(self, text: str, pos: int) -> int:
        pos = _behind_space(text, pos)
        if text.startswith("]", pos):
            return self._close(pos)
        return self._value(text, pos)

    def _after_value(self, text: str, pos: int) -> int:
        pos = _behind_space(text, pos)
        if pos == len(text):
            return pos
        is_object = self._stack[-1] == "{"
        if text[pos] == ",":
            self._step = JsonScanner._key if is_object else JsonScanner._value
            return pos + 1
        if text[pos] == ("}" if is_object else "]"):
            return self._close(pos)
        return self._break(pos)

    def _begin_string(self, pos: int, *, is_key: bool) -> int:
        self._is_key = is_key
        self._step = JsonScanner._in_string
        return pos + 1

    def _in_string(self, text: str, pos: int) -> int:
        run = _PLAIN.match(text, pos)
        if run is not None and run.end() > pos:
            return run.end()
        if text[pos] == '"':
            return self._end_string(pos)
        if text[pos] == "\\":
            return self._escape(text, pos)
        control = text[pos]
        return self._replace(text, pos, _CONTROL.get(control, f"\\u{ord(control):04x}"))

    def _end_string(self, pos: int) -> int:
        if self._is_key:
            self._step = JsonScanner._colon
        else:
            self._end_value()
        return pos + 1

    def _escape(self, text: str, pos: int) -> int:
        whole = _ESCAPE.match(text, pos)
        if whole is not None:
            return whole.end()
        if _CUT_ESCAPE.fullmatch(text, pos):
            return _WAIT
        return self._replace(text, pos, "\\\\")

    def _literal(self, text: str, pos: int) -> int:
        while pos < len(text) and self._rest:
            if text[pos] != self._rest[0]:
                return self._break(pos)
            self._rest = self._rest[1:]
            pos += 1
        if not self._rest:
            self._end_value()
        return pos

    def _in_number(self, text: str, pos: int) -> int:
        run = _NUMBER_CHARACTERS.match(text, pos)
        end = pos if run is None else run.end()
        self._number.append(text[pos:end])
        if end < len(text):
            if _NUMBER.fullmatch("".join(self._number)) is None:
                return self._break(end)
            self._end_value()
        return end


def _behind_space(text: str, pos: int) -> int:
    while pos < len(text) and text[pos] in " \t\n\r":
        pos += 1
    return pos


def is_json(text: str) -> bool:
    """Whether all of `text` is one JSON value, besides white space around it."""
    scanner = JsonScanner()
    # A number is over when something else comes.
    ended = text + " "
    end = scanner.scan(ended, 0)
    return (
        scanner.is_done and not ended[end:].strip() and scanner.output() == ended[:end]
    )
