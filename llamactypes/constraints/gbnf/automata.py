"""Terminals as automata over characters, to see where two meet. Pure.

Long repetitions are made endless: the automaton then matches more than the terminal,
which only finds more meetings than there are.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator

from llamactypes.constraints.gbnf.nodes import (
    Alternatives,
    Chars,
    Node,
    Ranges,
    Reference,
    Repeat,
    Rules,
    Sequence,
)

__all__ = ("Alphabet", "Automaton", "TooLargeError", "automaton", "clash")

_MAX_STATES = 2000
_MAX_UNROLLED = 24
_MAX_PAIRS = 50_000


class TooLargeError(Exception):
    """An automaton has too many states."""


class Alphabet:
    """The characters of a grammar in classes that it cannot tell apart.

    A set of characters is an integer: one bit for each class.
    """

    def __init__(self, sets: Iterable[Ranges]) -> None:
        edges = {
            edge for ranges in sets for low, high in ranges for edge in (low, high + 1)
        }
        self._edges = sorted(edges)
        self._index = {edge: index for index, edge in enumerate(self._edges)}
        self._bits: dict[Ranges, int] = {}
        self._alike = [self._sharing_a_byte(index) for index in range(len(edges) - 1)]

    def bits(self, ranges: Ranges) -> int:
        """Return the set of characters in `ranges`, which the alphabet was made of."""
        known = self._bits.get(ranges)
        if known is None:
            known = sum(
                (1 << self._index[high + 1]) - (1 << self._index[low])
                for low, high in ranges
            )
            self._bits[ranges] = known
        return known

    def alike(self, bits: int) -> int:
        """Return the set of characters that begin with a byte of one of `bits`.

        Texts are read by bytes: é and ü are told apart by their second ones only.
        """
        found = 0
        for index, others in enumerate(self._alike):
            if bits >> index & 1:
                found |= others
        return found

    def _sharing_a_byte(self, index: int) -> int:
        low, high = self._edges[index], self._edges[index + 1] - 1
        low, high = _block(low)[0], _block(high)[1]
        first = bisect.bisect_right(self._edges, low) - 1
        last = bisect.bisect_right(self._edges, high) - 1
        return (1 << (last + 1)) - (1 << max(first, 0))


def _block(code: int) -> tuple[int, int]:
    """Return the first and last character with the same first byte in UTF-8."""
    size = 1 if code < 0x80 else 0x40 if code < 0x800 else 0x1000
    if code >= 0x10000:
        size = 0x40000
    low = code - code % size
    return low, low + size - 1


class Automaton:
    """States with arrows; state 0 is the first."""

    def __init__(self) -> None:
        self.arrows: list[list[tuple[int, int]]] = [[]]
        """From each state: set of characters, next state."""
        self.empty: list[list[int]] = [[]]
        """From each state: next states without a character."""
        self.end = 0
        self.first = self.later = 0
        """Sets of characters: those that come first, and all that come later."""

    def new_state(self) -> int:
        """Add a state.

        Raises:
            TooLargeError: There are too many.
        """
        if len(self.arrows) >= _MAX_STATES:
            raise TooLargeError
        self.arrows.append([])
        self.empty.append([])
        return len(self.arrows) - 1

    def closed(self) -> None:
        """Put all that is reached without a character into each state's arrows."""
        reached = [self._reached(state) for state in range(len(self.arrows))]
        self.accepting = [self.end in states for states in reached]
        self.arrows = [
            [arrow for state in states for arrow in self.arrows[state]]
            for states in reached
        ]
        # Nothing leads back to the first state.
        self.first = _outgoing(self.arrows[0])
        for arrows in self.arrows[1:]:
            self.later |= _outgoing(arrows)

    def _reached(self, state: int) -> set[int]:
        found = {state}
        waiting = [state]
        while waiting:
            for following in self.empty[waiting.pop()]:
                if following not in found:
                    found.add(following)
                    waiting.append(following)
        return found


def _outgoing(arrows: list[tuple[int, int]]) -> int:
    found = 0
    for bits, _ in arrows:
        found |= bits
    return found


def automaton(node: Node, rules: Rules, alphabet: Alphabet) -> Automaton:
    """Return the automaton of a node without recursion and tokens.

    Raises:
        TooLargeError: It has too many states.
    """
    made = Automaton()
    made.end = _grow(made, node, 0, rules, alphabet)
    made.closed()
    return made


def _grow(
    made: Automaton, node: Node, start: int, rules: Rules, alphabet: Alphabet
) -> int:
    """Add the states of `node` behind `start` and return its last state."""
    match node:
        case Chars(ranges):
            end = made.new_state()
            made.arrows[start].append((alphabet.bits(ranges), end))
            return end
        case Reference(name):
            return _grow(made, rules[name], start, rules, alphabet)
        case Sequence(parts):
            for part in parts:
                start = _grow(made, part, start, rules, alphabet)
            return start
        case Alternatives(ways):
            return _grow_ways(made, ways, start, rules, alphabet)
        case Repeat():
            return _grow_repeat(made, node, start, rules, alphabet)
    raise TypeError(f"{node} is no part of a terminal")


def _grow_ways(
    made: Automaton,
    ways: tuple[Node, ...],
    start: int,
    rules: Rules,
    alphabet: Alphabet,
) -> int:
    end = made.new_state()
    for way in ways:
        begin = made.new_state()
        made.empty[start].append(begin)
        made.empty[_grow(made, way, begin, rules, alphabet)].append(end)
    return end


def _grow_repeat(
    made: Automaton, node: Repeat, start: int, rules: Rules, alphabet: Alphabet
) -> int:
    low, high = min(node.low, _MAX_UNROLLED), node.high
    if high is not None and high > _MAX_UNROLLED:
        high = None
    for _ in range(low):
        start = _grow(made, node.body, start, rules, alphabet)
    end = made.new_state()
    made.empty[start].append(end)
    for _ in range((high or low) - low):
        start = _grow(made, node.body, start, rules, alphabet)
        made.empty[start].append(end)
    if high is None:
        loop = made.new_state()
        made.empty[start].append(loop)
        again = _grow(made, node.body, loop, rules, alphabet)
        made.empty[again] += [loop, end]
    return end


def clash(one: Automaton, other: Automaton, following: int) -> tuple[bool, int]:
    """Return whether the longest match may be the wrong one, and the steps it took.

    That is whether some text that `one` matches goes on, in `other`, with a character
    of `following`, which may come after `one`. They may be the same automaton.
    """
    seen = {(0, 0)}
    waiting = [(0, 0)]
    n_steps = 0
    while waiting:
        ours, theirs = waiting.pop()
        arrows = other.arrows[theirs]
        n_steps += len(arrows) * len(one.arrows[ours]) + 1
        # The empty text is no match: terminals are never empty.
        is_match = one.accepting[ours] and (ours, theirs) != (0, 0)
        if is_match and _outgoing(arrows) & following:
            return True, n_steps
        if len(seen) > _MAX_PAIRS:
            return True, n_steps
        for pair in _pairs(one.arrows[ours], arrows):
            if pair not in seen:
                seen.add(pair)
                waiting.append(pair)
    return False, n_steps


def _pairs(
    ours: list[tuple[int, int]], theirs: list[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield the pairs of states that one character leads to."""
    for mine, my_next in ours:
        for its, its_next in theirs:
            if mine & its:
                yield my_next, its_next
