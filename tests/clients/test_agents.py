"""Agents of pydantic-ai and OpenAI, and instructor: tools, and answers with a form.

The model is a script: what counts is that both sides understand each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from tests.support.app_server import AppServer
from tests.support.tool_model import ToolModel, written_call

pytestmark = [pytest.mark.clients, pytest.mark.filterwarnings("ignore")]

CALL = written_call("get_weather", '{"city": "Zürich", "days": 2}')
WEATHER = "21 °C in Zürich"


class Weather(BaseModel):
    """The weather of a city."""

    city: str
    days: int


def after_the_result(call: str, last: str) -> Callable[[str], str]:
    """Return a model that calls, and says `last` once it has the result."""
    return lambda prompt: last if WEATHER in prompt else call


@contextmanager
def served(script: Callable[[str], str]) -> Iterator[tuple[str, ToolModel]]:
    model = ToolModel(script)
    with AppServer(model) as server:
        yield f"{server.url}/v1", model


# -- instructor ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["TOOLS", "TOOLS_STRICT", "JSON", "JSON_SCHEMA"])
def test_instructor_gets_an_object(mode: str) -> None:
    import instructor

    answer = '{"city": "Zürich", "days": 2}'
    if "TOOLS" in mode:
        answer = written_call("Weather", answer)
    with (
        served(lambda prompt: answer) as (url, model),
        openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client,
    ):
        patched = instructor.from_openai(client, mode=instructor.Mode[mode])
        found = patched.chat.completions.create(
            model="any",
            messages=[{"role": "user", "content": "Weather?"}],
            response_model=Weather,
            max_retries=0,
        )
    assert found.model_dump() == {"city": "Zürich", "days": 2}
    assert len(model.constraints) == 1


# -- pydantic-ai -----------------------------------------------------------------------


def pydantic_model(url: str, kind: str) -> Any:
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    models = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}
    return models[kind]("any", provider=OpenAIProvider(base_url=url, api_key="none"))


@pytest.mark.parametrize("kind", ["chat", "responses"])
def test_pydantic_ai_runs_a_tool_and_gets_an_object(kind: str) -> None:
    from pydantic_ai import Agent

    last = written_call("final_result", '{"city": "Zürich", "days": 21}')
    with served(after_the_result(CALL, last)) as (url, model):
        agent = Agent(pydantic_model(url, kind), output_type=Weather)

        @agent.tool_plain
        def get_weather(city: str, days: int) -> str:
            """Tell the weather."""
            assert (city, days) == ("Zürich", 2)
            return WEATHER

        answer = agent.run_sync("Weather?")
    assert answer.output == Weather(city="Zürich", days=21)
    assert len(model.prompts) == 2


@pytest.mark.parametrize("kind", ["chat", "responses"])
def test_pydantic_ai_streams_what_comes_after_a_tool(kind: str) -> None:
    from pydantic_ai import Agent

    async def ask(agent: Agent) -> str:
        async with agent.run_stream("Weather?") as stream:
            return "".join([text async for text in stream.stream_text(delta=True)])

    with served(after_the_result(CALL, "Warm.")) as (url, _):
        agent = Agent(pydantic_model(url, kind))

        @agent.tool_plain
        def get_weather(city: str, days: int) -> str:
            """Tell the weather."""
            return WEATHER

        assert asyncio.run(ask(agent)) == "Warm."


# -- OpenAI's agents -------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["chat", "responses"])
@pytest.mark.parametrize("has_form", [False, True])
def test_openais_agents_run_a_tool_and_answer(kind: str, has_form: bool) -> None:
    import agents

    models = {
        "chat": agents.OpenAIChatCompletionsModel,
        "responses": agents.OpenAIResponsesModel,
    }

    @agents.function_tool
    def get_weather(city: str, days: int) -> str:
        """Tell the weather."""
        return WEATHER

    async def ask(url: str) -> tuple[Any, Any]:
        agents.set_tracing_disabled(True)
        async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:
            agent: agents.Agent[Any] = agents.Agent(
                name="asked",
                tools=[get_weather],
                model=models[kind](model="any", openai_client=client),
                output_type=Weather if has_form else None,
            )
            whole = await agents.Runner.run(agent, "Weather?")
            streamed = agents.Runner.run_streamed(agent, "Weather?")
            async for _ in streamed.stream_events():
                pass
        return whole.final_output, streamed.final_output

    last = '{"city": "Zürich", "days": 21}' if has_form else "Warm."
    with served(after_the_result(CALL, last)) as (url, model):
        whole, streamed = asyncio.run(ask(url))
    assert whole == streamed == (Weather(city="Zürich", days=21) if has_form else last)
    assert len(model.prompts) == 4
