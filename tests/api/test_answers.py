"""What streams equals what does not stream: on chat, Responses and Messages."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

import pytest

import api.chat.plan
from llamactypes.chat.output.format import (
    ArgumentForm,
    ChatFormat,
    Slot,
    TaggedArguments,
    Tags,
    ToolSyntax,
)
from llamactypes.engine.request import FinishReason
from tests.api.conftest import Api, parse_events
from tests.chat.corpus.corpus import families
from tests.support import answers
from tests.support.fake_engine import FakeEngine, delta, make_info, result
from tests.support.response_events import named_events

THINK = Tags("<think>", "</think>")
HERMES = ToolSyntax(
    (
        '<tool_call>\n{"name": "',
        Slot.NAME,
        '", "arguments": ',
        Slot.ARGUMENTS,
        "}\n</tool_call>",
    ),
    quotes_names=True,
)
LIST = ToolSyntax(
    (
        '{"name": "',
        Slot.NAME,
        '", "arguments": ',
        Slot.ARGUMENTS,
        ', "id": "',
        Slot.ID,
        '"}',
    ),
    start="[TOOL_CALLS][",
    end="]",
    separator=", ",
    quotes_names=True,
)
TAGGED = ToolSyntax(
    (
        "<tool_call>\n<function=",
        Slot.NAME,
        ">",
        Slot.ARGUMENTS,
        "\n</function>\n</tool_call>",
    ),
    ArgumentForm.TAGGED,
    tagged=TaggedArguments("\n<parameter=", ">\n", "\n</parameter>"),
)
QWEN = ChatFormat(THINK, None, HERMES)
MISTRAL = ChatFormat(None, None, LIST)
CODER = ChatFormat(None, None, TAGGED)

SEND = (
    '<tool_call>\n{"name": "send", "arguments": {"to": "Zoë \\"Z\\"", "n": [1, 2.5]}}'
)
SENT = ("send", {"to": 'Zoë "Z"', "n": [1, 2.5]})
LOOK = '<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>'


@dataclass(frozen=True)
class Case:
    """A model's output and what it says."""

    format: ChatFormat
    text: str
    content: str = ""
    reasoning: str = ""
    calls: tuple[tuple[str, dict], ...] = ()
    finish: FinishReason = FinishReason.STOP_EOS


CASES = {
    "answer": Case(QWEN, "Just an answer: <b>é</b>.", "Just an answer: <b>é</b>."),
    "nothing": Case(QWEN, ""),
    "thinking": Case(
        QWEN, "<think>\nHm, 1 < 2.\n</think>\n\nYes.", "Yes.", "Hm, 1 < 2."
    ),
    "thinking only": Case(QWEN, "<think>\nHm", "", "Hm", finish=FinishReason.LENGTH),
    "call": Case(QWEN, SEND + "\n</tool_call>", calls=(SENT,)),
    "thinking, text, two calls": Case(
        QWEN,
        f"<think>\nBoth.\n</think>\n\nFirst this.\n{SEND}\n</tool_call>\n{LOOK}",
        "First this.",
        "Both.",
        (SENT, ("look", {})),
    ),
    "list with ids": Case(
        MISTRAL,
        '[TOOL_CALLS][{"name": "look", "arguments": {"a": "]"}, "id": "abcdefgh1"}, '
        '{"name": "look", "arguments": {}, "id": "abcdefgh2"}]',
        calls=(("look", {"a": "]"}), ("look", {})),
    ),
    "tagged": Case(
        CODER,
        "Ok.\n<tool_call>\n<function=send>\n<parameter=to>\na <b>\n</parameter>\n"
        "<parameter=n>\n[1, 2]\n</parameter>\n</function>\n</tool_call>",
        "Ok.",
        calls=(("send", {"to": "a <b>", "n": [1, 2]}),),
    ),
}
BROKEN = {
    "no JSON": '<tool_call>\n{"name": "look", "arguments": nothing}\n</tool_call>',
    "no end": '<tool_call>\n{"name": "look", "argum',
    "half a tag": "Fine <tool_ca",
    "another tag": "<tool_call>look</tool_call> and more",
}

SCHEMA = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "n": {"type": "array"}},
}
TOOLS = [
    {"type": "function", "function": {"name": "send", "parameters": SCHEMA}},
    {"type": "function", "function": {"name": "look", "parameters": {}}},
]
HI = {"messages": [{"role": "user", "content": "Hi"}]}
ROUTES = {
    "chat": (
        "/v1/chat/completions",
        {**HI, "tools": TOOLS},
        answers.of_chat,
        lambda text: answers.of_chat_stream(parse_events(text)),
    ),
    "responses": (
        "/v1/responses",
        {
            "input": "Hi",
            "store": False,
            "tools": [{"type": "function", **tool["function"]} for tool in TOOLS],
        },
        answers.of_response,
        lambda text: answers.of_response_stream(named_events(text)),
    ),
    "messages": (
        "/v1/messages",
        {
            **HI,
            "max_tokens": 4096,
            "tools": [
                {
                    "name": tool["function"]["name"],
                    "input_schema": tool["function"]["parameters"],
                }
                for tool in TOOLS
            ],
        },
        answers.of_message,
        lambda text: answers.of_message_stream(named_events(text)),
    ),
}
WORDS = {
    "chat": {"stop": "stop", "calls": "tool_calls", "length": "length"},
    "responses": {"stop": "completed", "calls": "completed", "length": "incomplete"},
    "messages": {
        "stop": "end_turn",
        "calls": "tool_use",
        "length": "model_context_window_exceeded",
    },
}


TEMPLATE = (
    "{% for tool in tools or [] %}{{ tool.function.name }} {% endfor %}"
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
)
"""Describes tools in few tokens."""


def cuts(text: str, kind: str) -> list[str]:
    if kind == "whole":
        return [text] if text else []
    if kind == "characters":
        return list(text)
    rng = random.Random(kind + text)
    parts, at = [], 0
    while at < len(text):
        end = at + rng.randint(1, 12)
        parts.append(text[at:end])
        at = end
    return parts


def api_for(case: Case, monkeypatch, *, cut="characters", streams=True) -> Api:
    """Return an app whose model writes the case's output."""
    monkeypatch.setattr(api.chat.plan, "format_of", lambda template: case.format)
    constraint = object() if streams else None
    monkeypatch.setattr(api.chat.plan, "tool_constraint", lambda *_: constraint)
    deltas = [
        delta(part, part.encode(), n_decoded=n)
        for n, part in enumerate(cuts(case.text, cut), start=1)
    ]
    end = result(finish=case.finish, n_decoded=len(deltas))
    info = make_info(chat_template=TEMPLATE)
    return Api(FakeEngine(info=info, script=lambda request: (deltas, end)))


def both(app: Api, route: str, **extra) -> tuple[answers.Answer, answers.Answer]:
    """Return the answer without and with a stream."""
    path, body, whole, streamed = ROUTES[route]
    reply = app.post(path, {**body, **extra})
    assert reply.status_code == 200, reply.text
    events = app.post(path, {**body, **extra, "stream": True})
    assert events.status_code == 200, events.text
    return whole(reply.json), streamed(events.text)


@pytest.mark.parametrize("streams", [False, True], ids=["held back", "as they come"])
@pytest.mark.parametrize("cut", ["characters", "whole", "any"])
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", CASES)
def test_stream_and_reply_say_the_same(name, route, cut, streams, monkeypatch):
    case = CASES[name]
    app = api_for(case, monkeypatch, cut=cut, streams=streams)
    whole, streamed = both(app, route)
    assert whole.loaded() == (case.content, case.reasoning, list(case.calls))
    assert streamed.loaded() == whole.loaded()
    if route != "messages":  # an object there, whose text is not the model's
        assert streamed.same() == whole.same()
    reason = "calls" if case.calls else "stop"
    if case.finish is FinishReason.LENGTH:
        reason = "length"
    assert whole.end == streamed.end == WORDS[route][reason]


@pytest.mark.parametrize("streams", [False, True], ids=["held back", "as they come"])
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", BROKEN)
def test_what_only_looks_like_a_call_is_content(name, route, streams, monkeypatch):
    case = Case(QWEN, BROKEN[name])
    whole, streamed = both(api_for(case, monkeypatch, streams=False), route)
    assert whole.loaded() == streamed.loaded() == (case.text, "", [])
    whole, streamed = both(api_for(case, monkeypatch, streams=streams), route)
    assert whole.content == streamed.content
    assert len(whole.calls) == len(streamed.calls)


@pytest.mark.parametrize("route", ROUTES)
def test_a_call_that_the_limit_cut_keeps_its_beginning(route, monkeypatch):
    case = Case(QWEN, SEND[:-10], finish=FinishReason.LENGTH)
    whole, streamed = both(api_for(case, monkeypatch), route)
    assert [name for name, _ in whole.calls] == ["send"]
    assert whole.end == streamed.end == WORDS[route]["length"]
    assert streamed.calls[0][1].startswith('{"to": "Zo')
    if route == "messages":
        assert json.loads(whole.calls[0][1])["to"] == 'Zoë "Z"'
    else:
        assert whole.calls == streamed.calls


def test_ids_of_the_model_are_kept_and_others_made(monkeypatch):
    for name, prefix in (("list with ids", "abcdefgh1"), ("call", "")):
        app = api_for(CASES[name], monkeypatch)
        for route in ROUTES:
            for answer in both(app, route):
                assert answer.ids[0].startswith(prefix)
                assert len(answer.ids[0]) >= 9


@pytest.mark.parametrize("route", ROUTES)
def test_calls_are_content_when_none_may_be_made_or_parsed(route, monkeypatch):
    case = CASES["call"]
    choice = {"type": "none"} if route == "messages" else "none"
    for extra in ({"tool_choice": choice}, {"parse_tool_calls": False}):
        whole, streamed = both(api_for(case, monkeypatch), route, **extra)
        assert whole.loaded() == streamed.loaded() == (case.text, "", [])


@pytest.mark.parametrize("route", ROUTES)
def test_thinking_stays_in_the_content_when_asked(route, monkeypatch):
    case = CASES["thinking"]
    app = api_for(case, monkeypatch)
    whole, streamed = both(app, route, reasoning_format="none")
    assert whole.loaded() == streamed.loaded() == (case.text, "", [])


def test_legacy_thinking_is_content_and_thinking(monkeypatch):
    app = api_for(CASES["thinking"], monkeypatch)
    whole, streamed = both(app, "chat", reasoning_format="deepseek-legacy")
    assert whole.same() == streamed.same()
    assert whole.reasoning == "Hm, 1 < 2."
    assert whole.content == "<think>Hm, 1 < 2.</think>Yes."


@pytest.mark.parametrize("route", ["responses", "messages"])
def test_legacy_thinking_is_thinking_where_it_has_a_place(route, monkeypatch):
    app = api_for(CASES["thinking"], monkeypatch)
    whole, streamed = both(app, route, reasoning_format="deepseek-legacy")
    assert whole.loaded() == streamed.loaded() == ("Yes.", "Hm, 1 < 2.", [])


@pytest.mark.parametrize("route", ROUTES)
def test_a_prompt_that_ends_in_the_thinking_is_gone_on_from(route, monkeypatch):
    case = Case(QWEN, "Hm.\n</think>\n\nYes.", "Yes.", "Hm.")
    app = api_for(case, monkeypatch)
    template = "{{ messages[0].content }}[assistant]<think>\n"
    app.engine.info = make_info(chat_template=template, n_ctx_slot=2048)
    whole, streamed = both(app, route)
    assert whole.loaded() == streamed.loaded() == ("Yes.", "Hm.", [])


@pytest.mark.parametrize("route", ROUTES)
def test_parsing_can_be_switched_off_for_all(route, monkeypatch):
    case = CASES["thinking, text, two calls"]
    app = api_for(case, monkeypatch)
    off = Api(app.engine, skip_chat_parsing=True)
    whole, streamed = both(off, route)
    assert whole.loaded() == streamed.loaded() == (case.text, "", [])


FAMILIES = dict(families())


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_streams_what_it_replies(family, monkeypatch):
    corpus = FAMILIES[family]
    for number, output in enumerate(corpus.outputs):
        route = list(ROUTES)[number % len(ROUTES)]
        monkeypatch.setattr(
            api.chat.plan,
            "in_reasoning",
            lambda *_, is_inside=output.in_reasoning: is_inside,
        )
        case = Case(corpus.format, output.text)
        app = api_for(case, monkeypatch, streams=False)
        whole, streamed = both(app, route)
        assert (whole.content, whole.reasoning) == (output.content, output.reasoning)
        assert [name for name, _ in whole.calls] == [name for name, _ in output.calls]
        assert streamed.content == whole.content, output.name
        assert streamed.reasoning == whole.reasoning, output.name
        assert streamed.loaded() == whole.loaded(), output.name
