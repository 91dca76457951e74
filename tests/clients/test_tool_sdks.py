"""OpenAI's and Anthropic's Python clients: tools, thinking, what is parsed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import openai
import pytest
from pydantic import BaseModel

from tests.support.app_server import AppServer
from tests.support.server_process import ServerProcess
from tests.support.tool_model import ToolModel, written_call

CALL = written_call("get_weather", '{"city": "Zürich", "days": 2}')
THOUGHT = "<think>\nLook first.\n</think>\n\n"
ANSWER = "Sunny."
ASKED: Any = {"role": "user", "content": "Weather?"}


class GetWeather(BaseModel):
    """The weather of a city."""

    city: str
    days: int


TOOL: Any = openai.pydantic_function_tool(GetWeather, name="get_weather")
FLAT: Any = {"type": "function", **TOOL["function"]}
ANTHROPIC_TOOL: Any = {
    "name": "get_weather",
    "input_schema": TOOL["function"]["parameters"],
}
NAMED: Any = {"type": "function", "function": {"name": "get_weather"}}


@contextmanager
def served(*texts: str) -> Iterator[tuple[openai.OpenAI, ToolModel]]:
    model = ToolModel(texts)
    with AppServer(model) as server:
        url = f"{server.url}/v1"
        with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
            yield client, model


@contextmanager
def served_messages(*texts: str) -> Iterator[tuple[anthropic.Anthropic, ToolModel]]:
    model = ToolModel(texts)
    with (
        AppServer(model) as server,
        anthropic.Anthropic(
            base_url=server.url, api_key="none", max_retries=0
        ) as client,
    ):
        yield client, model


# -- chat ------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", ["auto", "required", NAMED])
def test_chat_calls_a_tool_and_goes_on_with_its_result(choice: Any) -> None:
    with served(THOUGHT + CALL, ANSWER) as (client, model):
        messages = [ASKED]
        reply = client.chat.completions.create(
            model="any", messages=messages, tools=[TOOL], tool_choice=choice
        )
        (entry,) = reply.choices
        assert entry.finish_reason == "tool_calls"
        assert entry.message.tool_calls
        (call,) = entry.message.tool_calls
        assert call.type == "function"
        assert json.loads(call.function.arguments) == {"city": "Zürich", "days": 2}
        messages.append(entry.message.model_dump(exclude_none=True))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "21 °C"})
        last = client.chat.completions.create(
            model="any", messages=messages, tools=[TOOL]
        )
    assert last.choices[0].message.content == ANSWER
    assert last.choices[0].finish_reason == "stop"
    assert "Look first." in model.prompts[1]
    assert '{"name": "get_weather", "arguments": {"city": "Zürich"' in model.prompts[1]
    assert "<|im_start|>tool\n21 °C" in model.prompts[1]


def test_the_chat_helper_streams_what_create_returns() -> None:
    with served(f"{THOUGHT}Both:\n{CALL}\n{CALL}") as (client, _):
        with client.chat.completions.stream(
            model="any", messages=[ASKED], tools=[TOOL]
        ) as stream:
            kinds = [event.type for event in stream]
            gathered = stream.get_final_completion().choices[0]
        whole = client.chat.completions.parse(
            model="any", messages=[ASKED], tools=[TOOL]
        ).choices[0]
    assert kinds.count("tool_calls.function.arguments.done") == 2
    assert "tool_calls.function.arguments.delta" in kinds
    assert gathered.finish_reason == whole.finish_reason == "tool_calls"
    assert gathered.message.content == whole.message.content == "Both:"
    for choice in (gathered, whole):
        assert choice.message.tool_calls
        parsed = [call.function.parsed_arguments for call in choice.message.tool_calls]
        assert parsed == [GetWeather(city="Zürich", days=2)] * 2


# -- Responses -------------------------------------------------------------------------


def test_responses_call_a_tool_and_continue_by_id() -> None:
    with served(THOUGHT + CALL, ANSWER) as (client, model):
        first = client.responses.create(
            model="any",
            input="Weather?",
            tools=[FLAT],
            tool_choice={"type": "function", "name": "get_weather"},
        )
        thinking, call = first.output
        assert thinking.type == "reasoning"
        assert thinking.content
        assert thinking.content[0].text == "Look first."
        assert call.type == "function_call"
        assert json.loads(call.arguments) == {"city": "Zürich", "days": 2}
        result: Any = {
            "type": "function_call_output",
            "call_id": call.call_id,
            "output": "21 °C",
        }
        last = client.responses.create(
            model="any",
            input=[result],
            previous_response_id=first.id,
            tools=[FLAT],
        )
    assert last.output_text == ANSWER
    assert "Look first." in model.prompts[1]
    assert "<|im_start|>tool\n21 °C" in model.prompts[1]


def test_the_responses_helper_streams_what_create_returns() -> None:
    with served(f"{THOUGHT}Now:\n{CALL}") as (client, _):
        with client.responses.stream(
            model="any", input="Weather?", tools=[FLAT]
        ) as stream:
            kinds = {event.type for event in stream}
            final = stream.get_final_response()
        whole = client.responses.parse(model="any", input="Weather?", tools=[FLAT])
    assert kinds >= {
        "response.reasoning_text.delta",
        "response.reasoning_text.done",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
    }
    for response in (final, whole):
        kinds_of_items = [item.type for item in response.output]
        assert kinds_of_items == ["reasoning", "message", "function_call"]
        call = response.output[2]
        assert call.type == "function_call"
        assert json.loads(call.arguments) == {"city": "Zürich", "days": 2}
    assert final.output_text == whole.output_text == "Now:"


# -- Messages --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "choice",
    [{"type": "auto"}, {"type": "any"}, {"type": "tool", "name": "get_weather"}],
)
def test_messages_call_a_tool_and_go_on_with_its_result(choice: Any) -> None:
    with served_messages(THOUGHT + CALL, ANSWER) as (client, model):
        fixed: dict[str, Any] = {"model": "any", "max_tokens": 512}
        tools = {"tools": [ANTHROPIC_TOOL], "tool_choice": choice}
        first = client.messages.create(**fixed, **tools, messages=[ASKED])
        thinking, call = first.content
        assert first.stop_reason == "tool_use"
        assert thinking.type == "thinking"
        assert thinking.thinking == "Look first."
        assert call.type == "tool_use"
        assert call.input == {"city": "Zürich", "days": 2}
        result: Any = {
            "type": "tool_result",
            "tool_use_id": call.id,
            "content": "21 °C",
        }
        history: list[Any] = [
            ASKED,
            {"role": "assistant", "content": first.content},
            {"role": "user", "content": [result]},
        ]
        last = client.messages.create(
            **fixed,
            tools=[ANTHROPIC_TOOL],
            messages=history,
        )
    assert [block.text for block in last.content if block.type == "text"] == [ANSWER]
    assert last.stop_reason == "end_turn"
    assert "Look first." in model.prompts[1]
    assert "<|im_start|>tool\n21 °C" in model.prompts[1]


def test_the_messages_helper_streams_what_create_returns() -> None:
    with served_messages(f"{THOUGHT}Now:\n{CALL}\n{CALL}") as (client, _):
        fixed: dict[str, Any] = {
            "model": "any",
            "max_tokens": 2048,
            "messages": [ASKED],
            "tools": [ANTHROPIC_TOOL],
            "thinking": {"type": "enabled", "budget_tokens": 1024},
        }
        with client.messages.stream(**fixed) as stream:
            kinds = {event.type for event in stream}
            final = stream.get_final_message()
        whole = client.messages.create(**fixed)
    assert kinds >= {"thinking", "signature", "text", "input_json"}
    shown = [
        [block.model_dump(exclude={"id"}) for block in message.content]
        for message in (final, whole)
    ]
    for blocks in shown:
        for block in blocks:
            block.pop("parsed_output", None)
    assert shown[0] == shown[1]
    kinds_of_blocks = [block["type"] for block in shown[0]]
    assert kinds_of_blocks == ["thinking", "text", "tool_use", "tool_use"]
    assert final.stop_reason == whole.stop_reason == "tool_use"


# -- a real model ----------------------------------------------------------------------


def test_a_small_model_calls_the_tool_that_it_must_call(
    demo_server: ServerProcess,
) -> None:
    """The grammar does it: without one this model writes no calls."""
    url = f"{demo_server.url}/v1"
    with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        fixed: dict[str, Any] = {
            "model": "any",
            "messages": [{"role": "user", "content": "Weather in Paris for 2 days?"}],
            "tools": [TOOL],
            "tool_choice": NAMED,
            "parallel_tool_calls": False,
            "temperature": 0,
            "max_tokens": 96,
        }
        whole = client.chat.completions.create(**fixed).choices[0]
        streamed = ""
        for chunk in client.chat.completions.create(**fixed, stream=True):
            for call in chunk.choices[0].delta.tool_calls or ():
                assert call.function
                streamed += call.function.arguments or ""
    assert whole.finish_reason == "tool_calls"
    assert whole.message.tool_calls
    (only,) = whole.message.tool_calls
    assert only.type == "function"
    assert isinstance(GetWeather.model_validate_json(only.function.arguments).city, str)
    assert streamed == only.function.arguments


# -- answers with a form ---------------------------------------------------------------


def test_an_answer_is_parsed_into_its_model() -> None:
    text = '{"city": "Zürich", "days": 2}'
    with served(THOUGHT + text) as (client, model):
        chat = client.chat.completions.parse(
            model="any", messages=[ASKED], response_format=GetWeather
        )
        response = client.responses.parse(
            model="any", input="Weather?", text_format=GetWeather
        )
    message = chat.choices[0].message
    expected = GetWeather(city="Zürich", days=2)
    assert message.parsed == response.output_parsed == expected
    assert len(model.constraints) == 2


@pytest.mark.parametrize("text", [CALL, '{"city": "Bern", "days": 1}'])
def test_with_a_form_the_model_may_call_or_answer(text: str) -> None:
    with served(text) as (client, model):
        reply = client.chat.completions.parse(
            model="any", messages=[ASKED], tools=[TOOL], response_format=GetWeather
        )
    message = reply.choices[0].message
    if message.tool_calls:
        assert message.tool_calls[0].function.parsed_arguments == GetWeather(
            city="Zürich", days=2
        )
    else:
        assert message.parsed == GetWeather(city="Bern", days=1)
    assert bool(message.tool_calls) is (text == CALL)
    (request,) = model.requests
    assert request.constraint is not None
    matcher = request.constraint.matcher()
    for token in text.encode():
        assert matcher.allows(token)
        matcher.consume(token)
    refused = request.constraint.matcher()
    assert not refused.allows(ord("N"))
