"""What GBNF means, by trying everything: slow, and nothing to get wrong."""

from __future__ import annotations

import random

from llamactypes.constraints.gbnf.nodes import (
    Alternatives,
    Chars,
    Node,
    Reference,
    Repeat,
    Rules,
    Sequence,
)

Memo = dict[tuple[int, int], set[int]]


def matches(rules: Rules, text: str) -> bool:
    """Whether `text` is one of the rule ``root``."""
    return len(text) in _ends(rules, rules["root"], text, 0, {})


def _ends(rules: Rules, node: Node, text: str, start: int, memo: Memo) -> set[int]:
    """Return where a text of `node` that begins at `start` may end."""
    key = (id(node), start)
    if key not in memo:
        memo[key] = set()
        memo[key] = _new_ends(rules, node, text, start, memo)
    return memo[key]


def _new_ends(rules: Rules, node: Node, text: str, start: int, memo: Memo) -> set[int]:
    def after(inner: Node, starts: set[int]) -> set[int]:
        found = [_ends(rules, inner, text, each, memo) for each in starts]
        return set().union(*found)

    match node:
        case Chars(ranges):
            code = ord(text[start]) if start < len(text) else -1
            return {start + 1} if any(a <= code <= b for a, b in ranges) else set()
        case Reference(name):
            return _ends(rules, rules[name], text, start, memo)
        case Sequence(parts):
            ends = {start}
            for part in parts:
                ends = after(part, ends)
            return ends
        case Alternatives(ways):
            return set().union(*(after(way, {start}) for way in ways))
        case Repeat(body, low, high):
            ends, found = {start}, {start} if low == 0 else set()
            for count in range(1, high if high is not None else low + len(text) + 2):
                ends = after(body, ends)
                found |= ends if count >= low else set()
            return found | (after(body, ends) if high is not None and high else set())
    raise TypeError(f"{node} has no text")


def random_gbnf(draw: random.Random, alphabet: list[str]) -> str:
    """Return a small grammar, which may be left-recursive or have no end."""
    names = [f"x{index}" for index in range(draw.choice([1, 2, 3]))]
    called = names + (["root"] if draw.random() < 0.3 else [])
    rules = [
        (name, _expression(draw, 3, called, alphabet)) for name in ("root", *names)
    ]
    return "\n".join(f"{name} ::= {body}" for name, body in rules)


def _expression(
    draw: random.Random, depth: int, names: list[str], alphabet: list[str]
) -> str:
    def inner() -> str:
        return _expression(draw, depth - 1, names, alphabet)

    chance = draw.random()
    if depth <= 0 or chance < 0.35:
        return _atom(draw, names, alphabet)
    if chance < 0.6:
        return " ".join(inner() for _ in range(draw.choice([2, 2, 3])))
    if chance < 0.8:
        ways = [
            inner() if draw.random() < 0.9 else "" for _ in range(draw.choice([2, 3]))
        ]
        return f"({' | '.join(ways)})"
    return f"({inner()}){draw.choice(['*', '+', '?', '{2}', '{1,2}', '{0,3}', '{2,}'])}"


def _atom(draw: random.Random, names: list[str], alphabet: list[str]) -> str:
    chance = draw.random()
    if chance < 0.5:
        return f'"{"".join(draw.choices(alphabet, k=draw.choice([1, 1, 2, 3])))}"'
    if chance < 0.75:
        negated = draw.choice(["", "^"])
        return f"[{negated}{''.join(draw.sample(alphabet, draw.choice([1, 2])))}]"
    return draw.choice(names)
