"""A real server and litellm, by both of the protocols that it speaks to us."""

from __future__ import annotations

import asyncio
from types import ModuleType
from typing import Any

import pytest

from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.clients, pytest.mark.filterwarnings("ignore")]

SUM: list[Any] = [{"role": "user", "content": "What is 2+2?"}]


@pytest.fixture
def litellm(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The library, kept from fetching its price list."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    return litellm


def arguments(server: ServerProcess, protocol: str = "openai") -> dict[str, Any]:
    path = "/v1" if protocol == "openai" else ""
    return {
        "model": f"{protocol}/smollm2",
        "api_base": server.url + path,
        "api_key": "none",
        "messages": SUM,
        "max_tokens": 24,
        "temperature": 0,
        "num_retries": 0,
    }


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_completion_answers_and_streams_the_same(
    litellm: ModuleType, demo_server: ServerProcess, protocol: str
) -> None:
    whole = litellm.completion(**arguments(demo_server, protocol))
    text = whole.choices[0].message.content
    assert "4" in text
    assert whole.choices[0].finish_reason == "stop"
    assert whole.usage.prompt_tokens > 10
    options = {"include_usage": True}
    chunks = list(
        litellm.completion(
            **arguments(demo_server, protocol), stream=True, stream_options=options
        )
    )
    built = litellm.stream_chunk_builder(chunks, messages=SUM)
    assert built.choices[0].message.content == text
    assert built.usage.completion_tokens == whole.usage.completion_tokens
    assert built.usage.prompt_tokens == whole.usage.prompt_tokens


def test_logprobs_without_alternatives_are_read(
    litellm: ModuleType, demo_server: ServerProcess
) -> None:
    reply = litellm.completion(**arguments(demo_server), logprobs=True)
    tokens = reply.choices[0].logprobs.content
    spelt = "".join(token.token for token in tokens)
    assert reply.choices[0].message.content in spelt
    assert all(token.top_logprobs == [] for token in tokens)


def test_the_asynchronous_call_works(
    litellm: ModuleType, demo_server: ServerProcess
) -> None:
    reply = asyncio.run(litellm.acompletion(**arguments(demo_server)))
    assert "4" in reply.choices[0].message.content


def test_text_completions_are_continued(
    litellm: ModuleType, stories_server: ServerProcess
) -> None:
    reply = litellm.text_completion(
        model="text-completion-openai/stories",
        api_base=f"{stories_server.url}/v1",
        api_key="none",
        prompt="Once upon a time",
        max_tokens=8,
    )
    assert reply.choices[0].text
    assert reply.usage.completion_tokens == 8


def test_a_prompt_that_is_too_long_has_its_own_exception(
    litellm: ModuleType, stories_server: ServerProcess
) -> None:
    long = [{"role": "user", "content": "word " * 2000}]
    with pytest.raises(litellm.ContextWindowExceededError):
        litellm.completion(**{**arguments(stories_server), "messages": long})
