"""Tools, calls and results in words, for templates that know none."""

from __future__ import annotations

import json

import pytest

from llamactypes.chat import ChatTemplate
from llamactypes.chat.learning import learn_format
from llamactypes.chat.output.format import ArgumentForm, ChatFormat, Slot, ToolSyntax
from llamactypes.chat.output.parser import ChatParser
from llamactypes.chat.output.pieces import Arguments, CallBegin
from llamactypes.chat.tool_text import (
    GENERIC,
    calls_as_text,
    example_call,
    tools_described,
)
from tests.chat.conversations import TOOL
from tests.chat.small_templates import TEMPLATES

USER = {"role": "user", "content": "Hi"}


def calls(*arguments):
    return [
        {"type": "function", "function": {"name": f"f{index}", "arguments": each}}
        for index, each in enumerate(arguments)
    ]


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ([], None),
        ([{"role": "system", "content": "Be brief."}], "Be brief."),
        ([{"role": "developer", "content": "Be brief."}], "Be brief."),
        ([{"role": "system", "content": None}], None),
    ],
)
def test_tools_are_described_in_the_system_message(first, expected):
    system, *rest = tools_described([*first, USER], [TOOL], GENERIC)
    assert rest == [USER]
    text = system["content"]
    assert text.startswith(f"{expected}\n\nYou" if expected else "You")
    line = text.partition("<tools>\n")[2].partition("\n</tools>")[0]
    assert json.loads(line) == TOOL["function"]
    assert example_call(GENERIC) in text


def test_description_is_a_part_of_content_in_parts():
    part = {"type": "text", "text": "Be brief."}
    [system] = tools_described([{"role": "system", "content": [part]}], [TOOL], GENERIC)
    assert system["content"][0] == part
    assert system["content"][1]["text"].startswith("You may call")


def test_calls_are_text_of_the_form_that_is_read():
    turn = {
        "role": "assistant",
        "content": "Look:",
        "tool_calls": calls("{}", {"a": 1}),
    }
    [written] = calls_as_text([turn])
    assert "tool_calls" not in written
    parser = ChatParser(ChatFormat(tools=GENERIC), with_tools=True)
    pieces = [*parser.feed(written["content"]), *parser.finish()]
    names = [piece.name for piece in pieces if isinstance(piece, CallBegin)]
    arguments = [piece.text for piece in pieces if isinstance(piece, Arguments)]
    assert names == ["f0", "f1"]
    assert json.loads(arguments[-1]) == {"a": 1}
    assert written["content"].startswith("Look:\n\n<tool_call>")


def test_results_that_follow_each_other_are_one_message():
    parts = [{"type": "text", "text": "two"}]
    results = [{"role": "tool", "content": each} for each in ("one", parts)]
    messages = calls_as_text([*results, USER, results[0]])
    assert [message["role"] for message in messages] == ["user", "user", "user"]
    first = messages[0]["content"]
    assert first == (
        "<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response>"
    )


def test_malformed_calls_are_left_to_whoever_reads_them():
    for wrong in ("x", [1], [{"function": 5}]):
        turn = {"role": "assistant", "content": "", "tool_calls": wrong}
        assert calls_as_text([turn]) == [turn]


@pytest.mark.parametrize(
    "name", ["objects", "list", "ids", "tags", "python", "strings"]
)
def test_example_is_a_call_of_the_syntax(name):
    form = learn_format(ChatTemplate(TEMPLATES[name]))
    assert form.tools is not None
    parser = ChatParser(form, with_tools=True)
    pieces = [*parser.feed(example_call(form.tools)), *parser.finish()]
    assert [piece.name for piece in pieces if isinstance(piece, CallBegin)] == ["name"]
    text = "".join(piece.text for piece in pieces if isinstance(piece, Arguments))
    assert json.loads(text) == {"argument": "value"}


def test_example_has_the_marks_of_its_texts():
    syntax = ToolSyntax(
        call=(Slot.NAME, "{", Slot.ARGUMENTS, "}"),
        arguments=ArgumentForm.UNQUOTED,
        quote="'",
    )
    assert example_call(syntax) == "name{argument:'value'}"
