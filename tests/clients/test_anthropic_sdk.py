"""A real server and Anthropic's own Python client."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest

from tests.support.server_process import ServerProcess
from tests.support.streams import StreamReader

PATH = "/v1/messages"
STORY: list[Any] = [{"role": "user", "content": "Tell me a story"}]
GREEDY = {"temperature": 0, "seed": 1}
N_CTX_SLOT = 512
LEAD_BYTE_TOKEN = 3 + 0xE6
"""Begins a character of three bytes in the model's vocabulary."""


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stories_model_path: Path
) -> Iterator[ServerProcess]:
    """A ready server on stories260K with four slots of 512 tokens each."""
    folder = tmp_path_factory.mktemp("server")
    flags = (
        "-m",
        str(stories_model_path),
        "--port",
        "0",
        "-np",
        "4",
        "-c",
        str(4 * N_CTX_SLOT),
    )
    with ServerProcess(folder, flags) as process:
        process.wait_ready()
        yield process


@pytest.fixture
def client(server: ServerProcess) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(
        base_url=server.url, api_key="none", max_retries=0
    ) as client:
        yield client


def text_of(message: anthropic.types.Message) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def n_input(usage: anthropic.types.Usage) -> int:
    return usage.input_tokens + (usage.cache_read_input_tokens or 0)


def assert_works(client: anthropic.Anthropic) -> None:
    """A plain request is answered, whatever happened before."""
    message = client.messages.create(model="any", max_tokens=1, messages=STORY)
    assert message.usage.output_tokens == 1


# -- replies and streams ---------------------------------------------------------------


def test_create_returns_a_message(client: anthropic.Anthropic) -> None:
    message = client.messages.create(
        model="claude-any",
        max_tokens=12,
        system=[{"type": "text", "text": "Be brief."}],
        messages=STORY,
    )
    assert (message.type, message.role) == ("message", "assistant")
    assert message.id.startswith("msg_")
    assert message.model == "stories260K.gguf"
    assert text_of(message)
    assert message.stop_reason == "max_tokens"
    assert message.usage.output_tokens == 12
    assert message._request_id


def test_stream_helper_gathers_what_create_returns(
    client: anthropic.Anthropic,
) -> None:
    whole = client.messages.create(
        model="any", max_tokens=24, messages=STORY, extra_body=GREEDY
    )
    with client.messages.stream(
        model="any", max_tokens=24, messages=STORY, extra_body=GREEDY
    ) as stream:
        pieces = list(stream.text_stream)
        message = stream.get_final_message()
    assert len(pieces) > 5
    assert "".join(pieces) == text_of(message) == text_of(whole)
    assert message.stop_reason == whole.stop_reason == "max_tokens"
    assert message.usage.output_tokens == whole.usage.output_tokens == 24
    assert n_input(message.usage) == n_input(whole.usage)


def test_raw_events_are_typed_and_in_order(client: anthropic.Anthropic) -> None:
    with client.messages.create(
        model="any", max_tokens=3, messages=STORY, stream=True
    ) as stream:
        kinds = [event.type for event in stream]
    n_deltas = kinds.count("content_block_delta")
    assert n_deltas >= 1
    assert kinds == [
        "message_start",
        "content_block_start",
        *["content_block_delta"] * n_deltas,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


async def streamed(server: ServerProcess) -> anthropic.types.Message:
    async with (
        anthropic.AsyncAnthropic(base_url=server.url, auth_token="none") as client,
        client.messages.stream(model="any", max_tokens=5, messages=STORY) as stream,
    ):
        return await stream.get_final_message()


def test_the_asynchronous_client_streams(server: ServerProcess) -> None:
    message = asyncio.run(streamed(server))
    assert message.usage.output_tokens == 5


def test_the_beta_client_works_too(client: anthropic.Anthropic) -> None:
    message = client.beta.messages.create(
        model="any", max_tokens=2, messages=STORY, betas=["context-1m-2025-08-07"]
    )
    assert message.stop_reason == "max_tokens"


def test_models_can_be_listed(client: anthropic.Anthropic) -> None:
    assert [model.id for model in client.models.list()] == ["stories260K.gguf"]


# -- stop sequences --------------------------------------------------------------------


@pytest.mark.parametrize("streamed", [False, True])
def test_a_stop_sequence_across_tokens_ends_the_text_before_it(
    client: anthropic.Anthropic, streamed: bool
) -> None:
    def ask(*stops: str) -> anthropic.types.Message:
        arguments: dict[str, Any] = {
            "model": "any",
            "max_tokens": 40,
            "messages": STORY,
            "stop_sequences": list(stops),
            "extra_body": GREEDY,
        }
        if not streamed:
            return client.messages.create(**arguments)
        with client.messages.stream(**arguments) as stream:
            return stream.get_final_message()

    text = text_of(ask())
    # Ten characters are several tokens of this vocabulary.
    stop = text[20:30]
    message = ask(stop)
    assert text_of(message) == text[: text.index(stop)]
    assert message.stop_reason == "stop_sequence"
    assert message.stop_sequence == stop
    other = ask("zzz")
    assert text_of(other) == text
    assert (other.stop_reason, other.stop_sequence) == ("max_tokens", None)


def test_a_full_context_is_told_apart_from_max_tokens(
    client: anthropic.Anthropic,
) -> None:
    with client.messages.stream(
        model="any",
        max_tokens=100_000,
        messages=STORY,
        extra_body={"ignore_eos": True},
    ) as stream:
        message = stream.get_final_message()
    assert message.stop_reason == "model_context_window_exceeded"
    assert n_input(message.usage) + message.usage.output_tokens == N_CTX_SLOT


@pytest.mark.parametrize("streamed", [False, True])
def test_half_a_character_is_not_sent(
    client: anthropic.Anthropic, streamed: bool
) -> None:
    arguments: dict[str, Any] = {
        "model": "any",
        "max_tokens": 1,
        "messages": STORY,
        "extra_body": {**GREEDY, "logit_bias": [[LEAD_BYTE_TOKEN, 1000]]},
    }
    if streamed:
        with client.messages.stream(**arguments) as stream:
            message = stream.get_final_message()
    else:
        message = client.messages.create(**arguments)
    assert message.content == []
    assert (message.stop_reason, message.usage.output_tokens) == ("max_tokens", 1)
    assert_works(client)


# -- tokens ----------------------------------------------------------------------------


def test_counted_tokens_are_those_that_are_computed(
    client: anthropic.Anthropic,
) -> None:
    arguments: dict[str, Any] = {
        "model": "any",
        "system": "You are a bear.",
        "messages": [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Growl."},
            {"role": "user", "content": [{"type": "text", "text": "And then?"}]},
        ],
    }
    counted = client.messages.count_tokens(**arguments).input_tokens
    for _ in range(2):
        message = client.messages.create(max_tokens=1, **arguments)
        assert n_input(message.usage) == counted
    # The second time all but one were there already.
    assert message.usage.cache_read_input_tokens == counted - 1


def test_text_keeps_one_beginning_token(server: ServerProcess) -> None:
    body = {"messages": STORY}
    counted = server.post(PATH + "/count_tokens", body).json()["input_tokens"]
    prompt = server.post("/apply-template", body).json()["prompt"]
    reply = server.post("/tokenize", {"content": prompt, "add_special": True})
    tokens = reply.json()["tokens"]
    assert len(tokens) == counted
    assert tokens.count(tokens[0]) == 1


# -- tools -----------------------------------------------------------------------------


def test_a_conversation_with_tools_goes_through(client: anthropic.Anthropic) -> None:
    tool: Any = {
        "name": "ls",
        "description": "List files.",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
    }
    messages: list[Any] = [
        {"role": "user", "content": "What is there?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Look.", "signature": "s"},
                {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": "."}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "is_error": True,
                    "content": [{"type": "text", "text": "no such folder"}],
                }
            ],
        },
    ]
    message = client.messages.create(
        model="any",
        max_tokens=4,
        messages=messages,
        tools=[tool],
        tool_choice={"type": "auto"},
    )
    assert message.usage.output_tokens == 4


# -- errors ----------------------------------------------------------------------------


def refused(client: anthropic.Anthropic, **arguments: Any) -> anthropic.APIStatusError:
    arguments = {"model": "any", "max_tokens": 4, "messages": STORY, **arguments}
    with pytest.raises(anthropic.APIStatusError) as caught:
        client.messages.create(**arguments)
    assert caught.value.request_id
    return caught.value


@pytest.mark.parametrize("streamed", [False, True])
def test_a_prompt_that_is_too_long_is_a_bad_request(
    client: anthropic.Anthropic, streamed: bool
) -> None:
    long: list[Any] = [{"role": "user", "content": "word " * 2 * N_CTX_SLOT}]
    error = refused(client, messages=long, stream=streamed)
    assert isinstance(error, anthropic.BadRequestError)
    assert error.type == "invalid_request_error"
    assert "prompt is too long" in (error.api_message or "")
    assert f"> {N_CTX_SLOT - 1} maximum" in (error.api_message or "")
    assert_works(client)


def test_an_image_is_a_bad_request(client: anthropic.Anthropic) -> None:
    for data in ("iVBORw0KGgo=", "no base64"):
        source = {"type": "base64", "media_type": "image/png", "data": data}
        content = [{"type": "image", "source": source}]
        error = refused(client, messages=[{"role": "user", "content": content}])
        assert isinstance(error, anthropic.BadRequestError)
        assert "image input is not supported" in (error.api_message or "")
    assert_works(client)


def test_a_body_that_is_too_large_has_its_own_error(server: ServerProcess) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {1 << 40}\r\n\r\n"
    reply = b""
    with socket.create_connection((host, int(port)), timeout=20) as raw:
        raw.sendall(head.encode())
        while chunk := raw.recv(65536):
            reply += chunk
    assert reply.startswith(b"HTTP/1.1 413")
    error = json.loads(reply.partition(b"\r\n\r\n")[2])
    assert error["error"]["type"] == "request_too_large"
    assert "the limit is" in error["error"]["message"]


def test_the_clients_keys_are_known(tmp_path: Path, tiny_model_path: Path) -> None:
    flags = ("-m", str(tiny_model_path), "--port", "0", "--api-key", "secret")
    with ServerProcess(tmp_path, flags) as server:
        server.wait_ready()
        for credential in ({"api_key": "secret"}, {"auth_token": "secret"}):
            with anthropic.Anthropic(base_url=server.url, **credential) as client:
                assert_works(client)
        with anthropic.Anthropic(base_url=server.url, api_key="wrong") as client:
            error = refused(client)
    assert isinstance(error, anthropic.AuthenticationError)
    assert error.type == "authentication_error"


# -- several at once -------------------------------------------------------------------


def test_two_streams_run_at_once(server: ServerProcess) -> None:
    body = {"max_tokens": 200, "messages": STORY, "ignore_eos": True, "stream": True}
    readers = [StreamReader(server.url + PATH, body) for _ in range(2)]
    for reader in readers:
        reader.join()
        assert reader.events[-1] == {"type": "message_stop"}
        assert reader.events[-2]["usage"]["output_tokens"] == 200


# -- the server's end ------------------------------------------------------------------


def test_a_server_that_stops_ends_a_stream_with_an_error(
    tmp_path: Path, stories_model_path: Path
) -> None:
    flags = ("-m", str(stories_model_path), "--port", "0", "--context-shift")
    environment = {"LLAMA_ARG_SHUTDOWN_TIMEOUT": "0.2"}
    with ServerProcess(tmp_path, flags, environment=environment) as server:
        server.wait_ready()
        with (
            anthropic.Anthropic(base_url=server.url, api_key="none") as client,
            client.messages.stream(
                model="any",
                max_tokens=1 << 30,
                messages=STORY,
                extra_body={"ignore_eos": True},
            ) as stream,
        ):
            next(iter(stream.text_stream))
            server.send()
            with pytest.raises(anthropic.APIStatusError) as caught:
                stream.until_done()
        assert caught.value.type == "overloaded_error"
        assert server.wait_exit(within_s=10) == 0
