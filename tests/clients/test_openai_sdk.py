"""A real server and OpenAI's own Python client: chat, completions, models, errors."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.support.server_process import ServerProcess

STORY: list[Any] = [{"role": "user", "content": "Tell me a story"}]
SUM: list[Any] = [{"role": "user", "content": "What is 2+2?"}]
GREEDY: dict[str, Any] = {"model": "any", "temperature": 0}
CHAT: dict[str, Any] = {**GREEDY, "messages": STORY, "max_tokens": 16}
TEXT: dict[str, Any] = {**GREEDY, "prompt": "Once upon a time", "max_tokens": 16}


@pytest.fixture
def client(stories_server: ServerProcess) -> Iterator[openai.OpenAI]:
    url = f"{stories_server.url}/v1"
    with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        yield client


def assert_works(client: openai.OpenAI) -> None:
    """A plain request is answered, whatever happened before."""
    reply = client.chat.completions.create(**CHAT)
    assert reply.usage
    assert reply.usage.completion_tokens == 16


# -- chat ------------------------------------------------------------------------------


def test_the_stream_helper_gathers_what_create_returns(client: openai.OpenAI) -> None:
    text = client.chat.completions.create(**CHAT).choices[0].message.content or ""
    # The helper raises when a text is cut by its limit, so a stop ends this one.
    more: dict[str, Any] = {**CHAT, "stop": text[-8:], "logprobs": True}
    whole = client.chat.completions.create(**more, top_logprobs=2)
    with client.chat.completions.stream(
        **more, top_logprobs=2, stream_options={"include_usage": True}
    ) as stream:
        kinds = [event.type for event in stream]
        gathered = stream.get_final_completion()
    assert kinds.count("content.delta") > 3
    assert {"content.done", "logprobs.content.done"} < set(kinds)
    choice, expected = gathered.choices[0], whole.choices[0]
    assert choice.message.role == "assistant"
    assert choice.message.content == expected.message.content
    assert choice.finish_reason == expected.finish_reason == "stop"
    assert choice.logprobs
    assert expected.logprobs
    assert choice.logprobs.content == expected.logprobs.content
    assert gathered.usage
    assert whole.usage
    assert gathered.usage.total_tokens == whole.usage.total_tokens


def test_logprobs_spell_the_text(client: openai.OpenAI) -> None:
    choice = client.chat.completions.create(**CHAT, logprobs=True).choices[0]
    assert choice.logprobs
    tokens = choice.logprobs.content or []
    assert len(tokens) == 16
    spelt = b"".join(bytes(token.bytes or []) for token in tokens)
    assert spelt.decode() == choice.message.content
    assert all(token.top_logprobs == [] for token in tokens)


def test_usage_comes_in_one_last_chunk_and_only_when_asked(
    client: openai.OpenAI,
) -> None:
    whole = client.chat.completions.create(**CHAT).usage
    plain = list(client.chat.completions.create(**CHAT, stream=True))
    assert [chunk.usage for chunk in plain] == [None] * len(plain)
    asked = list(
        client.chat.completions.create(
            **CHAT, stream=True, stream_options={"include_usage": True}
        )
    )
    assert [chunk.usage for chunk in asked[:-1]] == [None] * (len(asked) - 1)
    assert asked[-1].choices == []
    usage = asked[-1].usage
    assert usage
    assert whole
    assert usage.prompt_tokens == whole.prompt_tokens
    assert usage.completion_tokens == whole.completion_tokens


def test_several_choices_keep_their_order(client: openai.OpenAI) -> None:
    reply = client.chat.completions.create(**{**CHAT, "temperature": 1}, n=3, seed=7)
    assert [choice.index for choice in reply.choices] == [0, 1, 2]
    assert reply.usage
    assert reply.usage.completion_tokens == 48


def test_the_asynchronous_client_streams(stories_server: ServerProcess) -> None:
    async def read() -> str:
        url = f"{stories_server.url}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:
            stream = await client.chat.completions.create(**CHAT, stream=True)
            pieces = [c.choices[0].delta.content async for c in stream if c.choices]
        return "".join(piece or "" for piece in pieces)

    url = f"{stories_server.url}/v1"
    with openai.OpenAI(base_url=url, api_key="none") as client:
        whole = client.chat.completions.create(**CHAT).choices[0].message.content
    assert asyncio.run(read()) == whole


def test_a_model_that_can_answer_does(demo_server: ServerProcess) -> None:
    url = f"{demo_server.url}/v1"
    with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        assert [model.id for model in client.models.list()] == ["smollm2"]
        assert client.models.retrieve("smollm2").object == "model"
        reply = client.chat.completions.create(
            **GREEDY, messages=SUM, max_completion_tokens=24
        )
    assert "4" in (reply.choices[0].message.content or "")
    assert reply.choices[0].finish_reason == "stop"
    assert reply.model == "smollm2"


# -- completions -----------------------------------------------------------------------


def test_completions_answer_several_prompts(client: openai.OpenAI) -> None:
    prompts = ["Once upon a time", "The cat"]
    reply = client.completions.create(**{**TEXT, "prompt": prompts}, echo=True)
    assert [choice.index for choice in reply.choices] == [0, 1]
    for prompt, choice in zip(prompts, reply.choices, strict=True):
        assert choice.text.startswith(prompt)
        assert len(choice.text) > len(prompt)
    assert reply.usage
    assert reply.usage.completion_tokens == 32


def test_completions_streamed_are_the_whole(client: openai.OpenAI) -> None:
    whole = client.completions.create(**TEXT, logprobs=1).choices[0]
    chunks = list(client.completions.create(**TEXT, logprobs=1, stream=True))
    assert "".join(c.choices[0].text for c in chunks if c.choices) == whole.text
    assert chunks[-1].choices[0].finish_reason == "length"
    tokens = [
        token
        for chunk in chunks
        if chunk.choices and chunk.choices[0].logprobs
        for token in chunk.choices[0].logprobs.tokens or []
    ]
    assert whole.logprobs
    assert tokens == whole.logprobs.tokens


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_stop_across_tokens_ends_the_text_before_it(
    client: openai.OpenAI, is_streamed: bool
) -> None:
    def ask(*stops: str) -> tuple[str, str | None]:
        more: dict[str, Any] = {**TEXT, "max_tokens": 40, "stop": list(stops)}
        if not is_streamed:
            choice = client.completions.create(**more).choices[0]
            return choice.text, choice.finish_reason
        chunks = list(client.completions.create(**more, stream=True))
        text = "".join(chunk.choices[0].text for chunk in chunks)
        return text, chunks[-1].choices[0].finish_reason

    text, _ = ask()
    # Ten characters are several tokens of this vocabulary.
    stop = text[20:30]
    assert ask(stop) == (text[: text.index(stop)], "stop")
    assert ask("zzz") == (text, "length")


# -- errors ----------------------------------------------------------------------------


def test_errors_have_the_clients_types(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**{**CHAT, "temperature": "hot"})
    assert caught.value.param == "temperature"
    assert caught.value.type == "invalid_request_error"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("another")
    with pytest.raises(openai.NotFoundError):
        client.post("/no/such/route", cast_to=object, body={})
    assert_works(client)


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_prompt_that_is_too_long_is_told_by_its_code(
    client: openai.OpenAI, is_streamed: bool
) -> None:
    long: list[Any] = [{"role": "user", "content": "word " * 2000}]
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**{**CHAT, "messages": long}, stream=is_streamed)
    assert caught.value.code == "context_length_exceeded"
    assert_works(client)
