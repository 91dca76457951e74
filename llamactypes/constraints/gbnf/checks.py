"""What must hold of a grammar's rules before it is used. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from llamactypes.constraints.gbnf.nodes import (
    EMPTY,
    Alternatives,
    Node,
    Reference,
    Repeat,
    Rules,
    Sequence,
    named_rules,
)
from llamactypes.errors import ConstraintError

__all__ = (
    "ROOT",
    "check_rules",
    "nullable_rules",
    "reachable_rules",
    "without_endless",
)

ROOT = "root"


def check_rules(rules: Rules) -> None:
    """Check that the rules lead somewhere.

    Raises:
        ConstraintError: There is no root, a rule is missing or left-recursive, or no
            text can ever be complete.
    """
    if ROOT not in rules:
        raise ConstraintError(f"grammar does not contain a {ROOT!r} rule")
    for name, node in rules.items():
        for called in named_rules(node):
            if called not in rules:
                message = f"grammar, rule {name!r}: undefined rule {called!r}"
                raise ConstraintError(message)
    _check_left_recursion(rules)
    if ROOT not in _ending_rules(rules):
        raise ConstraintError("grammar: no text that matches it ever ends")


def reachable_rules(rules: Rules) -> Rules:
    """Return the rules that the root leads to."""
    found: dict[str, Node] = {}
    waiting = [ROOT]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = rules[name]
            waiting += named_rules(rules[name])
    return found


def without_endless(rules: Rules) -> Rules:
    """Return the rules without the ways from which no text ever ends."""
    ending = _ending_rules(rules)
    return {name: _pruned(rules[name], ending) for name in rules if name in ending}


def _pruned(node: Node, ending: set[str]) -> Node:
    match node:
        case Sequence(parts):
            return Sequence(tuple(_pruned(part, ending) for part in parts))
        case Alternatives(ways):
            kept = [_pruned(way, ending) for way in ways if _ends(way, ending)]
            return kept[0] if len(kept) == 1 else Alternatives(tuple(kept))
        case Repeat(body) if not _ends(body, ending):
            return EMPTY
        case Repeat(body, low, high):
            return Repeat(_pruned(body, ending), low, high)
        case _:
            return node


def nullable_rules(rules: Rules) -> set[str]:
    """Return the names of the rules that match the empty text."""
    return _growing(rules, _is_nullable)


def _ending_rules(rules: Rules) -> set[str]:
    return _growing(rules, _ends)


def _growing(rules: Rules, holds: Callable[[Node, set[str]], bool]) -> set[str]:
    """Return the names of rules of which `holds` is true, given those found before."""
    found: set[str] = set()
    waiting = set(rules)
    while new := {name for name in waiting if holds(rules[name], found)}:
        found |= new
        waiting -= new
    return found


def _is_nullable(node: Node, nullable: set[str]) -> bool:
    match node:
        case Reference(name):
            return name in nullable
        case Sequence(parts):
            return all(_is_nullable(part, nullable) for part in parts)
        case Alternatives(ways):
            return any(_is_nullable(way, nullable) for way in ways)
        case Repeat(body, low):
            return low == 0 or _is_nullable(body, nullable)
        case _:
            return False


def _ends(node: Node, ending: set[str]) -> bool:
    match node:
        case Reference(name):
            return name in ending
        case Sequence(parts):
            return all(_ends(part, ending) for part in parts)
        case Alternatives(ways):
            return any(_ends(way, ending) for way in ways)
        case Repeat(body, low):
            return low == 0 or _ends(body, ending)
        case _:
            return True


def _check_left_recursion(rules: Rules) -> None:
    nullable = nullable_rules(rules)
    first = {name: set(_first_rules(node, nullable)) for name, node in rules.items()}
    for name in rules:
        seen: set[str] = set()
        waiting = list(first[name])
        while waiting:
            called = waiting.pop()
            if called == name:
                why = "left recursion, which is not supported"
                raise ConstraintError(f"grammar, rule {name!r}: {why}")
            if called not in seen:
                seen.add(called)
                waiting += first[called]


def _first_rules(node: Node, nullable: set[str]) -> Iterator[str]:
    """Yield the rules that a text of `node` may begin with."""
    match node:
        case Reference(name):
            yield name
        case Sequence(parts):
            for part in parts:
                yield from _first_rules(part, nullable)
                if not _is_nullable(part, nullable):
                    return
        case Alternatives(ways):
            for way in ways:
                yield from _first_rules(way, nullable)
        case Repeat(body):
            yield from _first_rules(body, nullable)
