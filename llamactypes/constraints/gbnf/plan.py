"""Which parts of a grammar are terminals. Pure.

llguidance reads terminals by the longest match. A terminal may be as large as that
changes nothing; what is in doubt is taken apart, down to single characters if need be,
with which it never does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from llamactypes.constraints.gbnf.automata import (
    Alphabet,
    Automaton,
    TooLargeError,
    automaton,
    clash,
)
from llamactypes.constraints.gbnf.checks import (
    ROOT,
    growing,
    is_nullable,
    nullable_rules,
)
from llamactypes.constraints.gbnf.nodes import (
    Alternatives,
    Chars,
    Node,
    Reference,
    Repeat,
    Rules,
    Sequence,
    TokenReference,
    children,
    named_rules,
)

__all__ = ("Plan", "Planner")

_MAX_ROUNDS = 400
_MAX_STEPS = 300_000
"""Of looking where terminals meet: some seconds."""
_LONGEST_RUN = 200
"""Parts of one terminal."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a grammar is written."""

    rules: Rules
    """What are rules, by name; in them, the nodes of `terminals` are terminals."""
    terminals: frozenset[Node]


class Planner:
    """Finds the terminals of one grammar."""

    def __init__(self, rules: Rules) -> None:
        self._all = rules
        self._nullable = nullable_rules(rules)
        sets = (node.ranges for node in _nodes(rules) if isinstance(node, Chars))
        self._alphabet = Alphabet(sets)
        self._irregular = _irregular(rules)
        self._apart: set[Node] = set()
        """What is no terminal."""
        self._automata: dict[Node, Automaton] = {}
        self._n_steps = 0
        self._clashes: dict[tuple[int, int, int], bool] = {}
        """By automata, which are kept, and what follows the first."""

    def plan(self) -> Plan:
        """Return which nodes are terminals."""
        if ROOT not in self._irregular:
            # Nothing but one terminal, so there is nothing to mistake.
            root = Reference(ROOT)
            return Plan({ROOT: root}, frozenset((root,)))
        for _ in range(_MAX_ROUNDS):
            plan = self._attempt()
            doubtful = self._doubtful(plan)
            if doubtful is None:
                break
            if not doubtful:
                return plan
            self._apart |= doubtful
        return self._by_characters()

    def _by_characters(self) -> Plan:
        terminals = frozenset(n for n in _nodes(self._all) if isinstance(n, Chars))
        return Plan(self._all, terminals)

    # -- one attempt -----------------------------------------------------------

    def _attempt(self) -> Plan:
        rules: Rules = {}
        terminals: set[Node] = set()
        waiting = [ROOT]
        while waiting:
            name = waiting.pop()
            if name in rules:
                continue
            rules[name] = self._split(self._all[name], terminals)
            waiting += _called(rules[name], terminals)
        return Plan(rules, frozenset(terminals))

    def _split(self, node: Node, terminals: set[Node]) -> Node:
        """Return `node` as a rule's body and add the terminals in it."""
        if self._is_terminal(node):
            terminals.add(node)
            return node
        match node:
            case Sequence(parts):
                runs = self._runs(parts)
                return Sequence(tuple(self._split(run, terminals) for run in runs))
            case Alternatives(ways):
                return Alternatives(self._split_ways(ways, terminals))
            case Repeat(body, low, high):
                return Repeat(self._split(body, terminals), low, high)
            case _:
                return node

    def _split_ways(
        self, ways: tuple[Node, ...], terminals: set[Node]
    ) -> tuple[Node, ...]:
        regular = tuple(way for way in ways if self._is_terminal(way))
        together = Alternatives(regular)
        if 1 < len(regular) < len(ways) and self._is_terminal(together):
            others = [way for way in ways if not self._is_terminal(way)]
            terminals.add(together)
            return (together, *(self._split(way, terminals) for way in others))
        return tuple(self._split(way, terminals) for way in ways)

    def _runs(self, parts: tuple[Node, ...]) -> list[Node]:
        """Return the parts with those that can be one terminal put together."""
        runs: list[Node] = []
        start = 0
        while start < len(parts):
            end = start + 1
            if self._is_terminal(parts[start]):
                end = self._end_of_run(parts, start)
            run = parts[start:end]
            runs.append(run[0] if len(run) == 1 else Sequence(run))
            start = end
        return runs

    def _end_of_run(self, parts: tuple[Node, ...], start: int) -> int:
        end = start
        longest = min(len(parts), start + _LONGEST_RUN)
        while end < longest and self._is_regular(parts[end]):
            end += 1
        while end > start + 1 and Sequence(parts[start:end]) in self._apart:
            end -= 1
        return max(end, start + 1)

    def _is_terminal(self, node: Node) -> bool:
        return node not in self._apart and self._is_regular(node)

    def _is_regular(self, node: Node) -> bool:
        if isinstance(node, TokenReference):
            return False
        return self._irregular.isdisjoint(named_rules(node)) and not any(
            isinstance(inner, TokenReference) for inner in _inner(node)
        )

    # -- whether the longest match is the right one ------------------------------

    def _doubtful(self, plan: Plan) -> set[Node] | None:
        """Return the terminals that must be taken apart; None: it takes too long."""
        found = {node for node in plan.terminals if self._automaton(node) is None}
        if found:
            return found
        if self._n_steps > _MAX_STEPS:
            return None
        follows = _Follows(plan, self._automata, self._nullable)
        made = [(node, self._automata[node]) for node in plan.terminals]
        long = [pair for pair in made if pair[1].later]
        for one, ours in made:
            self._n_steps += len(long)
            following = self._alphabet.alike(follows.after(one))
            found |= {
                other
                for other, theirs in long
                # Most pairs are told apart by their characters alone.
                if ours.first & theirs.first
                and theirs.later & following
                and self._clash(ours, theirs, following)
            }
            if self._n_steps > _MAX_STEPS:
                return None
        return found

    def _clash(self, ours: Automaton, theirs: Automaton, following: int) -> bool:
        key = (id(ours), id(theirs), following)
        self._n_steps += 1
        if key not in self._clashes:
            found, n_steps = clash(ours, theirs, following)
            self._clashes[key] = found
            self._n_steps += n_steps
        return self._clashes[key]

    def _automaton(self, node: Node) -> Automaton | None:
        if node not in self._automata:
            try:
                made = automaton(node, self._all, self._alphabet)
            except TooLargeError:
                return None
            self._automata[node] = made
            self._n_steps += len(made.arrows)
        return self._automata[node]


class _Follows:
    """Which characters may come after each terminal of a plan."""

    def __init__(
        self, plan: Plan, automata: dict[Node, Automaton], nullable: set[str]
    ) -> None:
        self._plan = plan
        self._automata = automata
        self._nullable = nullable
        self._first = dict.fromkeys(plan.rules, 0)
        self._after_rule = dict.fromkeys(plan.rules, 0)
        self._after: dict[Node, int] = dict.fromkeys(plan.terminals, 0)
        while self._find_first():
            continue
        while self._find_after():
            continue

    def after(self, terminal: Node) -> int:
        """Return the set of characters that may come after a terminal."""
        return self._after[terminal]

    def _find_first(self) -> bool:
        before = dict(self._first)
        # The last are called by the first: this way round it is soon done.
        for name, node in reversed(self._plan.rules.items()):
            self._first[name] |= self._first_of(node)
        return before != self._first

    def _first_of(self, node: Node) -> int:
        if node in self._plan.terminals:
            return self._automata[node].first
        match node:
            case Reference(name):
                return self._first[name]
            case Sequence(parts):
                return self._first_in_turn(parts, 0)
            case _:
                found = 0
                for child in children(node):
                    found |= self._first_of(child)
                return found

    def _first_in_turn(self, parts: tuple[Node, ...], otherwise: int) -> int:
        """Return the first characters of `parts`, or of what follows them."""
        found = 0
        for part in parts:
            found |= self._first_of(part)
            if not is_nullable(part, self._nullable):
                return found
        return found | otherwise

    def _find_after(self) -> bool:
        before = (dict(self._after), dict(self._after_rule))
        for name, node in self._plan.rules.items():
            self._put_after(node, self._after_rule[name])
        return before != (self._after, self._after_rule)

    def _put_after(self, node: Node, following: int) -> None:
        if node in self._plan.terminals:
            self._after[node] |= following
            return
        match node:
            case Reference(name):
                self._after_rule[name] |= following
            case Sequence(parts):
                for index, part in enumerate(parts):
                    rest = self._first_in_turn(parts[index + 1 :], following)
                    self._put_after(part, rest)
            case Alternatives(ways):
                for way in ways:
                    self._put_after(way, following)
            case Repeat(body, _, high):
                again = self._first_of(body) if high != 1 else 0
                self._put_after(body, following | again)


def _called(node: Node, terminals: set[Node]) -> Iterator[str]:
    if node in terminals:
        return
    if isinstance(node, Reference):
        yield node.name
    for child in children(node):
        yield from _called(child, terminals)


def _inner(node: Node) -> Iterator[Node]:
    yield node
    for child in children(node):
        yield from _inner(child)


def _nodes(rules: Rules) -> Iterator[Node]:
    for node in rules.values():
        yield from _inner(node)


def _irregular(rules: Rules) -> set[str]:
    """Return the rules that lead to themselves or hold tokens, or lead to such."""

    def is_regular(node: Node, regular: set[str]) -> bool:
        return regular.issuperset(named_rules(node)) and not any(
            isinstance(inner, TokenReference) for inner in _inner(node)
        )

    return set(rules) - growing(rules, is_regular)
