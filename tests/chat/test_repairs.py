"""Conversations that strict templates refuse, and what is made of them."""

from __future__ import annotations

import copy

import pytest

from llamactypes.chat import ChatTemplate
from llamactypes.chat.templates.repaired import needed_repairs, render_repaired
from llamactypes.chat.templates.repairs import REPAIRS, Talk
from llamactypes.errors import TemplateError, TemplateLimit
from tests.chat.conversations import MATRIX, TOOL, called, said

USER, ANSWER = said("user", "U"), said("assistant", "A")


def refusing(condition, words="no"):
    """Return a template that refuses under a condition on each message `m`."""
    return (
        "{% for m in messages %}{% if "
        + condition
        + " %}{{ raise_exception('"
        + words
        + "') }}{% endif %}[{{ m.role }}:{{ m.content }}"
        "{% for c in m.tool_calls %}({{ c.function.name }} {{ c.id }}){% endfor %}]"
        "{% endfor %}"
    )


def repaired(source, messages, tools=None, needed=False):
    template = ChatTemplate(source)
    tries = []

    def render(talk):
        tries.append(talk)
        return template.render(talk.messages, tools=talk.tools)

    text, talk = render_repaired(
        Talk(messages, tools), render, needed_repairs(template) if needed else ()
    )
    assert talk == tries[-1]
    return text


ALTERNATING = refusing(
    "(m.role == 'user') != (loop.index0 % 2 == 0)", "roles must alternate"
)


@pytest.mark.parametrize(
    ("source", "messages", "prompt"),
    [
        (ALTERNATING, [USER, ANSWER], "[user:U][assistant:A]"),
        (ALTERNATING, [USER, said("user", "V")], "[user:U\nV]"),
        (ALTERNATING, [ANSWER, USER], "[user:][assistant:A][user:U]"),
        (
            ALTERNATING,
            [said("system", "S"), said("system", "T"), USER],
            "[user:S\nT\nU]",
        ),
        (ALTERNATING, [USER, ANSWER, ANSWER, USER], "[user:U][assistant:A\nA][user:U]"),
        (
            ALTERNATING,
            [USER, called("c"), said("tool", "R", tool_call_id="c")],
            "[user:U][assistant:(get_weather c)][user:Result of get_weather:\nR]",
        ),
        (
            refusing("m.role == 'tool' or m.tool_calls"),
            [USER, called("c", content="A"), said("tool", "R", tool_call_id="c")],
            '[user:U][assistant:A\n{"name": "get_weather", "arguments": '
            '{"city": "Zürich"}}][user:Result of get_weather:\nR]',
        ),
        (
            refusing("m.role == 'system' and not loop.first"),
            [said("system", "S"), USER, said("system", "T"), said("user", "V")],
            "[system:S][user:U][user:T\nV]",
        ),
        (
            refusing("m.role == 'system'"),
            [USER, ANSWER, said("system", "S")],
            "[user:U][assistant:A][user:S]",
        ),
        (
            refusing("m.role not in ['user', 'assistant']"),
            [USER, said("critic", "C")],
            "[user:U][user:critic\nC]",
        ),
        (
            refusing("m.tool_calls and m.tool_calls | length > 1"),
            [
                USER,
                called("c1", "c2"),
                said("tool", "Q", tool_call_id="c2"),
                said("tool", "R", tool_call_id="c1"),
            ],
            "[user:U][assistant:(get_weather c2)][tool:Q]"
            "[assistant:(get_weather c1)][tool:R]",
        ),
        (
            refusing("m.role == 'tool' and not m.name"),
            [USER, called("c"), said("tool", "R", tool_call_id="c")],
            "[user:U][assistant:(get_weather c)][tool:R]",
        ),
        (
            refusing("m.role == 'assistant' and m.reasoning_content is not defined"),
            [USER, ANSWER],
            "[user:U][assistant:A]",
        ),
    ],
)
def test_the_smallest_repair_renders(source, messages, prompt):
    messages = [{**each, "content": each["content"] or ""} for each in messages]
    before = copy.deepcopy(messages)
    assert repaired(source, messages) == prompt
    assert messages == before


def test_ids_become_short_and_stay_the_same_for_the_same_call():
    source = refusing("m.tool_calls and m.tool_calls[0].id | length != 9") + (
        "{{ messages[2].tool_call_id }}"
    )
    messages = [
        USER,
        called("call_longer"),
        said("tool", "R", tool_call_id="call_longer"),
    ]
    text = repaired(source, [{**m, "content": m["content"] or ""} for m in messages])
    made = text.split("get_weather ")[1][:9]
    assert made.isalnum()
    assert text.endswith(made)


def test_what_is_said_before_a_call_joins_its_thinking():
    source = refusing("m.tool_calls and m.content") + "{{ messages[1].thinking }}"
    turn = called("c", content="A", reasoning_content="T")
    assert repaired(source, [USER, turn]).endswith("T\nA")


def test_tools_without_parameters_get_some():
    source = (
        "{% for t in tools %}{% if not t.function.parameters %}"
        "{{ raise_exception('no') }}{% endif %}{{ t.function | tojson }}{% endfor %}"
    )
    tool = {"type": "function", "function": {"name": "f"}}
    assert repaired(source, [USER], [TOOL, tool]).endswith(
        '{"name": "f", "description": "", '
        '"parameters": {"type": "object", "properties": {}}}'
    )


def test_tools_without_a_description_get_an_empty_one():
    source = (
        "{% for t in tools %}{{ t.function.name + ': ' + t.function.description + '.' "
        "}}{{ t.function.parameters | tojson }}{% endfor %}"
    )
    parameters = {"type": "object", "properties": {"a": {"type": "string"}}}
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    made = repaired(source, [USER], [tool])
    assert made == (
        'f: .{"type": "object", "properties": {"a": '
        '{"type": "string", "description": ""}}}'
    )


LEAVES_OUT = (
    "{% for m in messages %}{% if m.role == 'user' or m.role == 'assistant' or "
    "(m.role == 'system' and loop.first) %}[{{ m.role }}:{{ m.content }}]{% endif %}"
    "{% endfor %}"
)


@pytest.mark.parametrize(
    ("messages", "prompt"),
    [
        ([USER, ANSWER], "[user:U][assistant:A]"),
        ([said("system", "S"), said("system", "T"), USER], "[system:S\nT][user:U]"),
        ([USER, ANSWER, said("system", "S"), USER], "[user:U][assistant:A][user:S\nU]"),
        ([USER, said("critic", "C")], "[user:U][user:critic\nC]"),
        (
            [
                USER,
                called("c", content=""),
                said("tool", "R", tool_call_id="c"),
            ],
            '[user:U][assistant:{"name": "get_weather", "arguments": '
            '{"city": "Zürich"}}][user:Result of get_weather:\nR]',
        ),
        (
            [USER, said("tool", "R", tool_call_id="c")],
            "[user:U][user:Result of the tool:\nR]",
        ),
    ],
)
def test_what_a_template_would_leave_out_is_said_otherwise(messages, prompt):
    assert repaired(LEAVES_OUT, messages, needed=True) == prompt


def test_a_later_system_message_does_not_take_the_place_of_the_first():
    last_one_counts = (
        "{% set ns = namespace(text='') %}{% for m in messages %}"
        "{% if m.role == 'system' %}{% set ns.text = m.content %}{% endif %}"
        "{% endfor %}({{ ns.text }}){% for m in messages %}"
        "{% if m.role != 'system' %}[{{ m.role }}:{{ m.content }}]{% endif %}"
        "{% endfor %}"
    )
    messages = [said("system", "S"), USER, ANSWER, said("system", "T"), USER]
    prompt = "(S)[user:U][assistant:A][user:T\nU]"
    assert repaired(last_one_counts, messages, needed=True) == prompt


def test_a_template_that_shows_everything_needs_no_repair():
    assert needed_repairs(ChatTemplate(refusing("false"))) == ()


def test_a_conversation_that_renders_is_not_repaired():
    assert repaired(refusing("false"), [USER, USER]) == "[user:U][user:U]"


def test_the_first_refusal_is_reported_when_nothing_helps():
    with pytest.raises(TemplateError, match="never 1"):
        repaired("{{ raise_exception('never ' ~ messages | length) }}", [ANSWER])


def test_a_limit_is_not_tried_again():
    tries = []

    def render(talk):
        tries.append(talk)
        raise TemplateLimit("too long")

    with pytest.raises(TemplateLimit):
        render_repaired(Talk([ANSWER, ANSWER]), render)
    assert len(tries) == 1


def test_tries_are_bounded():
    tries = []

    def render(talk):
        tries.append(talk)
        raise TemplateError("no")

    messages = [m for talk, _ in MATRIX.values() for m in talk]
    messages = [{**m, "content": m["content"] or ""} for m in messages]
    with pytest.raises(TemplateError):
        render_repaired(Talk(messages, [TOOL]), render)
    assert 10 < len(tries) <= 97


@pytest.mark.parametrize("repair", REPAIRS)
def test_no_repair_drops_a_text_or_does_more_the_second_time(repair):
    for messages, tools in MATRIX.values():
        shaped = [{**m, "content": m["content"] or ""} for m in messages]
        once = repair.apply(Talk(shaped, tools))
        texts = str(once.messages)
        for message in shaped:
            content = message["content"]
            parts = (
                [content]
                if isinstance(content, str)
                else [part["text"] for part in content]
            )
            assert all(repr(part)[1:-1] in texts for part in parts)
        assert repair.apply(once) == once
