"""Pieces of grammars, over a vocabulary with every byte."""

from __future__ import annotations

import pytest

from llamactypes.constraints.lark import (
    LarkGrammar,
    escaped,
    literal,
    regex,
    split_tokens,
    string,
)
from llamactypes.errors import ConstraintError
from tests.support.grammar_walks import CONTROL_TOKENS, allows

THINK, THOUGHT, CALL = (
    CONTROL_TOKENS[text] for text in ("<think>", "</think>", "<|call|>")
)
ODD = "a/b\\n\"'\n\t\x00\x7f\u2028[]{}()^$.*+?|#~&-é歪🏋"


@pytest.mark.parametrize("write", [string, lambda text: regex(escaped(text))])
def test_any_text_can_be_a_literal(write):
    assert allows(f"start: {write(ODD)}", ODD)
    assert not allows(f"start: {write(ODD)}", ODD[:-1] + "x")


def test_half_a_surrogate_pair_is_no_literal():
    with pytest.raises(ConstraintError, match="surrogate"):
        string("a\ud83d")


def test_literals_are_cut_at_control_tokens():
    assert split_tokens("a<think>b</think>", CONTROL_TOKENS) == [
        *("a", THINK, "b", THOUGHT)
    ]
    grammar = f"start: {literal('a<|call|>b', CONTROL_TOKENS)}"
    assert allows(grammar, "a", CALL, "b")
    assert not allows(grammar, "a<|call|>b")


def test_the_longest_control_token_counts():
    tokens = {"<a>": 1, "<a>>": 2}
    assert split_tokens("<a>><a>", tokens) == [2, 1]


def test_flexible_space_is_any_or_none():
    text = literal(" a  b<|call|>\n", CONTROL_TOKENS, flexible_space=True)
    grammar = f"start: {text}"
    for text in ("ab", " a\n\tb", "a b"):
        assert allows(grammar, text, CALL)
    assert allows(grammar, "ab", CALL, "\n\n")
    assert not allows(grammar, "a_b", CALL)


def finished(write):
    grammar = LarkGrammar(CONTROL_TOKENS)
    return grammar.finish(write(grammar))


@pytest.mark.parametrize("marker", ["</t>", "<|call|>", "x <|call|> y"])
def test_until_ends_at_the_first_marker(marker):
    grammar = finished(lambda g: f'{g.until(marker)} "end"')
    parts = split_tokens(marker, CONTROL_TOKENS)
    assert allows(grammar, "free </ text", *parts, "end")
    assert allows(grammar, *parts, "end")
    assert not allows(grammar, "free", *parts, *parts, "end")


def test_text_before_a_token_does_not_spell_it():
    grammar = finished(lambda g: f"{g.until('</think>')} {g.text()}")
    assert not allows(grammar, "</think>", THOUGHT)
    assert allows(grammar, "</thin", THOUGHT, "</think>")


def test_text_without_markers_does_not_hold_them():
    grammar = finished(lambda g: g.text(without=["<a>", "<b>"]))
    assert allows(grammar, "")
    assert allows(grammar, "<a <b é")
    assert not allows(grammar, "x<b>")


@pytest.mark.parametrize("tags", [("<think>", "</think>"), ("[T]", "[/T]")])
def test_thinking_comes_first_or_not(tags):
    opened, closed = (split_tokens(tag, CONTROL_TOKENS) for tag in tags)
    schema = '%json {"type": "integer"}'
    grammar = finished(lambda g: f"{g.thinking(*tags, in_reasoning=False)} {schema}")
    assert allows(grammar, "12")
    assert allows(grammar, *opened, "free 1 {\n", *closed, "\n\n12")
    assert allows(grammar, "\n", *opened, *closed, "12")
    assert not allows(grammar, *opened, "free")
    assert not allows(grammar, *opened, "free", *closed, "more")
    assert not allows(grammar, "free", *closed, "12")


def test_thinking_that_the_prompt_opened_must_end():
    grammar = finished(
        lambda g: f'{g.thinking("<think>", "</think>", in_reasoning=True)} "a"'
    )
    assert allows(grammar, "free", THOUGHT, "\na")
    assert not allows(grammar, "a")
    assert not allows(grammar, THINK, "free", THOUGHT, "a")


def test_nested_grammars_keep_their_start():
    inner = "start: B+  // }\nB: /b/"
    grammar = finished(lambda g: f'"(" {g.nested(inner)} ")"')
    assert allows(grammar, "(bb)")
    assert not allows(grammar, "()")
