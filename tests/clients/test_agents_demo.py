"""Instructor, pydantic-ai and OpenAI's agents against a real, small model.

Grammars force the form; what stands in it is the model's, and it knows little.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import openai
import pytest
from pydantic import BaseModel

from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.clients, pytest.mark.filterwarnings("ignore")]


class Verdict(BaseModel):
    """What a text is."""

    language: Literal["English", "German", "French"]
    is_question: bool


QUESTION = "Is this sentence a question, and in which language is it?"


@pytest.mark.parametrize("mode", ["TOOLS", "JSON_SCHEMA"])
def test_instructor_gets_an_object_of_a_small_model(
    demo_server: ServerProcess, mode: str
) -> None:
    import instructor

    with openai.OpenAI(base_url=f"{demo_server.url}/v1", api_key="none") as client:
        patched = instructor.from_openai(client, mode=instructor.Mode[mode])
        found = patched.chat.completions.create(
            model="smollm2",
            messages=[{"role": "user", "content": QUESTION}],
            response_model=Verdict,
            max_retries=0,
            max_tokens=100,
            temperature=0,
        )
    assert isinstance(found, Verdict)


@pytest.mark.parametrize("kind", ["chat", "responses"])
def test_pydantic_ai_gets_an_object_of_a_small_model(
    demo_server: ServerProcess, kind: str
) -> None:
    from pydantic_ai import Agent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=f"{demo_server.url}/v1", api_key="none")
    models = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}
    for output in (Verdict, NativeOutput(Verdict)):  # a required call, a form
        agent: Agent[None, Any] = Agent(
            models[kind]("smollm2", provider=provider),
            output_type=output,
            model_settings={"temperature": 0, "max_tokens": 100},
            retries=0,
        )
        assert isinstance(agent.run_sync(QUESTION).output, Verdict)


@pytest.mark.parametrize("kind", ["chat", "responses"])
def test_openais_agents_call_a_tool_with_a_small_model(
    demo_server: ServerProcess, kind: str
) -> None:
    import agents

    models = {
        "chat": agents.OpenAIChatCompletionsModel,
        "responses": agents.OpenAIResponsesModel,
    }
    asked: list[str] = []

    @agents.function_tool
    def find_language(text: Literal["question", "answer"]) -> str:
        """Tell the language of a text."""
        asked.append(text)
        return "It is English."

    async def ask() -> tuple[Any, Any]:
        agents.set_tracing_disabled(True)
        url = f"{demo_server.url}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:
            model = models[kind](model="smollm2", openai_client=client)
            limits = {"temperature": 0, "max_tokens": 200}
            caller: agents.Agent[Any] = agents.Agent(
                name="caller",
                tools=[find_language],
                model=model,
                model_settings=agents.ModelSettings(
                    tool_choice="required", parallel_tool_calls=False, **limits
                ),
                tool_use_behavior="stop_on_first_tool",
            )
            judge: agents.Agent[Any] = agents.Agent(
                name="judge",
                model=model,
                model_settings=agents.ModelSettings(**limits),
                output_type=Verdict,
            )
            called = await agents.Runner.run(caller, QUESTION)
            judged = await agents.Runner.run(judge, QUESTION)
        return called.final_output, judged.final_output

    called, verdict = asyncio.run(ask())
    assert called == "It is English."
    assert set(asked) <= {"question", "answer"}
    assert isinstance(verdict, Verdict)
