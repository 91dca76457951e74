"""Tools and thinking over HTTP: what is asked for, refused, and goes back in."""

from __future__ import annotations

import json

import pytest

from llamactypes.constraints.constraint import Constraint
from llamactypes.engine.request import FinishReason
from llamactypes.errors import ConstraintError, ConstraintUnavailable
from tests.api.conftest import Api
from tests.api.test_answers import TOOLS
from tests.support import answers
from tests.support.fake_engine import (
    FakeEngine,
    delta,
    make_info,
    result,
    text_deltas,
    token_probs,
)
from tests.support.response_events import named_events
from tests.support.tool_model import TOOL_TEMPLATE, ToolModel, written_call
from tests.support.waiting import eventually

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
HI = {"messages": [{"role": "user", "content": "Hi"}]}
CALL = written_call("send", '{"to": "me"}')
FLAT = [{"type": "function", **tool["function"]} for tool in TOOLS]
ANTHROPIC = [
    {
        "name": tool["function"]["name"],
        "input_schema": tool["function"]["parameters"],
    }
    for tool in TOOLS
]


def named(name):
    return {"type": "function", "function": {"name": name}}


def allowed(*names, mode="auto"):
    tools = [named(name) for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


def refused(model, path, body):
    reply = Api(model).post(path, body)
    assert reply.status_code == 400, reply.text
    assert not model.requests
    return reply.json["error"]


def accepts(model, text):
    """Return whether the only constraint lets the model write `text` and end."""
    (constraint,) = model.constraints
    assert isinstance(constraint, Constraint)
    (request, *_) = model.requests
    matcher = request.constraint.matcher()
    for token in text.encode():
        if not matcher.allows(token):
            return False
        matcher.consume(token)
    return matcher.allows(257)


# -- what may be written ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "yes", "no"),
    [
        ({}, ["Hi.", CALL, f"Hi.\n{CALL}\n{CALL}"], [written_call("rm", "{}")]),
        ({"parallel_tool_calls": False}, [CALL], [f"{CALL}\n{CALL}"]),
        ({"tool_choice": "required"}, [CALL, f"{CALL}\n{CALL}"], ["Hi.", ""]),
        (
            {"tool_choice": named("look")},
            [
                written_call("look", "{}"),
                "<think>a</think>\n" + written_call("look", "{}"),
            ],
            [CALL, "Hi."],
        ),
        (
            {"tool_choice": allowed("look")},
            ["Hi.", written_call("look", "{}")],
            [CALL],
        ),
        (
            {"tool_choice": allowed("look", "send", mode="required")},
            [CALL, written_call("look", "{}")],
            ["Hi."],
        ),
    ],
)
def test_chat_constrains_calls_as_asked(fields, yes, no):
    for text, expected in [(t, True) for t in yes] + [(t, False) for t in no]:
        model = ToolModel(["Hi."])
        reply = Api(model).post(CHAT, {**HI, "tools": TOOLS, **fields})
        assert reply.status_code == 200, reply.text
        assert accepts(model, text) is expected, text


@pytest.mark.parametrize(
    ("choice", "yes", "no"),
    [
        ({"type": "auto"}, ["Hi.", CALL], []),
        ({"type": "any"}, [CALL], ["Hi."]),
        ({"type": "tool", "name": "send"}, [CALL], [written_call("look", "{}")]),
        ({"type": "any", "disable_parallel_tool_use": True}, [CALL], [CALL + CALL]),
    ],
)
def test_messages_constrain_calls_as_asked(choice, yes, no):
    body = {**HI, "max_tokens": 64, "tools": ANTHROPIC, "tool_choice": choice}
    for text, expected in [(t, True) for t in yes] + [(t, False) for t in no]:
        model = ToolModel(["Hi."])
        assert Api(model).post(MESSAGES, body).status_code == 200
        assert accepts(model, text) is expected, text


@pytest.mark.parametrize(
    ("choice", "yes", "no"),
    [
        ("required", [CALL], ["Hi."]),
        ({"type": "function", "name": "send"}, [CALL], [written_call("look", "{}")]),
        (
            {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [{"type": "function", "name": "send"}],
            },
            [CALL, "Hi."],
            [written_call("look", "{}")],
        ),
    ],
)
def test_responses_constrain_calls_as_asked(choice, yes, no):
    body = {"input": "Hi", "tools": FLAT, "tool_choice": choice}
    for text, expected in [(t, True) for t in yes] + [(t, False) for t in no]:
        model = ToolModel(["Hi."])
        assert Api(model).post(RESPONSES, body).status_code == 200
        assert accepts(model, text) is expected, text


def test_choice_none_shows_the_tools_and_constrains_nothing():
    model = ToolModel([CALL])
    reply = Api(model).post(CHAT, {**HI, "tools": TOOLS, "tool_choice": "none"})
    assert '"name": "send"' in model.prompts[0]
    assert model.constraints == []
    assert reply.json["choices"][0]["message"]["content"] == CALL


# -- what is refused -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "param", "said"),
    [
        ({"tool_choice": named("rm")}, "tool_choice", "'rm'"),
        ({"tool_choice": allowed("send", "rm")}, "tool_choice", "'rm'"),
        ({"tool_choice": "required", "tools": []}, "tool_choice", "no 'tools'"),
        ({"tool_choice": "maybe"}, "tool_choice", "maybe"),
        ({"tool_choice": 1}, "tool_choice", "number"),
        ({"tool_choice": {"type": "custom"}}, "tool_choice", "custom"),
        ({"tool_choice": {"type": "function"}}, "tool_choice", "name"),
        ({"tool_choice": {"type": "allowed_tools"}}, "tool_choice.tools", "array"),
        ({"tool_choice": allowed("send", mode="none")}, None, "mode"),
        ({"tools": {}}, "tools", "array"),
        ({"tools": [1]}, "tools[0]", "object"),
        ({"tools": [{"type": "custom"}]}, "tools[0].type", "function"),
        ({"tools": [named("")]}, "tools[0].function", "name"),
        (
            {
                "tools": [
                    {"type": "function", "function": {"name": "a", "parameters": 1}}
                ]
            },
            "tools[0].function.parameters",
            "object",
        ),
        ({"parallel_tool_calls": "no"}, "parallel_tool_calls", "boolean"),
        ({"parse_tool_calls": 1}, "parse_tool_calls", "boolean"),
        ({"reasoning_format": "odd"}, "reasoning_format", "deepseek"),
    ],
)
def test_chat_refuses_and_names_the_parameter(fields, param, said):
    error = refused(ToolModel(["Hi."]), CHAT, {**HI, "tools": TOOLS, **fields})
    assert said in error["message"]
    assert param is None or error["param"] == param


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"tool_choice": {"type": "tool", "name": "rm"}}, "tool_choice.name: "),
        ({"tool_choice": {"type": "tool"}}, "tool_choice.name: Field required"),
        ({"tool_choice": {"type": "any"}, "tools": []}, "tool_choice: "),
        ({"tool_choice": {"type": "any", "disable_parallel_tool_use": 1}}, "boolean"),
        ({"tools": ANTHROPIC * 2}, "tools: Tool names must be unique"),
    ],
)
def test_messages_refuse_and_name_the_place(fields, said):
    body = {**HI, "max_tokens": 64, "tools": ANTHROPIC, **fields}
    assert said in refused(ToolModel(["Hi."]), MESSAGES, body)["message"]


@pytest.mark.parametrize(
    ("part", "value"), [("description", 1), ("parameters", []), ("strict", "yes")]
)
def test_responses_name_a_malformed_part_of_a_tool(part, value):
    body = {"input": "Hi", "tools": [{**FLAT[0], part: value}]}
    assert refused(ToolModel(["Hi."]), RESPONSES, body)["param"] == f"tools[0].{part}"


BAD = {"type": "object", "properties": {"a": {"type": "strange"}}}


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [
        (
            CHAT,
            {
                **HI,
                "tools": [
                    *TOOLS,
                    {
                        "type": "function",
                        "function": {"name": "bad", "parameters": BAD},
                    },
                ],
            },
            "tools[2].function.parameters",
        ),
        (
            RESPONSES,
            {
                "input": "Hi",
                "tools": [
                    *FLAT,
                    {"type": "function", "name": "bad", "parameters": BAD},
                ],
            },
            "tools[2].parameters",
        ),
        (
            MESSAGES,
            {
                **HI,
                "max_tokens": 64,
                "tools": [*ANTHROPIC, {"name": "bad", "input_schema": BAD}],
            },
            "tools.2.input_schema",
        ),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_bad_schema_names_its_tool_and_the_place(path, body, where, stream):
    error = refused(ToolModel(["Hi."]), path, {**body, "stream": stream})
    assert "'bad'" in error["message"]
    assert where in error.get("param", error["message"])


def test_an_odd_tool_among_good_ones_breaks_nothing():
    odd = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "maxLength": 5000},
            "number": {"type": "string", "pattern": "^\\d+$"},
        },
    }
    tools = [
        {"type": "function", "function": {"name": "none", "parameters": {}}},
        {"type": "function", "function": {"name": "odd", "parameters": odd}},
        {
            "type": "function",
            "function": {
                "name": "empty",
                "parameters": {"type": "object", "properties": {}},
            },
        },
        *TOOLS,
    ]
    model = ToolModel([CALL])
    reply = Api(model).post(CHAT, {**HI, "tools": tools, "tool_choice": named("send")})
    assert answers.of_chat(reply.json).calls == [("send", '{"to": "me"}')]


def test_without_the_package_free_choice_works_and_a_required_call_is_501(monkeypatch):
    model = ToolModel([f"Now:\n{CALL}"])

    def missing(constraint):
        raise ConstraintUnavailable("needs the package llguidance")

    monkeypatch.setattr(model, "compile_constraint", missing)
    app = Api(model)
    reply = app.post(CHAT, {**HI, "tools": TOOLS})
    assert answers.of_chat(reply.json).calls == [("send", '{"to": "me"}')]
    reply = app.post(CHAT, {**HI, "tools": TOOLS, "tool_choice": "required"})
    assert reply.status_code == 501
    assert "llguidance" in reply.json["error"]["message"]
    reply = app.post(CHAT, {**HI, "tools": TOOLS, "parallel_tool_calls": False})
    assert reply.status_code == 501
    assert len(model.requests) == 1


# -- what goes with it -----------------------------------------------------------------


def test_control_tokens_of_the_format_are_written_out():
    template = TOOL_TEMPLATE.replace("<tool_call>", "<s>")
    model = ToolModel(["Hi."], chat_template=template)
    Api(model).post(CHAT, {**HI, "tools": TOOLS})
    assert model.requests[0].preserved_tokens == {256}


def test_each_of_several_choices_has_its_calls():
    model = ToolModel([f"A{CALL}{CALL}"])
    body = {**HI, "tools": TOOLS, "n": 2}
    app = Api(model)
    whole = app.post(CHAT, body).json["choices"]
    ids = [call["id"] for each in whole for call in each["message"]["tool_calls"]]
    assert len(set(ids)) == 4
    chunks = app.events(CHAT, body)
    for index in (0, 1):
        mine = [
            {**event, "choices": [c for c in event["choices"] if c["index"] == index]}
            for event in chunks[:-1]
        ]
        said = answers.of_chat_stream([*mine, "[DONE]"])
        assert [name for name, _ in said.calls] == ["send", "send"]
        assert said.end == "tool_calls"


def test_logprobs_of_a_stream_with_tools_are_those_of_the_reply():
    text = f"Now:\n{CALL}"
    deltas = [
        delta(char, char.encode(), probs=(token_probs(char.encode()),)) for char in text
    ]
    info = make_info(chat_template=TOOL_TEMPLATE, n_ctx=4096, n_ctx_slot=4096)
    end = result(finish=FinishReason.STOP_EOS)
    app = Api(FakeEngine(script=lambda request: (deltas, end), info=info))
    body = {**HI, "tools": TOOLS, "logprobs": True, "top_logprobs": 1}
    whole = app.post(CHAT, body).json["choices"][0]["logprobs"]["content"]
    streamed = [
        entry
        for event in app.events(CHAT, body)[:-1]
        for choice in event["choices"]
        for entry in choice.get("logprobs", {}).get("content", [])
    ]
    assert streamed == whole
    assert "".join(entry["token"] for entry in whole) == text


def test_a_beginning_that_was_given_is_no_call():
    model = ToolModel([f" come\n{CALL}"])
    messages = [*HI["messages"], {"role": "assistant", "content": "Wel"}]
    reply = Api(model).post(CHAT, {"messages": messages, "tools": TOOLS, "echo": True})
    said = answers.of_chat(reply.json)
    assert said.content == "Wel come"
    assert said.calls == [("send", '{"to": "me"}')]


def test_verbose_shows_what_the_model_wrote():
    reply = Api(ToolModel([CALL])).post(CHAT, {**HI, "tools": TOOLS, "verbose": True})
    shown = reply.json["__verbose"]
    assert shown["content"] == CALL
    assert shown["generation_settings"]["chat_format"] == "learned"
    assert shown["generation_settings"]["reasoning_format"] == "deepseek"


# -- responses that are kept -----------------------------------------------------------


def test_a_response_in_background_keeps_its_calls():
    app = Api(ToolModel([f"<think>Hm</think>{CALL}"]))
    made = app.post(RESPONSES, {"input": "Hi", "tools": FLAT, "background": True}).json
    path = f"{RESPONSES}/{made['id']}"
    eventually(lambda: app.get(path).json["status"] == "completed")
    said = answers.of_response(app.get(path).json)
    assert said.loaded() == ("", "Hm", [("send", {"to": "me"})])
    usage = app.get(path).json["usage"]["output_tokens_details"]
    assert 0 < usage["reasoning_tokens"] <= len("<think>Hm</think>")


def test_a_cancelled_response_keeps_what_was_held_back():
    info = make_info(chat_template=TOOL_TEMPLATE, n_ctx_slot=4096)
    engine = FakeEngine(is_manual=True, info=info)
    app = Api(engine)
    made = app.post(RESPONSES, {"input": "Hi", "tools": FLAT, "background": True}).json
    engine.generations[0].append(delta("Now <tool_c"), None)
    path = f"{RESPONSES}/{made['id']}"
    eventually(lambda: app.get(path).json["output"] != [])
    ended = app.post(f"{path}/cancel", {}).json
    assert ended["status"] == "cancelled"
    assert answers.of_response(ended).content == "Now <tool_c"


def test_thinking_and_calls_of_an_earlier_response_go_back_in():
    model = ToolModel([f"<think>Hm</think>{CALL}", "Sent."])
    app = Api(model)
    first = app.post(RESPONSES, {"input": "Hi", "tools": FLAT}).json
    call_id = first["output"][-1]["call_id"]
    output = {"type": "function_call_output", "call_id": call_id, "output": "ok"}
    body = {"input": [output], "previous_response_id": first["id"], "tools": FLAT}
    events = app.post(RESPONSES, {**body, "stream": True})
    assert answers.of_response_stream(named_events(events.text)).content == "Sent."
    assert "<think>\nHm\n</think>" in model.prompts[1]
    assert '"name": "send", "arguments": {"to": "me"}' in model.prompts[1]


def test_arguments_of_messages_are_objects():
    app = Api(ToolModel([written_call("send", '{"to": "\\ud83d", "n": [1, {}]}')]))
    reply = app.post(MESSAGES, {**HI, "max_tokens": 4096, "tools": ANTHROPIC})
    assert reply.status_code == 200
    (block,) = reply.json["content"]
    assert json.loads(json.dumps(block["input"]))["n"] == [1, {}]


HALF = '<tool_call>\n{"name": "se'


def fails_after(text):
    """Return a model whose answer cannot go on behind `text`."""
    error = ConstraintError("no way on")
    broken = result(finish=FinishReason.ERROR, error=error, n_decoded=len(text))
    info = make_info(chat_template=TOOL_TEMPLATE, n_ctx=65536, n_ctx_slot=32768)
    return FakeEngine(script=lambda _: (text_deltas(text), broken), info=info)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, {**HI, "tools": TOOLS}),
        (RESPONSES, {"input": "Hi", "tools": FLAT}),
        (MESSAGES, {**HI, "max_tokens": 99, "tools": ANTHROPIC}),
    ],
)
def test_text_before_an_answer_that_cannot_go_on_is_not_lost(path, body):
    reply = Api(fails_after(HALF)).post(path, body)
    assert reply.status_code == 400
    assert reply.json["error"]["partial"] == [HALF]
    streamed = Api(fails_after(HALF)).post(path, {**body, "stream": True}).text
    events = [
        json.loads(line[6:]) for line in streamed.splitlines() if "data: {" in line
    ]
    assert "no way on" in json.dumps(events[-1])
    text = json.dumps(HALF)[1:-1]
    assert any(text in json.dumps(event) for event in events)
