"""Grammars of turns whose answer has a form: after thinking, in tags, beside calls."""

from __future__ import annotations

import pytest

from llamactypes.chat.output.answer_grammar import answer_grammar, answer_writer
from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax
from llamactypes.chat.output.tool_choice import ToolChoice
from llamactypes.chat.output.tool_grammar import tool_grammar
from llamactypes.constraints.output_form import FormKind, OutputForm
from tests.support.grammar_walks import CONTROL_TOKENS, END, allows

THINK, THOUGHT = CONTROL_TOKENS["<think>"], CONTROL_TOKENS["</think>"]
CALL = CONTROL_TOKENS["<|call|>"]
THINKS = ChatFormat(reasoning=Tags("<think>", "</think>"))
FORM = OutputForm(FormKind.SCHEMA, {"properties": {"a": {"type": "integer"}}}, "f")
JSON = '{"a": 1}'
CHANNELS = ChatFormat(
    reasoning=Tags("<a>think<m>", "<e>"),
    content=Tags("<a>say<m>", "<|call|>"),
    prompted="<a>",
    aliases=(("<a>tell<m>", "<a>say<m>"),),
)
TOOL = {
    "function": {
        "name": "f",
        "parameters": {
            "type": "object",
            "properties": {"b": {"$ref": "#/$defs/B"}},
            "required": ["b"],
            "$defs": {"B": {"type": "string"}},
        },
    }
}
OTHER = {"function": {"name": "g"}}


def turn(format, form=FORM, *, in_reasoning=False):
    return answer_grammar(
        format,
        form,
        in_reasoning=in_reasoning,
        control_tokens=CONTROL_TOKENS,
        end_tokens=(END,),
    )


def test_plain_answers_are_the_form():
    assert allows(turn(ChatFormat()), JSON)
    assert not allows(turn(ChatFormat()), "free" + JSON)


def test_thinking_is_free_and_comes_first():
    assert allows(turn(THINKS), JSON)
    assert allows(turn(THINKS), THINK, "{ free", THOUGHT, "\n\n", JSON)
    assert not allows(turn(THINKS), THINK, "free", THOUGHT, "free")
    inside = turn(THINKS, in_reasoning=True)
    assert allows(inside, "{ free", THOUGHT, JSON)
    assert not allows(inside, JSON)


def test_tags_of_the_answer_may_be_missing():
    format = ChatFormat(content=Tags("<answer>", "</answer>"))
    assert allows(turn(format), f"<answer>\n{JSON}</answer>")
    assert allows(turn(format), f"<answer>{JSON}")
    assert allows(turn(format), JSON)
    assert not allows(turn(format), "<answer></answer>")


def test_tags_that_the_prompt_began_go_on():
    grammar = turn(CHANNELS)
    assert allows(grammar, f"say<m>{JSON}", CALL)
    assert allows(grammar, f"tell<m>{JSON}")
    assert allows(grammar, f"think<m>free<e><a>say<m>{JSON}")
    assert not allows(grammar, JSON)
    assert not allows(grammar, "say<m>free")
    inside = turn(CHANNELS, in_reasoning=True)
    assert allows(inside, f"free<e><a>say<m>{JSON}", CALL)


@pytest.mark.parametrize(
    ("value", "mentions"),
    [
        ('root ::= "<think>" "x"', True),
        (f"root ::= <[{THINK}]> [a-z]+", True),
        ('root ::= "x"', False),
    ],
)
def test_grammars_that_speak_of_thinking_hold_from_the_first_token(value, mentions):
    form = OutputForm(FormKind.GBNF, value, "grammar")
    assert allows(turn(THINKS, form), THINK, "free", THOUGHT, "x") is not mentions
    assert form.mentions("<think>", CONTROL_TOKENS) is mentions


def beside_calls(syntax, *, is_parallel=True):
    return tool_grammar(
        ChatFormat(reasoning=Tags("<think>", "</think>"), tools=syntax),
        [TOOL, OTHER],
        ToolChoice("auto"),
        is_parallel=is_parallel,
        in_reasoning=False,
        control_tokens=CONTROL_TOKENS,
        answer=answer_writer(FORM, CONTROL_TOKENS, (END,)),
    )


def test_a_turn_is_calls_or_has_the_form():
    call = ('<c>{"name": "', Slot.NAME, '", "args": ', Slot.ARGUMENTS, "}</c>")
    grammar = beside_calls(ToolSyntax(call, quotes_names=True))
    assert allows(grammar, JSON)
    assert allows(grammar, THINK, "free", THOUGHT, JSON)
    assert allows(grammar, '<c>{"name": "f", "args": {"b": "x"}}</c>')
    assert not allows(grammar, "free")
    assert not allows(grammar, '<c>{"name": "f", "args": {"a": 1}}</c>')


@pytest.mark.parametrize(
    ("start", "end", "is_parallel", "allowed"),
    [
        ("", "", True, ['{"name": "f", "args": {"b": "x"}}', '{"name":"g","args":{}}']),
        ("[", "]", True, ['[{"name": "f", "args": {"b": "x"}}, {"name": "f", "args": '
                          '{"b": "y"}}]']),
        ("[", "]", False, ['[{"name": "f", "args": {"b": "x"}}]']),
    ],
)  # fmt: skip
def test_calls_that_are_json_do_not_take_the_answers_brace(
    start, end, is_parallel, allowed
):
    call = ('{"name": "', Slot.NAME, '", "args": ', Slot.ARGUMENTS, "}")
    syntax = ToolSyntax(call, start=start, end=end, quotes_names=True)
    grammar = beside_calls(syntax, is_parallel=is_parallel)
    assert allows(grammar, JSON)
    assert allows(grammar, THINK, "free", THOUGHT, '{"a":1}')
    assert [text for text in allowed if not allows(grammar, text)] == []
    assert not allows(grammar, start + '{"name": "f", "args": {"b": 1}}' + end)
    assert not allows(grammar, start + '{"name": "h", "args": {}}' + end)
    both = '[{"name":"g","args":{}}, {"name":"g","args":{}}]'
    assert allows(grammar, both) is (start == "[" and is_parallel)
