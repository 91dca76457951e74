"""A real server and langchain-openai."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.server_process import ServerProcess

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI

pytestmark = [pytest.mark.clients, pytest.mark.filterwarnings("ignore")]


def chat(server: ServerProcess, **more: Any) -> ChatOpenAI:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model="smollm2",
        base_url=f"{server.url}/v1",
        api_key="none",  # type: ignore[arg-type]
        temperature=0,
        max_retries=0,
        **more,
    )


def test_invoke_answers_with_usage(demo_server: ServerProcess) -> None:
    message = chat(demo_server, max_tokens=24).invoke("What is 2+2?")
    assert "4" in message.content
    assert message.response_metadata["finish_reason"] == "stop"
    assert message.usage_metadata
    assert message.usage_metadata["input_tokens"] > 10
    assert message.usage_metadata["output_tokens"] > 3


def test_stream_is_what_invoke_returns(demo_server: ServerProcess) -> None:
    model = chat(demo_server, max_tokens=24, stream_usage=True)
    whole = model.invoke("What is 2+2?")
    chunks = list(model.stream("What is 2+2?"))
    assert len(chunks) > 5
    assert "".join(str(chunk.content) for chunk in chunks) == whole.content
    usages = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]
    assert len(usages) == 1
    assert whole.usage_metadata
    assert usages[0]["total_tokens"] == whole.usage_metadata["total_tokens"]


def test_a_conversation_of_all_roles_is_batched(demo_server: ServerProcess) -> None:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

    begun = [
        SystemMessage("You answer briefly."),
        HumanMessage("My name is Ann."),
        AIMessage("Hello, Ann!"),
    ]
    questions = ["What is my name?", "Say hello."]
    prompts = [[*begun, HumanMessage(question)] for question in questions]
    model = chat(demo_server, max_tokens=12)
    replies = asyncio.run(model.abatch(prompts))
    assert all(reply.content for reply in replies)
    alone = model.invoke(questions[0])
    for reply in replies:
        assert reply.usage_metadata
        assert reply.usage_metadata["input_tokens"] > 30
    # The beginning is another one, and so is the answer.
    assert replies[0].content != alone.content


def test_the_responses_api_is_used_when_asked(demo_server: ServerProcess) -> None:
    model = chat(demo_server, max_tokens=24, use_responses_api=True)
    message = model.invoke("What is 2+2?")
    assert "4" in message.text
    chunks = list(model.stream("What is 2+2?"))
    assert "".join(chunk.text for chunk in chunks) == message.text


def test_a_legacy_completion_is_continued(stories_server: ServerProcess) -> None:
    from langchain_openai import OpenAI

    model = OpenAI(
        model="stories",
        base_url=f"{stories_server.url}/v1",
        api_key="none",  # type: ignore[arg-type]
        temperature=0,
        max_tokens=16,
    )
    text = model.invoke("Once upon a time")
    assert text
    assert "".join(model.stream("Once upon a time")) == text
