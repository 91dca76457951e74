"""What a GBNF grammar is made of: plain values. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = (
    "ANY",
    "Alternatives",
    "Chars",
    "EMPTY",
    "Node",
    "Reference",
    "Repeat",
    "Rules",
    "Sequence",
    "TokenReference",
    "children",
    "named_rules",
)

Ranges = tuple[tuple[int, int], ...]
"""Of code points, both ends included; sorted, apart from each other."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Reference:
    """Another rule."""

    name: str


@dataclass(frozen=True, slots=True)
class TokenReference:
    """One token of the vocabulary, or any but that."""

    token: int
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other; of none: the empty text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of several."""

    ways: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """One thing several times."""

    body: Node
    low: int
    high: int | None
    """None: without an end."""


Node = Chars | Reference | TokenReference | Sequence | Alternatives | Repeat
Rules = dict[str, Node]

ANY = Chars(((1, 0xD7FF), (0xE000, 0x10FFFF)))
"""No text holds the character 0, or half a surrogate pair."""
EMPTY = Sequence(())


def children(node: Node) -> tuple[Node, ...]:
    """Return what `node` is made of directly."""
    match node:
        case Sequence(parts):
            return parts
        case Alternatives(ways):
            return ways
        case Repeat(body):
            return (body,)
        case _:
            return ()


def named_rules(node: Node) -> Iterator[str]:
    """Return the names of the rules that `node` refers to, as often as it does."""
    if isinstance(node, Reference):
        yield node.name
    for child in children(node):
        yield from named_rules(child)
