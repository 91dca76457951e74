"""How long a model may think: counts the tokens of its thinking, and ends it. Pure.

The states of common/reasoning-budget.cpp. Its sampler compares tokens; here the bytes
of the tags are found, however they are tokenized.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ("ThinkingControl", "ThinkingLimit", "ThinkingWatch")

_ENDS_OF_MARKERS = b">]}"
_SPACE = b" \t\r\n"
_NO_LIMIT = -1
_LONGEST_CHARACTER = 4


class ThinkingControl:
    """Ends the thinking of running generations from outside. Any thread.

    Nobody waits: who asks a moment late has asked one token later.
    """

    __slots__ = ("_n_asked",)

    def __init__(self) -> None:
        self._n_asked = 0

    @property
    def n_asked(self) -> int:
        """How often the end was asked for."""
        return self._n_asked

    def end(self) -> None:
        """End the thinking of each that thinks now."""
        self._n_asked += 1


@dataclass(frozen=True, slots=True)
class ThinkingLimit:
    """What a request says of its thinking."""

    open: bytes
    """What thinking begins with."""
    close: bytes
    """What it ends with."""
    forced: tuple[int, ...]
    """Tokens that end it when it is too long: a message, and the tag."""
    budget: int = _NO_LIMIT
    """Most tokens of each stretch of thinking; 0: none at all; -1: any number."""
    before: bytes = b""
    """The prompt's last bytes, with which `open` may begin."""
    is_thinking: bool = False
    """The prompt ends inside the thinking."""
    n_spent: int = 0
    """Tokens of that thinking which the prompt has already."""
    control: ThinkingControl | None = field(default=None, compare=False)
    """Ends it from outside."""


class _State(enum.Enum):
    OUTSIDE = enum.auto()
    THINKING = enum.auto()
    WAITING = enum.auto()
    """Too long, but in the middle of a character."""
    FORCING = enum.auto()


class ThinkingWatch:
    """Follows one generation's tokens. One thread at a time."""

    __slots__ = (
        "_last_said",
        "_limit",
        "_n_asked",
        "_n_forced",
        "_n_left",
        "_piece",
        "_state",
        "_tail",
    )

    def __init__(self, limit: ThinkingLimit, piece: Callable[[int], bytes]) -> None:
        """Begin behind the prompt.

        Args:
            limit: The request's.
            piece: Gives a token's bytes, those of control tokens, too.
        """
        self._limit = limit
        self._piece = piece
        self._tail = limit.before
        self._last_said = 0
        """The last byte before the tail that is no white space; 0: none came."""
        self._n_left = 0
        self._n_forced = 0
        self._n_asked = 0 if limit.control is None else limit.control.n_asked
        self._state = _State.OUTSIDE
        if limit.is_thinking:
            self._begin(b"", limit.n_spent)

    def forced(self) -> int | None:
        """Return the token that must come next; None: any may."""
        self._look_at_control()
        if self._state is not _State.FORCING:
            return None
        return self._limit.forced[self._n_forced]

    def accept(self, token: int) -> None:
        """Go on behind `token`."""
        if self._state is _State.FORCING:
            self._accept_forced()
            return
        self._tail += self._piece(token)
        if self._state is _State.OUTSIDE:
            self._look_for_open()
        else:
            self._look_for_close()

    def _look_at_control(self) -> None:
        control = self._limit.control
        if control is None or control.n_asked == self._n_asked:
            return
        self._n_asked = control.n_asked
        # Only thinking that goes on can be ended: nothing is remembered for later.
        if self._state is _State.THINKING:
            self._run_out()

    def _accept_forced(self) -> None:
        self._n_forced += 1
        if self._n_forced == len(self._limit.forced):
            self._end(b"")

    def _look_for_open(self) -> None:
        opening = self._limit.open
        at = self._tail.find(opening)
        while at >= 0 and not self._begins_something(at):
            at = self._tail.find(opening, at + 1)
        if at >= 0:
            self._begin(self._tail[at + len(opening) :])
            return
        self._forget(len(opening) - 1)

    def _begins_something(self, at: int) -> bool:
        """Whether a tag is where models think: first of all, or behind a marker."""
        before = self._tail[:at].rstrip(_SPACE)
        last = before[-1] if before else self._last_said
        return not last or last in _ENDS_OF_MARKERS

    def _forget(self, n_kept: int) -> None:
        """Keep what a tag may have begun in."""
        gone = self._tail[: max(0, len(self._tail) - n_kept)].rstrip(_SPACE)
        if gone:
            self._last_said = gone[-1]
        self._tail = self._tail[-n_kept:] if n_kept else b""

    def _look_for_close(self) -> None:
        close = self._limit.close
        at = self._tail.find(close)
        if at >= 0:
            self._end(self._tail[at + len(close) :])
            return
        is_whole = _is_whole(self._tail)
        self._forget(max(len(close) - 1, _LONGEST_CHARACTER))
        if self._state is _State.THINKING:
            self._n_left -= 1
            if self._limit.budget == _NO_LIMIT or self._n_left > 0:
                return
            self._state = _State.WAITING
        if is_whole:
            self._run_out()

    def _begin(self, rest: bytes, n_spent: int = 0) -> None:
        self._state, self._tail = _State.THINKING, rest
        self._n_left = self._limit.budget - n_spent
        if self._limit.budget != _NO_LIMIT and self._n_left <= 0:
            self._run_out()

    def _run_out(self) -> None:
        self._n_forced = 0
        self._state = _State.FORCING if self._limit.forced else _State.THINKING

    def _end(self, rest: bytes) -> None:
        self._state = _State.OUTSIDE
        # A tag right behind is one again.
        self._last_said, self._tail = _ENDS_OF_MARKERS[0], rest


def _is_whole(tail: bytes) -> bool:
    """Whether the bytes end between two characters."""
    for n_behind, byte in enumerate(reversed(tail[-_LONGEST_CHARACTER:])):
        if byte & 0xC0 == 0x80:
            continue
        n_bytes = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
        return n_behind + 1 >= n_bytes
    return True
