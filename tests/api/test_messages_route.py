"""``/v1/messages`` and ``/v1/messages/count_tokens``: replies, events, errors."""

import json

import pytest

from api.protocol.messages.reply import MessageStream
from api.protocol.options import CompletionOptions
from api.protocol.reply import ReplyFacts
from api.streams.client import Client
from api.streams.event_stream import EventStream
from llamactypes.engine.measures.timings import Timings
from llamactypes.engine.request import FinishReason, GenerationRequest
from llamactypes.errors import (
    EngineStopped,
)
from tests.api.test_chat_route import BOS_TEMPLATE, CHATML_HI, engine_with_template
from tests.support.fake_engine import (
    BOS,
    FakeEngine,
    delta,
    progress_delta,
    result,
    text_deltas,
)

PATH = "/v1/messages"
COUNT = "/v1/messages/count_tokens"
HI = {"max_tokens": 16, "messages": [{"role": "user", "content": "Hi"}]}
N_PROMPT = len(CHATML_HI) + 1


def scripted(deltas, **end):
    return FakeEngine(script=lambda request: (deltas, result(**end)))


def named_events(text):
    """Return (name, object) of every event; each has both lines and no other."""
    assert text.endswith("\n\n")
    events = []
    for block in text.split("\n\n")[:-1]:
        name, data = block.split("\n")
        value = json.loads(data.removeprefix("data: "))
        assert name == f"event: {value['type']}"
        events.append(value)
    return events


def stream_of(api, **body):
    reply = api.post(PATH, {**HI, "stream": True, **body})
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "text/event-stream"
    return named_events(reply.text)


def text_of(events):
    return "".join(
        e["delta"]["text"] for e in events if e["type"] == "content_block_delta"
    )


# -- whole replies -------------------------------------------------------------------


def test_reply_has_anthropics_fields(api):
    reply = api.post(PATH, {**HI, "model": "claude", "max_tokens": 2})
    body = reply.json
    assert body.pop("id").startswith("msg_")
    assert body == {
        "type": "message",
        "role": "assistant",
        "model": "tiny.gguf",
        "content": [{"type": "text", "text": "ab"}],
        "stop_reason": "max_tokens",
        "stop_sequence": None,
        "usage": {
            "input_tokens": N_PROMPT - 2,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 2,
            "output_tokens": 2,
        },
    }


def test_ids_are_unique_and_the_request_has_its_name_in_both_headers(api):
    replies = [api.post(PATH, HI, headers={"X-Request-Id": "r-1"}) for _ in range(2)]
    assert len({reply.json["id"] for reply in replies}) == 2
    for name in ("request-id", "x-request-id"):
        assert replies[0].headers[name] == "r-1"


@pytest.mark.parametrize(
    ("finish", "word", "n_decoded", "reason"),
    [
        (FinishReason.STOP_EOS, "", 3, "end_turn"),
        (FinishReason.STOP_WORD, "END", 3, "stop_sequence"),
        (FinishReason.LENGTH, "", 16, "max_tokens"),
        (FinishReason.LENGTH, "", 15, "model_context_window_exceeded"),
    ],
)
def test_the_reason_of_the_end_is_told(make_api, finish, word, n_decoded, reason):
    end = {"finish": finish, "stopping_word": word, "n_decoded": n_decoded}
    api = make_api(engine=scripted(text_deltas("abc"), **end))
    body = api.post(PATH, HI).json
    assert (body["stop_reason"], body["stop_sequence"]) == (reason, word or None)
    assert stream_of(api)[-2] == {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": word or None},
        "usage": body["usage"],
    }


def test_a_reply_without_text_has_no_block(make_api):
    api = make_api(engine=scripted([delta("", (7,))], finish=FinishReason.STOP_EOS))
    assert api.post(PATH, HI).json["content"] == []
    assert [event["type"] for event in stream_of(api)] == [
        "message_start",
        "message_delta",
        "message_stop",
    ]


def test_no_tokens_may_be_asked_for(api):
    body = api.post(PATH, {**HI, "max_tokens": 0}).json
    assert (body["content"], body["stop_reason"]) == ([], "max_tokens")
    assert api.engine.requests[0].max_tokens == 0


def test_samplers_and_native_parameters_are_honoured(api):
    extras = {
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 7,
        "seed": 5,
        "min_p": 0.2,
        "stop_sequences": ["END", ""],
        "cache_prompt": False,
        "id_slot": 1,
    }
    assert api.post(PATH, {**HI, **extras}).status_code == 200
    (request,) = api.engine.requests
    sampling = request.sampling
    assert (sampling.temperature, sampling.top_p, sampling.top_k) == (0.5, 0.9, 7)
    assert (sampling.seed, sampling.min_p) == (5, 0.2)
    assert request.stop == ("END",)
    assert request.max_tokens == 16
    assert (request.cache_prompt, request.id_slot) == (False, 1)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("metadata", {"user_id": "u"}),
        ("service_tier", "standard_only"),
        ("temperature", None),
        ("stop_sequences", None),
        ("system", None),
        ("logprobs", True),
        ("verbose", True),
        ("stream_options", {"include_usage": True}),
        ("timings_per_token", True),
    ],
)
def test_fields_without_a_place_here_change_nothing(api, field, value):
    plain = api.post(PATH, HI).json
    reply = api.post(PATH, {**HI, field: value}).json
    assert {**reply, "id": ""} == {**plain, "id": ""}


@pytest.mark.parametrize(
    "headers",
    [
        {"anthropic-version": "2023-06-01", "anthropic-beta": "context-1m-2025-08-07"},
        {"anthropic-version": "1999-01-01"},
        {"Content-Type": "text/plain"},
        {},
    ],
)
def test_headers_of_the_protocol_are_accepted(api, headers):
    assert api.post(PATH + "?beta=true", HI, headers=headers).status_code == 200


# -- prompts -------------------------------------------------------------------------


def test_prompt_is_the_templates_with_one_bos_and_the_tools(make_api):
    api = make_api(engine=engine_with_template())
    tool = {"name": "f", "description": "d", "input_schema": {"type": "object"}}
    api.post(PATH, {**HI, "system": "S", "tools": [tool]})
    (request,) = api.engine.requests
    assert request.prompt_tokens.count(BOS) == 1
    text = bytes(token for token in request.prompt_tokens if token < BOS).decode()
    function = {"name": "f", "description": "d", "parameters": {"type": "object"}}
    start, _, rest = text.partition("<tools>")
    assert start == "[system]S[user]Hi"
    tools, _, end = rest.partition("</tools>")
    assert json.loads(tools) == [{"type": "function", "function": function}]
    assert end == "[assistant]"


def test_thinking_can_be_switched_off(make_api):
    api = make_api(engine=engine_with_template())
    for kind, expected in (("disabled", True), ("enabled", False)):
        api.post(PATH, {**HI, "thinking": {"type": kind}})
        text = bytes(t for t in api.engine.requests[-1].prompt_tokens if t < BOS)
        assert (b"<no-think>" in text) is expected


def test_a_continued_message_is_not_repeated(api):
    last = {"role": "assistant", "content": "The answer is ("}
    body = {**HI, "messages": [*HI["messages"], last]}
    reply = api.post(PATH, body).json
    assert reply["content"] == [{"type": "text", "text": "abc"}]
    tokens = api.engine.requests[0].prompt_tokens
    assert bytes(tokens[1:]).endswith(b"assistant\nThe answer is (")


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "user", "content": ""}],
        [{"role": "user", "content": []}],
    ],
)
def test_empty_input_is_answered(api, messages):
    for stream in (False, True):
        reply = api.post(PATH, {**HI, "messages": messages, "stream": stream})
        assert reply.status_code == 200
    assert api.post(COUNT, {"messages": messages}).json["input_tokens"] > 0


# -- streams -------------------------------------------------------------------------


def test_events_come_in_anthropics_order(api):
    events = stream_of(api)
    start, *rest = events
    message = start["message"]
    assert start["type"] == "message_start"
    assert message.pop("id").startswith("msg_")
    usage = {
        "input_tokens": N_PROMPT,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 0,
    }
    assert message == {
        "type": "message",
        "role": "assistant",
        "model": "tiny.gguf",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    text = {"type": "text", "text": ""}
    assert rest == [
        {"type": "content_block_start", "index": 0, "content_block": text},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": each},
            }
            for each in "abc"
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {
                "stop_reason": "model_context_window_exceeded",
                "stop_sequence": None,
            },
            "usage": {
                **usage,
                "input_tokens": N_PROMPT - 2,
                "cache_read_input_tokens": 2,
                "output_tokens": 3,
            },
        },
        {"type": "message_stop"},
    ]


def test_the_message_starts_with_the_prompt_and_knows_what_was_cached(make_api):
    engine = scripted([progress_delta(N_PROMPT, 30, 30), *text_deltas("a")])
    api = make_api(engine=engine)
    start, *rest = stream_of(api)
    usage = start["message"]["usage"]
    assert usage["input_tokens"] + usage["cache_read_input_tokens"] == N_PROMPT
    assert usage["cache_read_input_tokens"] == 30
    assert rest[0]["type"] == "content_block_start"
    assert engine.requests[0].return_progress


def test_without_progress_the_first_token_says_what_was_cached(make_api):
    timings = Timings(30, N_PROMPT - 30, 1.0, 1, 1.0)
    api = make_api(engine=scripted([delta("a", timings=timings)]))
    assert stream_of(api)[0]["message"]["usage"]["cache_read_input_tokens"] == 30


def test_a_stream_says_what_a_whole_reply_says(make_api):
    text = "\U0001f3cb️‍♀️\U0001f4aa\U0001f3fc" * 10
    api = make_api(engine=FakeEngine(text))
    body = {**HI, "max_tokens": 1000}
    whole = api.post(PATH, body).json
    events = stream_of(api, max_tokens=1000)
    assert text_of(events) == whole["content"][0]["text"] == text
    assert events[-2]["usage"] == whole["usage"]
    assert "�" not in text_of(events)


def test_every_block_that_starts_stops_before_the_message_ends(api):
    kinds = [(e["type"], e.get("index")) for e in stream_of(api)]
    assert kinds.count(("content_block_start", 0)) == 1
    assert kinds.index(("content_block_stop", 0)) == len(kinds) - 3


def live_stream():
    """Return a generation that the test appends to, and the stream that follows it."""
    generation = FakeEngine(is_manual=True).submit(GenerationRequest((1,)))
    facts = ReplyFacts("msg_1", 0, "m", "b1", CompletionOptions(n_predict=3), [(1,)])
    stream_format = MessageStream(facts, request_id="r-1")
    return generation, EventStream([generation], stream_format, Client({}), 0.01)


def test_silence_is_broken_by_a_named_ping():
    generation, stream = live_stream()
    assert next(stream) == b'event: ping\ndata: {"type":"ping"}\n\n'
    generation.append(None, result())
    assert named_events(b"".join(stream).decode())[-1]["type"] == "message_stop"


def test_a_stream_that_breaks_ends_with_an_error_event():
    generation, stream = live_stream()
    generation.append(delta("a"), None)
    next(stream)
    error = EngineStopped("the server is shutting down")
    generation.append(None, result(finish=FinishReason.ERROR, error=error))
    assert named_events(b"".join(stream).decode()) == [
        {
            "type": "error",
            "error": {"type": "overloaded_error", "message": str(error)},
            "request_id": "r-1",
        }
    ]


# -- counting ------------------------------------------------------------------------


def test_counting_needs_no_max_tokens_and_generates_nothing(api):
    reply = api.post(COUNT, {"messages": HI["messages"], "model": "m"})
    assert reply.json == {"input_tokens": N_PROMPT}
    assert api.engine.requests == []


def test_what_is_counted_is_what_is_computed(make_api):
    api = make_api(engine=engine_with_template(BOS_TEMPLATE))
    tool = {"name": "f", "input_schema": {"type": "object"}}
    body = {
        **HI,
        "system": "Be brief.",
        "tools": [tool],
        "thinking": {"type": "disabled"},
    }
    counted = api.post(COUNT, body).json["input_tokens"]
    usage = api.post(PATH, body).json["usage"]
    assert counted == usage["input_tokens"] + usage["cache_read_input_tokens"]
    assert counted > api.post(COUNT, HI).json["input_tokens"]
