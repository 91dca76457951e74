"""A real server and OpenAI's own Python client, on its Responses."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types.responses import Response

from tests.support.server_process import ServerProcess
from tests.support.waiting import eventually

STORY = "Once upon a time"
GREEDY: dict[str, Any] = {"model": "any", "temperature": 0}
SHORT: dict[str, Any] = {**GREEDY, "input": STORY, "max_output_tokens": 12}
ENDLESS: dict[str, Any] = {**GREEDY, "input": STORY, "extra_body": {"ignore_eos": True}}
DONE = ("completed", "incomplete", "failed", "cancelled")


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stories_model_path: Path
) -> Iterator[ServerProcess]:
    """A ready server on stories260K with four slots; generations may be endless."""
    flags = ("-m", str(stories_model_path), "--port", "0", "-np", "4", "-c", "2048")
    more = ("--context-shift", "--shutdown-timeout", "1")
    folder = tmp_path_factory.mktemp("server")
    with ServerProcess(folder, (*flags, *more)) as process:
        process.wait_ready()
        yield process


@pytest.fixture
def client(server: ServerProcess) -> Iterator[openai.OpenAI]:
    url = f"{server.url}/v1"
    with openai.OpenAI(base_url=url, api_key="none", max_retries=0) as client:
        yield client


def poll(client: openai.OpenAI, id: str) -> Response:
    eventually(lambda: client.responses.retrieve(id).status in DONE, within_s=20)
    return client.responses.retrieve(id)


def assert_works(client: openai.OpenAI) -> None:
    """A plain request is answered, whatever happened before."""
    response = client.responses.create(**SHORT)
    assert response.usage
    assert response.usage.output_tokens == 12


# -- replies and streams ---------------------------------------------------------------


def test_an_answer_has_text_and_usage(client: openai.OpenAI) -> None:
    response = client.responses.create(**SHORT, instructions="Tell a story")
    assert response.output_text
    assert (response.status, response.error) == ("incomplete", None)
    assert response.incomplete_details
    assert response.incomplete_details.reason == "max_output_tokens"
    assert response.usage
    assert response.usage.output_tokens == 12
    again = client.responses.create(**SHORT, instructions="Tell a story")
    assert again.usage
    assert again.usage.input_tokens_details.cached_tokens > 0
    assert again.usage.input_tokens == response.usage.input_tokens
    assert again.output_text == response.output_text


def test_a_stream_is_what_the_whole_answer_is(client: openai.OpenAI) -> None:
    whole = client.responses.create(**SHORT)
    with client.responses.create(**SHORT, stream=True) as stream:
        events = list(stream)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    deltas = [e.delta for e in events if e.type == "response.output_text.delta"]
    assert "".join(deltas) == whole.output_text
    last = events[-1]
    assert last.type == "response.incomplete"
    assert last.response.output_text == whole.output_text
    assert last.response.usage
    assert last.response.usage.output_tokens == 12


def test_the_stream_helper_returns_the_final_response(client: openai.OpenAI) -> None:
    body = {**SHORT, "max_output_tokens": 64, "extra_body": {"stop": ["."]}}
    with client.responses.stream(**body) as stream:
        text = "".join(
            event.delta
            for event in stream
            if event.type == "response.output_text.delta"
        )
        final = stream.get_final_response()
    assert final.status == "completed"
    assert final.output_text == text
    assert client.responses.retrieve(final.id).output_text == text


def test_logprobs_are_those_of_the_text(client: openai.OpenAI) -> None:
    response = client.responses.create(
        **SHORT, include=["message.output_text.logprobs"], top_logprobs=2
    )
    message = response.output[0]
    assert message.type == "message"
    part = message.content[0]
    assert part.type == "output_text"
    assert part.logprobs
    data = bytes(byte for item in part.logprobs for byte in item.bytes)
    assert data.decode() == part.text
    assert {len(item.top_logprobs) for item in part.logprobs} == {2}
    # Greedy: the best alternative is the token itself.
    assert part.logprobs[0].top_logprobs[0].token == part.logprobs[0].token


def test_tokens_are_counted_as_they_are_used(client: openai.OpenAI) -> None:
    n_tokens = client.responses.input_tokens.count(
        model="any", input=STORY
    ).input_tokens
    usage = client.responses.create(**SHORT).usage
    assert usage
    assert n_tokens == usage.input_tokens


# -- conversations ---------------------------------------------------------------------


def test_a_conversation_is_continued_listed_and_deleted(client: openai.OpenAI) -> None:
    first = client.responses.create(**SHORT)
    second = client.responses.create(
        **{**SHORT, "input": "And then?"}, previous_response_id=first.id
    )
    assert second.usage
    assert first.usage
    # What the first one computed is not computed again.
    assert second.usage.input_tokens_details.cached_tokens >= first.usage.input_tokens
    items = list(client.responses.input_items.list(second.id, order="asc", limit=2))
    assert [item.type for item in items] == ["message"] * 3
    assert items[1].id == first.output[0].id
    client.responses.delete(first.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(first.id)
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(**SHORT, previous_response_id=first.id)
    assert caught.value.code == "previous_response_not_found"
    assert caught.value.param == "previous_response_id"


def test_output_can_be_sent_back_as_input(client: openai.OpenAI) -> None:
    first = client.responses.create(**SHORT, store=False)
    history: list[Any] = [{"role": "user", "content": STORY}]
    history += [item.model_dump() for item in first.output]
    history.append({"role": "user", "content": "And then?"})
    second = client.responses.create(**{**SHORT, "input": history}, store=False)
    assert second.output_text


# -- in background ---------------------------------------------------------------------


def test_a_background_response_is_polled(client: openai.OpenAI) -> None:
    response = client.responses.create(**SHORT, background=True)
    assert response.status in ("queued", "in_progress", "incomplete")
    final = poll(client, response.id)
    assert final.status == "incomplete"
    assert final.output_text == client.responses.create(**SHORT).output_text


def test_a_background_response_outlives_its_reader_and_is_cancelled(
    client: openai.OpenAI, server: ServerProcess
) -> None:
    with client.responses.create(**ENDLESS, background=True, stream=True) as stream:
        created = next(iter(stream))
        assert created.type == "response.created"
        id = created.response.id
    eventually(lambda: len(client.responses.retrieve(id).output_text) > 100)
    assert server.n_busy_slots() == 1
    cancelled = client.responses.cancel(id)
    assert cancelled.status == "cancelled"
    assert len(cancelled.output_text) > 100
    eventually(lambda: server.n_busy_slots() == 0)
    assert client.responses.cancel(id) == cancelled
    assert_works(client)


# -- what goes wrong -------------------------------------------------------------------


def test_a_background_response_is_read_again_after_any_event(
    client: openai.OpenAI,
) -> None:
    with client.responses.create(**SHORT, background=True, stream=True) as stream:
        events = list(stream)
    id = events[0].response.id
    for number in (0, 3, len(events) - 2):
        with client.responses.retrieve(
            id, stream=True, starting_after=number
        ) as stream:
            again = list(stream)
        assert again == events[number + 1 :]


def test_a_prompt_that_is_too_long_is_told_by_its_code(client: openai.OpenAI) -> None:
    for is_streamed in (False, True):
        with pytest.raises(openai.BadRequestError) as caught:
            client.responses.create(
                model="any", input="word " * 2000, stream=is_streamed
            )
        assert caught.value.code == "context_length_exceeded"
    assert_works(client)


def test_an_image_is_refused_by_its_place(client: openai.OpenAI) -> None:
    image: Any = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(
            model="any", input=[{"role": "user", "content": [image]}]
        )
    assert caught.value.param == "input[0].content[0]"
    assert_works(client)


@pytest.mark.parametrize("is_streamed", [False, True])
def test_leaving_frees_the_slot(
    client: openai.OpenAI, server: ServerProcess, is_streamed: bool
) -> None:
    body = b'{"input":"Once","ignore_eos":true,"stream":%s}' % (
        b"true" if is_streamed else b"false"
    )
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 20) as raw:
        head = b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
        raw.sendall(head % len(body) + body)
        eventually(lambda: server.n_busy_slots() == 1)
    eventually(lambda: server.n_busy_slots() == 0, within_s=2)
    assert_works(client)
