"""GBNF, llama.cpp's text form of grammars, read into nodes. Pure.

Follows src/llama-grammar.cpp: what it refuses is refused here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from llamactypes.constraints.gbnf.nodes import (
    ANY,
    Alternatives,
    Chars,
    Node,
    Reference,
    Repeat,
    Rules,
    Sequence,
    TokenReference,
)
from llamactypes.constraints.gbnf.ranges import complement, is_text, text_ranges
from llamactypes.errors import ConstraintError

__all__ = ("parsed_rules",)

_MAX_LENGTH = 100_000
_MAX_DEPTH = 60
_MAX_TIMES = 2000
"""llama.cpp's own bound on repetitions."""
_NAME = re.compile(r"[A-Za-z0-9-]+")
_INTEGER = re.compile(r"[0-9]{1,9}")
_TOKEN = re.compile(r"<\[([0-9]{1,9})\]>")
_NAMED_TOKEN = re.compile(r"<[^>\n]*>")
_SPACE = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
_SPACE_AND_LINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_HEX = {"x": 2, "u": 4, "U": 8}
_ESCAPES = {"t": 9, "r": 13, "n": 10}
_REPEATS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def parsed_rules(text: str, control_tokens: Mapping[str, int]) -> Rules:
    """Return the rules of a grammar by name, in order.

    Args:
        text: GBNF.
        control_tokens: Text to number, for tokens that are called by their text; those
            that are no control tokens stand for their text.

    Raises:
        ConstraintError: The text is no GBNF; names the rule and the line.
    """
    if len(text) > _MAX_LENGTH:
        raise ConstraintError(f"the grammar is longer than {_MAX_LENGTH} characters")
    return _Parser(text, control_tokens).rules()


class _Parser:
    def __init__(self, text: str, control_tokens: Mapping[str, int]) -> None:
        self._text = text
        self._at = 0
        self._control_tokens = control_tokens
        self._rule = ""

    def rules(self) -> Rules:
        found: Rules = {}
        self._skip(_SPACE_AND_LINES)
        while self._at < len(self._text):
            name, node = self._definition()
            # As in llama.cpp, the last definition of a name holds.
            found[name] = node
            self._skip(_SPACE_AND_LINES)
        return found

    def _definition(self) -> tuple[str, Node]:
        self._rule = ""
        name = self._match(_NAME, "a rule's name (letters, digits and '-')")
        self._rule = name
        self._skip(_SPACE)
        if not self._take("::="):
            raise self._wrong("expected '::='")
        self._skip(_SPACE_AND_LINES)
        node = self._alternatives(0)
        if self._at < len(self._text) and self._peek() not in "\r\n":
            raise self._wrong("expected a new line or the end")
        return name, node

    def _alternatives(self, depth: int) -> Node:
        if depth > _MAX_DEPTH:
            raise self._wrong("groups are nested too deep")
        ways = [self._sequence(depth)]
        while self._take("|"):
            self._skip(_SPACE_AND_LINES)
            ways.append(self._sequence(depth))
        return ways[0] if len(ways) == 1 else Alternatives(tuple(ways))

    def _sequence(self, depth: int) -> Node:
        parts: list[Node] = []
        while self._at < len(self._text):
            if (repeat := self._repeat(depth)) is not None:
                if not parts:
                    raise self._wrong("nothing stands before this repeat")
                parts[-1] = Repeat(parts[-1], *repeat)
            elif (part := self._part(depth)) is not None:
                parts.append(part)
            else:
                break
            self._skip_between(depth)
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _skip_between(self, depth: int) -> None:
        self._skip(_SPACE_AND_LINES if depth else _SPACE)

    def _part(self, depth: int) -> Node | None:
        char = self._peek()
        if char == '"':
            return self._literal()
        if char == "[":
            return self._class()
        if char in "<!":
            return self._token()
        if char == "(":
            return self._group(depth)
        if self._take("."):
            return ANY
        if match := _NAME.match(self._text, self._at):
            self._at = match.end()
            return Reference(match[0])
        return None

    def _group(self, depth: int) -> Node:
        self._at += 1
        self._skip(_SPACE_AND_LINES)
        node = self._alternatives(depth + 1)
        if not self._take(")"):
            raise self._wrong("expected ')'")
        return node

    def _literal(self) -> Node:
        self._at += 1
        parts: list[Node] = []
        while not self._take('"'):
            code = self._character()
            if not is_text(code):
                raise self._wrong(f"U+{code:04X} is no character of a text")
            parts.append(Chars(((code, code),)))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _class(self) -> Node:
        self._at += 1
        is_negated = self._take("^")
        ranges: list[tuple[int, int]] = []
        start = self._at
        while not self._take("]"):
            first = last = self._character()
            if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] != "]":
                self._at += 1
                last = self._character()
            ranges.append((first, last))
        if self._at == start + 1:
            raise self._wrong("a character class is empty")
        found = complement(tuple(ranges)) if is_negated else text_ranges(ranges)
        if not found:
            raise self._wrong("a character class holds no character")
        return Chars(found)

    def _character(self) -> int:
        if self._at >= len(self._text):
            raise self._wrong("unexpected end of the grammar")
        char = self._text[self._at]
        self._at += 1
        return ord(char) if char != "\\" else self._escape()

    def _escape(self) -> int:
        char = self._peek()
        self._at += 1
        if char in _HEX:
            return self._hexadecimal(_HEX[char])
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char and char in '\\"[]-':
            return ord(char)
        raise self._wrong(f"unknown escape {chr(92) + char!r}")

    def _hexadecimal(self, size: int) -> int:
        digits = self._text[self._at : self._at + size]
        if not re.fullmatch(f"[0-9A-Fa-f]{{{size}}}", digits):
            raise self._wrong(f"expected {size} hexadecimal digits")
        self._at += size
        return int(digits, 16)

    def _token(self) -> Node:
        is_negated = self._take("!")
        if match := _TOKEN.match(self._text, self._at):
            self._at = match.end()
            return TokenReference(int(match[1]), is_negated)
        name = self._match(_NAMED_TOKEN, "a token, such as <[1000]> or <think>")
        number = self._control_tokens.get(name)
        if number is not None:
            return TokenReference(number, is_negated)
        if is_negated:
            raise self._wrong(f"{name!r} is no control token; write its number")
        return Sequence(tuple(Chars(((ord(char), ord(char)),)) for char in name))

    def _repeat(self, depth: int) -> tuple[int, int | None] | None:
        char = self._peek()
        if char in _REPEATS:
            self._at += 1
            return _REPEATS[char]
        if char != "{":
            return None
        self._at += 1
        self._skip_between(depth)
        low = int(self._match(_INTEGER, "a number"))
        high: int | None = low
        self._skip_between(depth)
        if self._take(","):
            self._skip_between(depth)
            high = self._optional_integer()
            self._skip_between(depth)
        if not self._take("}"):
            raise self._wrong("expected '}'")
        return self._bounds(low, high)

    def _optional_integer(self) -> int | None:
        match = _INTEGER.match(self._text, self._at)
        if match is None:
            return None
        self._at = match.end()
        return int(match[0])

    def _bounds(self, low: int, high: int | None) -> tuple[int, int | None]:
        if low > _MAX_TIMES:
            raise self._wrong(f"more than {_MAX_TIMES} repetitions")
        if high is not None and high < low:
            raise self._wrong("the bounds of a repetition are out of order")
        return low, high

    def _match(self, pattern: re.Pattern[str], expected: str) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise self._wrong(f"expected {expected}")
        self._at = match.end()
        return match[0]

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1] or "\0"

    def _take(self, text: str) -> bool:
        is_there = self._text.startswith(text, self._at)
        self._at += len(text) if is_there else 0
        return is_there

    def _wrong(self, why: str) -> ConstraintError:
        line = self._text.count("\n", 0, self._at) + 1
        rule = f", in rule {self._rule!r}" if self._rule else ""
        rest = self._text[self._at : self._at + 20].split("\n")[0]
        near = f", at {rest!r}" if rest else ", at the end"
        return ConstraintError(f"grammar, line {line}{rule}{near}: {why}")
