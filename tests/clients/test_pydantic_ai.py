"""A real server and agents of pydantic-ai."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.support.server_process import ServerProcess

if TYPE_CHECKING:
    from pydantic_ai import Agent

pytestmark = [pytest.mark.clients, pytest.mark.filterwarnings("ignore")]


@contextmanager
def agent(server: ServerProcess, kind: str) -> Iterator[Agent]:
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=f"{server.url}/v1", api_key="none")
    models = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}
    model = models[kind]("smollm2", provider=provider)
    yield Agent(model, model_settings={"temperature": 0, "max_tokens": 24})


@pytest.mark.parametrize("kind", ["chat", "responses"])
def test_an_agent_answers_and_streams_the_same(
    demo_server: ServerProcess, kind: str
) -> None:
    async def ask() -> tuple[str, str, int]:
        with agent(demo_server, kind) as asked:
            whole = await asked.run("What is 2+2?")
            async with asked.run_stream("What is 2+2?") as stream:
                pieces = [piece async for piece in stream.stream_text(delta=True)]
        return whole.output, "".join(pieces), whole.usage.output_tokens

    whole, streamed, n_tokens = asyncio.run(ask())
    assert "4" in whole
    assert streamed == whole
    assert n_tokens > 3


def test_a_second_run_continues_the_conversation(demo_server: ServerProcess) -> None:
    async def ask() -> None:
        with agent(demo_server, "chat") as asked:
            first = await asked.run("My name is Ann. Say hello.")
            history = first.all_messages()
            second = await asked.run("What is my name?", message_history=history)
        known = first.usage.input_tokens + first.usage.output_tokens
        assert second.usage.input_tokens > known
        # What was said before is not computed again.
        assert second.usage.cache_read_tokens >= first.usage.input_tokens
        assert second.output

    asyncio.run(ask())
