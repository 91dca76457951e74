"""What a GBNF grammar is made of: plain values. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True, eq=True)
class _Compound:
    """What is made of others. Its hash is remembered: nodes are looked up often."""

    _hash: int = field(init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class Sequence(_Compound):
    """One after the other; of none: the empty text."""

    parts: tuple[Node, ...]

    def __post_init__(self) -> None:
        """Remember the hash."""
        object.__setattr__(self, "_hash", hash((Sequence, self.parts)))

    __hash__ = _Compound.__hash__


@dataclass(frozen=True, slots=True)
class Alternatives(_Compound):
    """One of several."""

    ways: tuple[Node, ...]

    def __post_init__(self) -> None:
        """Remember the hash."""
        object.__setattr__(self, "_hash", hash((Alternatives, self.ways)))

    __hash__ = _Compound.__hash__


@dataclass(frozen=True, slots=True)
class Repeat(_Compound):
    """One thing several times."""

    body: Node
    low: int
    high: int | None
    """None: without an end."""

    def __post_init__(self) -> None:
        """Remember the hash."""
        key = (Repeat, self.body, self.low, self.high)
        object.__setattr__(self, "_hash", hash(key))

    __hash__ = _Compound.__hash__


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
