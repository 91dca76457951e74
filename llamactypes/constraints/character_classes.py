"""Classes of characters and escapes of ECMA-262's regular expressions. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from llamactypes.errors import ConstraintError

__all__ = ("CharacterClass", "Escape", "class_of_escape")

Ranges = tuple[tuple[int, int], ...]

_LAST = 0x10FFFF
_DIGITS: Ranges = ((0x30, 0x39),)
_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE: Ranges = (
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
)
# White space in ECMA-262, but not elsewhere: neither \s nor \S makes one, so that
# validators agree.
_DISPUTED: Ranges = ((0xFEFF, 0xFEFF),)
_NAMED = {"d": _DIGITS, "w": _WORD, "s": _SPACE, "S": _SPACE + _DISPUTED}
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}
_HEX = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}")
_PROPERTY = re.compile(r"[pP]\{([A-Za-z_]+=)?[A-Za-z_]+\}")
_LETTER_CONTROL = re.compile(r"c([A-Za-z])")


@dataclass(frozen=True, slots=True)
class CharacterClass:
    """A set of characters."""

    ranges: Ranges = ()
    properties: tuple[str, ...] = ()
    r"""Unicode properties, such as ``\p{L}``, as they are written."""
    is_negated: bool = False

    def with_member(self, member: int | CharacterClass) -> CharacterClass:
        """Return the set with one more character, or those of another class."""
        if isinstance(member, int):
            return replace(self, ranges=(*self.ranges, (member, member)))
        ranges = _complement(member.ranges) if member.is_negated else member.ranges
        return replace(
            self,
            ranges=self.ranges + ranges,
            properties=self.properties + member.properties,
        )

    def with_range(
        self, first: int | CharacterClass, last: int | CharacterClass
    ) -> CharacterClass:
        """Return the set with the characters from `first` to `last`, too.

        Raises:
            ConstraintError: They are no characters, or out of order.
        """
        if not isinstance(first, int) or not isinstance(last, int):
            raise ConstraintError("a range in a character class ends in a class")
        if first > last:
            raise ConstraintError("a range in a character class is out of order")
        return replace(self, ranges=(*self.ranges, (first, last)))

    def written(self) -> str:
        """Return the class in the target's syntax."""
        if not self.ranges and not self.properties:
            # An empty class matches nothing; its opposite matches everything.
            return "(?s:.)" if self.is_negated else r"[^\x{0}-\x{10ffff}]"
        parts = [f"{_hex(low)}-{_hex(high)}" for low, high in self.ranges]
        return f"[{'^' if self.is_negated else ''}{''.join(parts)}{self._properties()}]"

    def _properties(self) -> str:
        return "".join(self.properties)


class Escape(NamedTuple):
    """What an escape means: a character's number or a class."""

    meaning: int | CharacterClass
    length: int
    """In characters, without the backslash."""


def class_of_escape(text: str, at: int) -> Escape | None:
    """Return the meaning of the escape whose backslash is before `at`, if known."""
    char = text[at : at + 1]
    if char.lower() in _NAMED and char:
        ranges = _NAMED.get(char) or _NAMED[char.lower()]
        return Escape(CharacterClass(ranges, is_negated=char.isupper()), 1)
    if match := _HEX.match(text, at):
        return _hexadecimal(match)
    if match := _PROPERTY.match(text, at):
        return Escape(CharacterClass(properties=("\\" + match[0],)), len(match[0]))
    if match := _LETTER_CONTROL.match(text, at):
        return Escape(ord(match[1]) % 32, 2)
    if char in _CONTROLS and not text[at + 1 : at + 2].isdigit():
        return Escape(_CONTROLS[char], 1)
    if char and not (char.isascii() and char.isalnum()):
        return Escape(ord(char), 1)
    return None


def _hexadecimal(match: re.Match[str]) -> Escape | None:
    number = int(match[1] or match[2] or match[3], 16)
    if number > _LAST or 0xD800 <= number <= 0xDFFF:
        return None
    return Escape(number, len(match[0]))


def _complement(ranges: Ranges) -> Ranges:
    found: list[tuple[int, int]] = []
    following = 0
    for low, high in sorted(ranges):
        if low > following:
            found.append((following, low - 1))
        following = max(following, high + 1)
    if following <= _LAST:
        found.append((following, _LAST))
    return tuple(found)


def _hex(number: int) -> str:
    return f"\\x{{{number:x}}}"
