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
    "growing",
    "is_nullable",
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
    return growing(rules, is_nullable)


def _ending_rules(rules: Rules) -> set[str]:
    return growing(rules, _ends)


def growing(rules: Rules, holds: Callable[[Node, set[str]], bool]) -> set[str]:
    """Return the names of rules of which `holds` is true, given those found before."""
    callers: dict[str, list[str]] = {name: [] for name in rules}
    for name, node in rules.items():
        for called in set(named_rules(node)):
            callers[called].append(name)
    found: set[str] = set()
    waiting = list(rules)
    while waiting:
        name = waiting.pop()
        if name not in found and holds(rules[name], found):
            found.add(name)
            # What leads here may hold now.
            waiting += callers[name]
    return found


def is_nullable(node: Node, nullable: set[str]) -> bool:
    """Whether `node` may be no text at all, where the rules of `nullable` may be."""
    match node:
        case Reference(name):
            return name in nullable
        case Sequence(parts):
            return all(is_nullable(part, nullable) for part in parts)
        case Alternatives(ways):
            return any(is_nullable(way, nullable) for way in ways)
        case Repeat(body, low):
            return low == 0 or is_nullable(body, nullable)
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
    # A rule that begins with none that is left may be left out, until all that is left
    # begins with each other.
    ending = growing(
        {name: Alternatives(tuple(map(Reference, first[name]))) for name in rules},
        lambda node, found: all(called in found for called in named_rules(node)),
    )
    for name in rules:
        if name not in ending and _leads_back(name, first):
            why = "left recursion, which is not supported"
            raise ConstraintError(f"grammar, rule {name!r}: {why}")


def _leads_back(name: str, first: dict[str, set[str]]) -> bool:
    seen: set[str] = set()
    waiting = list(first[name])
    while waiting:
        called = waiting.pop()
        if called == name:
            return True
        if called not in seen:
            seen.add(called)
            waiting += first[called]
    return False


def _first_rules(node: Node, nullable: set[str]) -> Iterator[str]:
    """Yield the rules that a text of `node` may begin with."""
    match node:
        case Reference(name):
            yield name
        case Sequence(parts):
            for part in parts:
                yield from _first_rules(part, nullable)
                if not is_nullable(part, nullable):
                    return
        case Alternatives(ways):
            for way in ways:
                yield from _first_rules(way, nullable)
        case Repeat(body):
            yield from _first_rules(body, nullable)
