"""Regular expressions of JSON Schema (ECMA-262) in llguidance's syntax. Pure.

What comes out matches whole texts: where the expression is not anchored, any text
stands beside it. What has no exact equal is refused: look-around, references back,
word boundaries, anchors in the middle.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from llamactypes.constraints.character_classes import CharacterClass, class_of_escape
from llamactypes.constraints.lark import escaped
from llamactypes.constraints.unwritable import Unwritable
from llamactypes.errors import ConstraintError

__all__ = ("translated_pattern",)

_ANYTHING = "(?s:.)*"
_MAX_LENGTH = 20_000
_MAX_DEPTH = 50
_MAX_REPEATS = 1_000_000
"""Of one thing, with the repeats of what it stands in."""
_MAX_ALTERNATIVES = 200
_QUANTIFIER = re.compile(r"\{([0-9]{1,9})(,([0-9]{0,9}))?\}")
_FLAGS = re.compile(r"\(\?([is]+)\)")
"""At the beginning, as Python writes them."""
_GROUP = re.compile(r"\?(:|P?<([A-Za-z_$][\w$]*)>|([is]+):)")


@dataclass(frozen=True, slots=True)
class _Term:
    """One thing in a sequence: an anchor, a group that may hold anchors, or text."""

    text: str = ""
    """In the target's syntax, with its quantifier; of a group without anchors too."""
    anchor: str = ""
    group: tuple[tuple[_Term, ...], ...] = ()
    """The alternatives of a group with anchors inside, which is not repeated."""
    flags: str = ""
    """Of that group."""


_Sequence = tuple[_Term, ...]


def translated_pattern(pattern: str, *, whole: bool = False) -> str:
    """Return the expression of every text in which `pattern` is found.

    Args:
        pattern: In ECMA-262's syntax; ``(?P<name>…)`` and ``(?i:…)`` are understood.
        whole: The pattern must match the whole text, as if it were anchored.

    Raises:
        ConstraintError: It is wrong, or has no exact equal.
    """
    if len(pattern) > _MAX_LENGTH:
        raise ConstraintError(f"the pattern is longer than {_MAX_LENGTH} characters")
    flags = _FLAGS.match(pattern)
    alternatives = _Parser(pattern[flags.end() :] if flags else pattern).parse()
    if whole:
        anchored = (
            (_Term(anchor="^"), *way, _Term(anchor="$")) for way in alternatives
        )
        alternatives = list(anchored)
    found = "|".join(_searched(way) for way in _without_groups(alternatives))
    return f"(?{flags[1]}:{found})" if flags else found


def _without_groups(alternatives: Sequence[_Sequence]) -> list[_Sequence]:
    """Return the alternatives with the groups at their ends multiplied out."""
    done: list[_Sequence] = []
    waiting = list(reversed(alternatives))
    while waiting:
        way = waiting.pop()
        at = next((i for i, term in enumerate(way) if term.group), None)
        if at is None:
            done.append(way)
        else:
            group = way[at]
            ways = [way[:at] + inner + way[at + 1 :] for inner in group.group]
            waiting += reversed(ways)
        if len(done) + len(waiting) > _MAX_ALTERNATIVES:
            raise Unwritable("too many alternatives with anchors (^ or $) in them")
    return done


def _searched(way: _Sequence) -> str:
    """Return the expression of the texts in which one alternative is found."""
    terms = list(way)
    is_start = is_end = False
    while terms and terms[0].anchor == "^":
        is_start = True
        del terms[0]
    while terms and terms[-1].anchor == "$":
        is_end = True
        del terms[-1]
    if any(term.anchor for term in terms):
        raise Unwritable(
            "an anchor (^ or $) in the middle of the pattern cannot be honoured"
        )
    body = "".join(term.text for term in terms)
    before, after = "" if is_start else _ANYTHING, "" if is_end else _ANYTHING
    return f"(?:{before}{body}{after})"


class _Parser:
    """Reads one pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._repeats = 1

    def parse(self) -> list[_Sequence]:
        alternatives = self._alternatives(0)
        if self._at < len(self._text):
            raise self._wrong("unmatched ')'")
        return alternatives

    def _alternatives(self, depth: int) -> list[_Sequence]:
        if depth > _MAX_DEPTH:
            raise self._wrong("groups are nested too deep")
        found = [self._sequence(depth)]
        while self._take("|"):
            found.append(self._sequence(depth))
        return found

    def _sequence(self, depth: int) -> _Sequence:
        terms: list[_Term] = []
        while self._at < len(self._text) and self._peek() not in "|)":
            terms.append(self._quantified(depth))
        return tuple(terms)

    def _quantified(self, depth: int) -> _Term:
        start = self._at
        before = self._repeats
        term = self._term(depth)
        inner, self._repeats = self._repeats, before
        quantifier = self._quantifier()
        if quantifier is None:
            self._repeats = max(before, inner)
            return term
        if term.anchor or term.group:
            self._at = start
            raise self._wrong("an anchor (^ or $) cannot be repeated")
        low, high = quantifier
        self._count(max(inner, 1) * max(low, high or 1), before)
        return replace(term, text=term.text + _spelled(low, high))

    def _count(self, repeats: int, before: int) -> None:
        if repeats > _MAX_REPEATS:
            raise self._wrong(f"more than {_MAX_REPEATS} repeats in all")
        self._repeats = max(before, repeats)

    def _quantifier(self) -> tuple[int, int | None] | None:
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self._peek())
        if simple is not None:
            self._at += 1
        elif match := _QUANTIFIER.match(self._text, self._at):
            self._at = match.end()
            simple = self._bounds(match)
        if simple is not None:
            # Lazy or not, the same texts match.
            self._take("?")
        return simple

    def _bounds(self, match: re.Match[str]) -> tuple[int, int | None]:
        low = int(match[1])
        if match[2] is None:
            return low, low
        high = int(match[3]) if match[3] else None
        if high is not None and high < low:
            raise self._wrong("a repeat's bounds are out of order")
        return low, high

    def _term(self, depth: int) -> _Term:
        char = self._next()
        if char in "^$":
            return _Term(anchor=char)
        if char == "(":
            return self._group(depth)
        if char == "[":
            return _Term(self._class().written())
        if char == ".":
            return _Term(r"[^\n\r\x{2028}\x{2029}]")
        if char == "\\":
            return _Term(self._escape())
        if char in "*+?":
            raise self._wrong("nothing to repeat")
        if char == "{" and re.match(r",?[0-9]", self._text[self._at :]):
            raise self._wrong("'{' begins no repeat; write it as \\{")
        return _Term(escaped(char))

    def _group(self, depth: int) -> _Term:
        flags = ""
        if self._peek() == "?":
            match = _GROUP.match(self._text, self._at)
            if match is None:
                raise self._refused_group()
            self._at = match.end()
            flags = match[3] or ""
        alternatives = self._alternatives(depth + 1)
        if not self._take(")"):
            raise self._wrong("a '(' is not closed")
        if any(term.anchor or term.group for way in alternatives for term in way):
            if flags:
                raise self._beyond("an anchor cannot stand in a group with flags")
            return _Term(group=tuple(alternatives))
        ways = ("".join(term.text for term in way) for way in alternatives)
        return _Term(f"(?{flags}:{'|'.join(ways)})")

    def _refused_group(self) -> ConstraintError:
        rest = self._text[self._at :]
        if re.match(r"\?<?[=!]", rest):
            return self._beyond("look-around cannot be honoured")
        return self._wrong("this kind of group is not known")

    def _escape(self) -> str:
        char = self._peek()
        if char in "123456789k" and char:
            raise self._beyond("a reference back to a group cannot be honoured")
        if char in "bBAZz" and char:
            raise self._beyond(f"\\{char} cannot be honoured")
        found = self._class_escape()
        return escaped(chr(found)) if isinstance(found, int) else found.written()

    def _class(self) -> CharacterClass:
        is_negated = self._take("^")
        members = CharacterClass(is_negated=is_negated)
        while not self._take("]"):
            first = self._class_atom()
            if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] != "]":
                self._at += 1
                members = members.with_range(first, self._class_atom())
            else:
                members = members.with_member(first)
        return members

    def _class_atom(self) -> int | CharacterClass:
        if self._at >= len(self._text):
            raise self._wrong("a '[' is not closed")
        char = self._next()
        if char != "\\":
            return ord(char)
        if self._take("b"):
            return 8
        return self._class_escape()

    def _class_escape(self) -> int | CharacterClass:
        found = class_of_escape(self._text, self._at)
        if found is None:
            raise self._wrong("the escape after the backslash is not known")
        self._at += found.length
        return found.meaning

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        char = self._peek()
        self._at += 1
        return char

    def _take(self, text: str) -> bool:
        is_there = self._text.startswith(text, self._at)
        if is_there:
            self._at += len(text)
        return is_there

    def _wrong(self, why: str) -> ConstraintError:
        """Return the error of a mistake."""
        return ConstraintError(self._message(why))

    def _beyond(self, why: str) -> Unwritable:
        """Return the error of what is right, but has no equal."""
        return Unwritable(self._message(why))

    def _message(self, why: str) -> str:
        shown = self._text if len(self._text) <= 80 else self._text[:80] + "…"
        return f"pattern {shown!r}, near position {self._at}: {why}"


def _spelled(low: int, high: int | None) -> str:
    if high is None:
        return {0: "*", 1: "+"}.get(low, f"{{{low},}}")
    return f"{{{low},{high}}}"
