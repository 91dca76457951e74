"""GBNF, llama.cpp's grammars, as grammars in llguidance's dialect of Lark. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llamactypes.constraints.gbnf.checks import (
    check_rules,
    reachable_rules,
    without_endless,
)
from llamactypes.constraints.gbnf.loops import with_loops
from llamactypes.constraints.gbnf.parser import parsed_rules
from llamactypes.constraints.gbnf.plan import Planner
from llamactypes.constraints.gbnf.writer import GbnfWriter
from llamactypes.constraints.lark import LarkGrammar

__all__ = ("gbnf_expression", "lark_from_gbnf")


def gbnf_expression(
    text: str,
    grammar: LarkGrammar,
    control_tokens: Mapping[str, int],
    end_tokens: Sequence[int] = (),
) -> str:
    """Add the rules of a grammar in GBNF to `grammar`; return what its root is called.

    Args:
        text: GBNF, with a rule ``root``.
        grammar: Where the rules go.
        control_tokens: Text to number, for tokens that are called by their text.
        end_tokens: What ends a text: "any token but this" is none of them, either.

    Raises:
        ConstraintError: It is no GBNF, is left-recursive or never ends; names the rule.
    """
    rules = parsed_rules(text, control_tokens)
    check_rules(rules)
    rules = without_endless(reachable_rules(rules))
    rules = reachable_rules(with_loops(rules))
    return GbnfWriter(rules, Planner(rules).plan(), grammar, end_tokens).root()


def lark_from_gbnf(text: str, control_tokens: Mapping[str, int] | None = None) -> str:
    """Return the grammar in Lark that the same texts match.

    Args:
        text: GBNF, with a rule ``root``.
        control_tokens: See `gbnf_expression`.

    Raises:
        ConstraintError: See `gbnf_expression`.
    """
    tokens = control_tokens or {}
    grammar = LarkGrammar(tokens)
    return grammar.finish(gbnf_expression(text, grammar, tokens))
