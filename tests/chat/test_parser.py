"""What the corpus does not show: when pieces come, and settings of the parser."""

from __future__ import annotations

from dataclasses import replace

import pytest

from llamactypes.chat.output.format import ChatFormat, Slot, Tags, ToolSyntax
from llamactypes.chat.output.parser import ChatParser
from llamactypes.chat.output.pieces import Arguments, CallBegin, Content, Reasoning
from tests.chat.corpus import hermes, mistral_nemo, qwen3_coder
from tests.chat.corpus.calls import SCHEMAS
from tests.chat.reading import read

HERMES = hermes.CORPUS.format
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'


def fed(form, *texts, **settings):
    """Return the pieces that come with each text, and at the end."""
    settings.setdefault("with_tools", True)
    parser = ChatParser(form, **settings)
    return [parser.feed(text) for text in texts] + [parser.finish()]


def test_answer_is_given_away_at_once():
    assert fed(HERMES, "Hi", " there", "") == [
        [Content("Hi")],
        [Content(" there")],
        [],
        [],
    ]


def test_only_what_may_become_a_marker_waits():
    assert fed(HERMES, "a <", "b", " <tool", "s>") == [
        [Content("a")],
        [Content(" <"), Content("b")],
        [],
        [Content(" <"), Content("tools>")],
        [],
    ]


def test_constrained_call_is_shown_from_its_first_argument_on():
    shown = fed(
        HERMES,
        '<tool_call>\n{"name": "f", "argu',
        'ments": ',
        '{"a": "x',
        'y"}',
        "}\n</tool_call>",
        streams_arguments=True,
    )
    begin = CallBegin(0, "", "f")
    arguments = [Arguments(0, '{"a": "x'), Arguments(0, 'y"}')]
    assert shown == [[], [], [begin, arguments[0]], [arguments[1]], [], []]


def test_other_calls_are_shown_when_they_are_whole():
    shown = fed(HERMES, CALL[:-1], CALL[-1])
    assert shown == [[], [CallBegin(0, "", "f"), Arguments(0, '{"a": 1}')], []]


def test_call_with_its_id_behind_is_shown_when_it_is_whole():
    text = '[TOOL_CALLS][{"name": "f", "arguments": {}, "id": "abcdefghi"}'
    shown = fed(mistral_nemo.CORPUS.format, text, "]", streams_arguments=True)
    assert shown == [[CallBegin(0, "abcdefghi", "f"), Arguments(0, "{}")], [], []]


def test_constrained_values_between_tags_are_shown_as_they_come():
    shown = fed(
        qwen3_coder.CORPUS.format,
        '<tool_call>\n<function=search>\n<parameter=filter>\n{"a',
        '": [1, "</parameter>"',
        "]}\n</parameter>\n</function>\n</tool_call>",
        streams_arguments=True,
        schemas=SCHEMAS,
    )
    texts = ["".join(p.text for p in ps if isinstance(p, Arguments)) for ps in shown]
    assert texts == ['{"filter": {"a', '": [1, "</parameter>"', "]}}", ""]


def test_cut_off_call_keeps_its_arguments_where_it_was_shown():
    text = CALL[: CALL.index("1}")]
    assert read(HERMES, [text], with_tools=True).content == text
    got = read(HERMES, [text], with_tools=True, streams_arguments=True)
    assert (got.content, got.calls) == ("", [("", "f", '{"a": ')])


def test_name_alone_is_no_call_even_where_calls_are_shown_early():
    text = '<tool_call>\n{"name": "f", "arguments": '
    got = read(HERMES, [text], with_tools=True, streams_arguments=True)
    assert (got.content, got.calls) == (text, [])


def test_calls_are_text_without_tools():
    got = read(HERMES, [f"<think>a</think>{CALL}"])
    assert (got.reasoning, got.content, got.calls) == ("a", CALL, [])


def test_thinking_is_text_in_a_format_without_it():
    got = read(replace(HERMES, reasoning=None), ["<think>a</think>b"])
    assert (got.reasoning, got.content) == ("", "<think>a</think>b")


def test_plain_format_changes_nothing():
    assert read(ChatFormat(), [" a\n", "<b>\n "]).content == " a\n<b>\n "


def test_white_space_around_an_answer_without_markers_stays():
    assert read(HERMES, ["\n a \n"], with_tools=True).content == "\n a \n"


@pytest.mark.parametrize(
    ("in_reasoning", "kind"), [(True, Reasoning), (False, Content)]
)
def test_continued_text_keeps_its_first_space(in_reasoning, kind):
    [first, *_] = fed(HERMES, " on", in_reasoning=in_reasoning, is_continuation=True)
    assert first == [kind(" on")]


def test_answer_that_is_continued_does_not_begin_to_think():
    got = read(HERMES, ["<think>a</think>"], is_continuation=True)
    assert (got.reasoning, got.content) == ("", "<think>a</think>")


def test_reasoning_without_an_opening_tag_begins_the_turn():
    form = ChatFormat(Tags("", "[ANSWER]"))
    got = read(form, ["Hm.\n[ANSWER]\nFour."])
    assert (got.reasoning, got.content) == ("Hm.", "Four.")


def test_closing_tag_of_an_answer_that_the_prompt_opened_is_dropped_at_its_end():
    form = ChatFormat(content=Tags("<answer>", "</answer>"))
    assert read(form, ["Four.\n</answer>\n"]).content == "Four."
    text = "It is </answer> in HTML."
    assert read(form, [text]).content == text


def test_arguments_in_a_text_are_unescaped():
    form = ChatFormat(
        tools=ToolSyntax(
            call=("<", Slot.NAME, ">", Slot.ARGUMENTS, "</>"),
            arguments=ToolSyntax.__dataclass_fields__["arguments"].default.JSON_STRING,
        )
    )
    for text, expected in [
        (r'<f>"{\"a\": \"x\\n\\\"y\u00e9\"}"</>', r'{"a": "x\n\"y\u00e9"}'),
        ('<f>""</>', "{}"),
    ]:
        got = read(form, list(text), with_tools=True)
        assert got.calls == [("", "f", expected)]
    for text in ['<f>"{"</>', '<f>"[]"</>', '<f>"{} x"</>', "<f>{}</>"]:
        assert read(form, list(text), with_tools=True).content == text


def test_long_call_costs_the_same_for_every_token():
    parser = ChatParser(HERMES, with_tools=True)
    parser.feed('<tool_call>\n{"name": "f", "arguments": {"a": "')
    source = parser._source
    for _ in range(1000):
        parser.feed(" word")
        assert len(source.text) - source.pos < 10
    assert len(source.text) < 10
