"""Text that comes in pieces, read by generators that wait for more. Pure.

A reader is a generator: it yields when it needs more text than there is, and goes on
when some came or when the text is over. So the readers look like those of a whole
text, each character is read once, and what they make does not depend on the cuts.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import TypeVar

from llamactypes.chat.output.markers import MORE, NO, Marker

__all__ = (
    "BrokenTextError",
    "CutOffError",
    "Reading",
    "Source",
    "accept",
    "expect",
    "is_next",
    "more",
    "skip_space",
)

T = TypeVar("T")
Reading = Generator[None, None, T]

_SPACE = re.compile(r"[ \t\r\n]*")


class BrokenTextError(Exception):
    """What comes next in the source is not what the format says."""


class CutOffError(Exception):
    """The text is over in the middle of something.

    Its argument, if it has one, is what was read of it but not given to anybody.
    """

    @property
    def unread(self) -> str:
        """The argument."""
        return str(self.args[0]) if self.args else ""


class Source:
    """The text that nobody has read yet, and what was read but may be given back.

    Never holds more than the readers look ahead, and the last text that came.
    """

    __slots__ = ("_since_mark", "held", "is_final", "pos", "text")

    def __init__(self) -> None:
        self.text = ""
        self.pos = 0
        """Everything before is read."""
        self.is_final = False
        """No more text comes."""
        self.held: list[str] | None = None
        """What was read since `hold`, for when it turns out to be no call."""
        self._since_mark: list[str] | None = None

    def add(self, text: str) -> None:
        """Put `text` behind what is here."""
        self.text = self.text[self.pos :] + text
        self.pos = 0

    def take(self, end: int) -> str:
        """Read on to `end`, a position in `text`."""
        part = self.text[self.pos : end]
        self.pos = end
        if self.held is not None:
            self.held.append(part)
        if self._since_mark is not None:
            self._since_mark.append(part)
        return part

    def mark(self) -> None:
        """Remember this place for `give_back`; there is one such place."""
        self._since_mark = []

    def give_back(self) -> None:
        """Make what was taken since `mark` unread again."""
        parts, self._since_mark = self._since_mark or [], None
        self.text = "".join(parts) + self.text[self.pos :]
        self.pos = 0
        if self.held is not None and parts:
            del self.held[-len(parts) :]

    def unmark(self) -> None:
        """Forget the place."""
        self._since_mark = None

    def hold(self) -> None:
        """Begin to keep what is read, without what was kept before."""
        self.held = []

    def release(self) -> str:
        """Stop keeping what is read; return what was kept."""
        held, self.held = self.held, None
        return "".join(held or ())

    @property
    def is_empty(self) -> bool:
        """Whether all text that came is read."""
        return self.pos >= len(self.text)


def more(source: Source) -> Reading[None]:
    """Wait for more text.

    Raises:
        CutOffError: None comes.
    """
    if source.is_final:
        raise CutOffError
    yield


def skip_space(source: Source) -> Reading[None]:
    """Read white space, until something else comes or the text is over."""
    while True:
        match = _SPACE.match(source.text, source.pos)
        if match is not None and match.end() > source.pos:
            source.take(match.end())
        if not source.is_empty or source.is_final:
            return
        yield


def is_next(source: Source, marker: Marker) -> Reading[bool]:
    """Read white space; return whether `marker` is behind it, without reading that.

    Raises:
        CutOffError: The text is over before it is clear.
    """
    yield from skip_space(source)
    while (end := marker.match(source.text, source.pos)) == MORE:
        yield from more(source)
    return end != NO


def accept(source: Source, marker: Marker) -> Reading[bool]:
    """Read white space and `marker`; without the marker, only the white space.

    Raises:
        CutOffError: The text is over before it is clear.
    """
    is_there = yield from is_next(source, marker)
    if is_there:
        source.take(marker.match(source.text, source.pos))
    return is_there


def expect(source: Source, marker: Marker) -> Reading[None]:
    """Read white space and `marker`.

    Raises:
        BrokenTextError: Something else is there.
        CutOffError: The text is over before the marker is whole.
    """
    if not (yield from accept(source, marker)):
        raise BrokenTextError
