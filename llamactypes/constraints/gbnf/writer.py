"""A planned grammar, written as Lark. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from llamactypes.constraints.gbnf.checks import ROOT, is_nullable, nullable_rules
from llamactypes.constraints.gbnf.nodes import (
    Alternatives,
    Chars,
    Node,
    Ranges,
    Reference,
    Repeat,
    Rules,
    Sequence,
    TokenReference,
)
from llamactypes.constraints.gbnf.plan import Plan
from llamactypes.constraints.gbnf.ranges import union
from llamactypes.constraints.lark import LarkGrammar, regex, string

__all__ = ("GbnfWriter",)

_NOT_EMPTY = regex("(?s:.+)")


class GbnfWriter:
    """Writes the rules and terminals of one grammar."""

    def __init__(
        self,
        rules: Rules,
        plan: Plan,
        grammar: LarkGrammar,
        end_tokens: Iterable[int] = (),
    ) -> None:
        self._end_tokens = tuple(end_tokens)
        self._all = rules
        self._plan = plan
        self._grammar = grammar
        self._nullable = nullable_rules(rules)
        self._terminals: dict[Node, str] = {}
        self._shared: dict[str, str] = {}

    def root(self) -> str:
        """Write all and return the name of the root's rule."""
        names = {name: self._grammar.new_name("rule") for name in self._plan.rules}
        for name, node in self._plan.rules.items():
            self._grammar.define(names[name], self._body(node, names))
        return names[ROOT]

    def _body(self, node: Node, names: dict[str, str]) -> str:
        """Return the expression of a part of a rule."""
        if node in self._plan.terminals:
            return self._terminal(node)
        match node:
            case TokenReference(token, is_negated):
                return self._one_token(token, is_negated)
            case Reference(name):
                return names[name]
            case Sequence(parts):
                return " ".join(self._body(part, names) for part in parts) or '""'
            case Alternatives(ways):
                return "(" + " | ".join(self._body(way, names) for way in ways) + ")"
            case Repeat(body, low, high):
                return f"({self._body(body, names)}){_times(low, high)}"
        raise TypeError(f"{node} is no part of a rule")

    def _one_token(self, token: int, is_negated: bool) -> str:
        if not is_negated:
            return f"<[{token}]>"
        others = dict.fromkeys((token, *self._end_tokens))
        return f"<[^{','.join(map(str, others))}]>"

    def _terminal(self, node: Node) -> str:
        if node not in self._terminals:
            self._terminals[node] = self._new_terminal(node)
        return self._terminals[node]

    def _new_terminal(self, node: Node) -> str:
        expression = self._token(node)
        if not is_nullable(node, self._nullable):
            return self._grammar.terminal(expression)
        # Terminals are never empty: a rule leaves them out instead.
        whole = self._grammar.terminal(expression)
        return f"({self._grammar.terminal(f'{whole} & {_NOT_EMPTY}')})?"

    def _token(self, node: Node) -> str:
        """Return the expression of a part of a terminal."""
        match node:
            case Chars(ranges):
                only = _only(node)
                return string(only) if only else _written(ranges)
            case Reference(name):
                if name not in self._shared:
                    inner = self._token(self._all[name])
                    self._shared[name] = self._grammar.terminal(inner)
                return self._shared[name]
            case Sequence(parts):
                return self._token_sequence(parts)
            case Alternatives(ways):
                written = " | ".join(self._token(way) for way in _merged(ways))
                return f"({written})"
            case Repeat(body, low, high):
                return f"({self._token(body)}){_times(low, high)}"
        raise TypeError(f"{node} is no part of a terminal")

    def _token_sequence(self, parts: tuple[Node, ...]) -> str:
        text = "".join(_only(part) for part in parts)
        if len(text) == len(parts):
            return string(text)
        return " ".join(self._token(part) for part in parts)


def _merged(ways: tuple[Node, ...]) -> list[Node]:
    """Return the alternatives with all single characters in one set."""
    sets = [way.ranges for way in ways if isinstance(way, Chars)]
    others: list[Node] = [way for way in ways if not isinstance(way, Chars)]
    if not sets:
        return others
    return [Chars(union(pair for ranges in sets for pair in ranges)), *others]


def _only(node: Node) -> str:
    """Return the one character of a node, or nothing."""
    if isinstance(node, Chars):
        (low, high), *others = node.ranges
        if low == high and not others:
            return chr(low)
    return ""


def _written(ranges: Ranges) -> str:
    parts = (f"\\x{{{low:x}}}-\\x{{{high:x}}}" for low, high in ranges)
    return regex(f"[{''.join(parts)}]")


def _times(low: int, high: int | None) -> str:
    simple = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
    return simple or f"{{{low},{'' if high is None else high}}}"
