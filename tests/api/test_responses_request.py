"""What a request to ``/v1/responses`` is read as. Pure."""

from __future__ import annotations

import pytest

from api.protocol.invalid import InvalidRequest, NotSupported
from api.protocol.responses.request import read_responses_request

TOOL = {"type": "function", "name": "f", "parameters": {"type": "object"}}


def read(skip_tools=False, **body):
    request = {"input": "Hi", **body}
    return read_responses_request(request, lambda id: None, skip_tools=skip_tools)


def test_defaults_are_openais():
    request = read()
    assert (request.is_stored, request.is_background) == (True, False)
    assert not request.is_truncating
    assert (request.n_output, request.n_top) == (None, None)
    assert request.shown == {
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "reasoning": {"effort": None, "summary": None},
        "tool_choice": "auto",
        "tools": [],
        "top_logprobs": 0,
        "truncation": "disabled",
    }


@pytest.mark.parametrize(
    "field",
    [
        *("instructions", "max_output_tokens", "metadata", "previous_response_id"),
        *("store", "background", "truncation", "text", "include", "top_logprobs"),
        *("tools", "tool_choice", "reasoning", "prompt", "conversation", "user", "n"),
    ],
)
def test_null_is_the_same_as_nothing(field):
    assert read(**{field: None}).shown == read().shown


def test_the_response_repeats_what_was_asked_for():
    shown = read(
        instructions="I",
        max_output_tokens=9,
        metadata={"a": "b"},
        parallel_tool_calls=False,
        reasoning={"effort": "low", "summary": "auto"},
        tool_choice="none",
        tools=[TOOL],
        top_logprobs=2,
        truncation="auto",
        user="me",
        safety_identifier="s",
        prompt_cache_key="p",
    ).shown
    assert shown == {
        "instructions": "I",
        "max_output_tokens": 9,
        "metadata": {"a": "b"},
        "parallel_tool_calls": False,
        "reasoning": {"effort": "low", "summary": None},
        "tool_choice": "none",
        "tools": [{"strict": True, **TOOL}],
        "top_logprobs": 2,
        "truncation": "auto",
        "user": "me",
        "safety_identifier": "s",
        "prompt_cache_key": "p",
    }


def test_functions_become_chats():
    function = {"strict": True, "name": "f", "parameters": {"type": "object"}}
    assert read(tools=[TOOL]).chat["tools"] == [
        {"type": "function", "function": function}
    ]
    (bare,) = read(tools=[{"type": "function", "name": "f"}]).chat["tools"]
    assert bare["function"] == {"strict": True, "name": "f"}


@pytest.mark.parametrize("kind", ["web_search", "file_search", "computer", "custom"])
def test_a_built_in_tool_is_refused_or_skipped(kind):
    with pytest.raises(NotSupported) as caught:
        read(tools=[TOOL, {"type": kind}])
    assert caught.value.param == "tools[1].type"
    assert f"'{kind}'; this server has no built-in tools" in caught.value.message
    request = read(skip_tools=True, tools=[TOOL, {"type": kind}])
    assert [tool["name"] for tool in request.shown["tools"]] == ["f"]
    assert read(skip_tools=True, tools=[{"type": kind}]).chat["tools"] is None


def test_the_limit_is_max_output_tokens_whatever_else_is_said():
    request = read(max_output_tokens=5, max_tokens=7, n_predict=9)
    assert request.options["n_predict"] == 5
    assert "max_tokens" not in request.options
    assert read(max_tokens=7).options["max_tokens"] == 7


@pytest.mark.parametrize(
    ("body", "n_top", "n_probs"),
    [
        ({}, None, None),
        ({"include": ["reasoning.encrypted_content"]}, None, None),
        ({"include": ["message.output_text.logprobs"]}, 0, 1),
        ({"top_logprobs": 3}, 3, 3),
        ({"include": ["message.output_text.logprobs"], "top_logprobs": 20}, 20, 20),
    ],
)
def test_logprobs_come_when_either_field_asks(body, n_top, n_probs):
    request = read(**body)
    assert (request.n_top, request.options.get("n_probs")) == (n_top, n_probs)


@pytest.mark.parametrize("kind", ["json_object", "json_schema"])
def test_the_form_of_the_answer_is_where_responses_have_it(kind):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    format = {"type": kind, "name": "n", "strict": True, "schema": schema}
    request = read(text={"format": format})
    assert request.form is not None
    assert request.form.value == schema
    assert request.form.parameter == "text.format.schema"
    assert request.shown["text"] == {"format": format}


def test_plain_text_may_be_asked_for():
    text = {"format": {"type": "text"}, "verbosity": "low"}
    assert read(text=text).shown == read().shown


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"text": "x"}, "text"),
        ({"text": {"format": "x"}}, "text.format"),
        ({"text": {"format": {"type": "xml"}}}, "text.format"),
        ({"instructions": ["x"]}, "instructions"),
        ({"store": "yes"}, "store"),
        ({"background": 1}, "background"),
        ({"background": True, "store": False}, "store"),
        ({"truncation": "middle"}, "truncation"),
        ({"include": "x"}, "include"),
        ({"include": ["x"]}, "include"),
        ({"top_logprobs": 21}, "top_logprobs"),
        ({"top_logprobs": True}, "top_logprobs"),
        ({"max_output_tokens": "9"}, "max_output_tokens"),
        ({"max_output_tokens": -2}, "max_output_tokens"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"a": 1}}, "metadata"),
        ({"metadata": {"a" * 65: ""}}, "metadata"),
        ({"metadata": {"a": "b" * 513}}, "metadata"),
        ({"metadata": {str(n): "" for n in range(17)}}, "metadata"),
        ({"previous_response_id": 7}, "previous_response_id"),
        ({"parallel_tool_calls": "x"}, "parallel_tool_calls"),
        ({"reasoning": "x"}, "reasoning"),
        ({"reasoning": {"effort": 1}}, "effort"),
        ({"tools": {}}, "tools"),
        ({"tools": ["x"]}, "tools[0]"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tools": [{"type": "function", "name": ""}]}, "tools[0].name"),
        ({"user": 7}, "user"),
        ({"prompt": {"id": "p"}}, "prompt"),
        ({"conversation": "c"}, "conversation"),
        ({"n": 2}, "n"),
        ({"input": None}, "input"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_name(body, param):
    with pytest.raises(InvalidRequest) as caught:
        read(**body)
    assert (caught.value.status, caught.value.param) == (400, param)


@pytest.mark.parametrize("name", ["n", "n_cmpl"])
def test_more_than_one_answer_is_refused_under_either_name(name):
    with pytest.raises(InvalidRequest, match="one answer") as caught:
        read(**{name: 2})
    assert caught.value.param == name
    assert read(**{name: 1}).items
