"""GBNF: the same texts as llama.cpp's, against a matcher that tries everything."""

from __future__ import annotations

import itertools
import random

import pytest

from llamactypes.constraints.gbnf import gbnf_expression, lark_from_gbnf
from llamactypes.constraints.gbnf.parser import parsed_rules
from llamactypes.constraints.lark import LarkGrammar
from llamactypes.errors import ConstraintError
from tests.support.gbnf_matcher import matches, random_gbnf
from tests.support.grammar_walks import (
    CONTROL_TOKENS,
    END,
    allows,
    compiled,
    walk,
)

THINK, THOUGHT = CONTROL_TOKENS["<think>"], CONTROL_TOKENS["</think>"]
JSON = r"""
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}" ws
array  ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" hex{4}) )* "\"" ws
hex    ::= [0-9a-fA-F]
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9]+)? ws
ws     ::= | " " | "\n" [ \t]{0,20}
"""
SUMS = r"""
root  ::= (expr "=" ws term "\n")+
expr  ::= term ([-+*/] term)*
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num   ::= [0-9]+ ws
ws    ::= [ \t\n]*
"""


@pytest.mark.parametrize(
    ("gbnf", "right", "wrong"),
    [
        ('root ::= "a" "b" | "ab" "c"', ["ab", "abc"], ["a", "abcc"]),
        ('root ::= "a"* "ab"', ["ab", "aaab"], ["aa", "b"]),
        ('root ::= x "ab" | "aa" root\nx ::= "a" x | ""', ["ab", "aaab"], ["aa"]),
        ('root ::= "(" root ")" | "x"', ["x", "((x))"], ["(x", "x)"]),
        ('root ::= [a-c-]+ "é"', ["a-cé"], ["dé", "a"]),
        ("root ::= [^a-c]", ["é", "\n", "🏋"], ["a", ""]),
        (r'root ::= "\x41\u00e9\U0001F3CB\n\"\\"', ['Aé🏋\n"\\'], ["A"]),
        ('root ::= "a"{2} "b"{1,2} "c"{2,} .', ["aabccx", "aabbccc\n"], ["aabcc"]),
        ('root ::= (  # comment\n"a"\n|\n"b" )? # more\n', ["", "a", "b"], ["ab"]),
        ('root ::= a |\n  b\r\na ::= "1"\nb ::= "2"\n', ["1", "2"], ["12"]),
        ('root ::= "1"\nroot ::= "2"', ["2"], ["1"]),
        ('root ::= "🏋️‍♀️💪🏼"{3}', ["🏋️‍♀️💪🏼" * 3], ["🏋️‍♀️💪🏼"]),
        ('root ::= [é] x* [ü]\nx ::= [é] | "(" x ")"', ["éü", "éé(é)ü"], ["é"]),
        (JSON, ['{"a": [1, -2.5e3, {}], "b":\n\t"x\\n"}'], ['{"a": tru}', "[1]"]),
        (SUMS, ["(a1 +2)*b = 3\n", "x=y\n\nz= 1\n"], ["a=", "a=1"]),
    ],
)
def test_texts_match_or_not(gbnf, right, wrong):
    grammar = lark_from_gbnf(gbnf)
    assert [text for text in right if not allows(grammar, text)] == []
    assert [text for text in wrong if allows(grammar, text)] == []


def test_tokens_can_be_named():
    grammar = lark_from_gbnf(
        "root ::= <think> (!</think>)* </think> [a-z]+", CONTROL_TOKENS
    )
    assert allows(grammar, THINK, "any </think>", THINK, THOUGHT, "ok")
    assert not allows(grammar, THINK, "any", THOUGHT)
    by_number = lark_from_gbnf(f'root ::= <[{THINK}]> "x" <y>')
    assert allows(by_number, THINK, "x<y>")


def test_any_other_token_is_no_end():
    grammar = LarkGrammar(CONTROL_TOKENS)
    root = gbnf_expression(f'root ::= !<[{THINK}]> "x"', grammar, {}, (END,))
    assert f"<[^{THINK},{END}]>" in grammar.finish(root)


@pytest.mark.parametrize(
    ("gbnf", "why"),
    [
        ('root :== "x"', "line 1, in rule 'root', at ':== \"x\"': expected '::='"),
        ('a ::= "x"', "does not contain a 'root' rule"),
        ("", "does not contain a 'root' rule"),
        ('root ::= root "a"', "rule 'root': left recursion"),
        ('root ::= a\na ::= b? c "x"\nb ::= "b"\nc ::= a', "left recursion"),
        ("root ::= x", "rule 'root': undefined rule 'x'"),
        ("root ::= this is (not valid GBNF", "at the end: expected ')'"),
        ('root ::= "a" root', "ever ends"),
        ('root ::= "a', "unexpected end"),
        ('root ::= "a"\n  | "b"', "line 2, at '| \"b\"': expected a rule's name"),
        ("root ::= [z", "unexpected end"),
        ("root ::= []", "empty"),
        ("root ::= [z-a]", "no character"),
        (r'root ::= "\q"', "unknown escape"),
        (r'root ::= "\x4"', "2 hexadecimal digits"),
        (r'root ::= "\ud83d"', "no character of a text"),
        ("root ::= *", "nothing stands before"),
        ('root ::= "a"{3', "expected '}'"),
        ('root ::= "a"{x}', "expected a number"),
        ('root ::= "a"{5,2}', "out of order"),
        ('root ::= "a"{5000}', "repetitions"),
        ("root ::= !<nothing>", "no control token"),
        ("root ::= <x", "expected a token"),
        ("root ::= " + "(" * 99, "too deep"),
        ("x" * 600_000, "longer"),
    ],
)
def test_mistakes_are_named(gbnf, why):
    with pytest.raises(ConstraintError) as caught:
        lark_from_gbnf(gbnf)
    assert why in str(caught.value)


def test_random_grammars_have_the_same_texts():
    alphabet = ["a", "b", "é", "ü"]
    texts = [
        "".join(t) for n in range(4) for t in itertools.product(alphabet, repeat=n)
    ]
    n_compared = 0
    for seed in range(150):
        draw = random.Random(seed)
        gbnf = random_gbnf(draw, [*alphabet, "歪"])
        try:
            grammar = lark_from_gbnf(gbnf)
            compiled(grammar)
        except ConstraintError:
            continue
        rules = parsed_rules(gbnf, {})
        sample = draw.sample(texts, 25)
        found = [text for text in sample if allows(grammar, text)]
        assert found == [text for text in sample if matches(rules, text)], (seed, gbnf)
        walked = walk(grammar, draw, 60)
        assert walked is None or matches(rules, walked.decode()), (seed, gbnf)
        n_compared += 1
    assert n_compared > 50


def test_a_large_grammar_is_planned_in_time():
    n = 300
    rules = [
        f'x{i} ::= "k{i}" "(" (x{(i * 7) % n} | [a-z]+ | "") ")"' for i in range(n)
    ]
    ways = " | ".join(f"x{i}" for i in range(n))
    grammar = lark_from_gbnf("\n".join([f"root ::= ({ways})+", *rules]))
    assert allows(grammar, "k1(k7(abc))k2()")


@pytest.mark.parametrize(("limit", "value"), [("_MAX_STEPS", -1), ("_MAX_ROUNDS", 0)])
def test_what_takes_too_long_to_plan_is_followed_by_characters(
    monkeypatch, limit, value
):
    monkeypatch.setattr(f"llamactypes.constraints.gbnf.plan.{limit}", value)
    grammar = lark_from_gbnf(SUMS)
    assert allows(grammar, "(a1 +2)*b = 3\n")
    assert not allows(grammar, "a=1")


def test_terminals_that_are_too_large_to_look_at_are_taken_apart():
    big = '(("a" | "bc"){0,20} "d"){0,20} (("a" | "bc"){0,20} "e"){0,20}'
    grammar = lark_from_gbnf(f'root ::= x | "(" root ")"\nx ::= {big} "f"')
    assert allows(grammar, "((abcdadaef))")
    assert not allows(grammar, "(abcf)")
