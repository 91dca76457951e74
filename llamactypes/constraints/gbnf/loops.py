"""Rules that call themselves at their end, as loops: the same texts, easier to follow.

``chars ::= [a-z] chars | ""`` is ``[a-z]*``. Pure.
"""

from __future__ import annotations

from llamactypes.constraints.gbnf.nodes import (
    Alternatives,
    Node,
    Reference,
    Repeat,
    Rules,
    Sequence,
    named_rules,
)

__all__ = ("with_loops",)

Parts = tuple[Node, ...]
_MAX_WAYS = 200


def with_loops(rules: Rules) -> Rules:
    """Return the rules without direct recursion at an end."""
    return {name: _looped(name, node) for name, node in rules.items()}


def _looped(name: str, node: Node) -> Node:
    if name not in named_rules(node):
        return node
    ways = _ways(node, name)
    again = [way[:-1] for way in ways if way and way[-1] == Reference(name)]
    done = [way for way in ways if not way or way[-1] != Reference(name)]
    inner = [part for way in (*again, *done) for part in way]
    if (
        not done
        or len(ways) > _MAX_WAYS
        or any(name in named_rules(part) for part in inner)
    ):
        return node
    loop = Repeat(_alternatives(again), 0, None)
    return Sequence((loop, _alternatives(done)))


def _ways(node: Node, name: str) -> list[Parts]:
    """Return the ways of `node` in parts, split as far as the rule is called last."""
    match node:
        case Alternatives(ways):
            return [parts for way in ways for parts in _ways(way, name)]
        case Sequence(parts) if parts and name in named_rules(parts[-1]):
            return [(*parts[:-1], *last) for last in _ways(parts[-1], name)]
        case Sequence(parts):
            return [parts]
        case Repeat(body, 0, 1) if name in named_rules(body):
            return [*_ways(body, name), ()]
        case _:
            return [(node,)]


def _alternatives(ways: list[Parts]) -> Node:
    nodes = [way[0] if len(way) == 1 else Sequence(way) for way in ways]
    return nodes[0] if len(nodes) == 1 else Alternatives(tuple(nodes))
