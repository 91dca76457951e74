"""``POST /v1/responses``: whole replies, streams, conversations, refusals."""

from __future__ import annotations

import json

import pytest

from llamactypes.engine import FinishReason
from llamactypes.errors import KVCacheFull
from tests.support.fake_engine import (
    BOS,
    FakeEngine,
    delta,
    make_info,
    progress_delta,
    result,
    text_deltas,
    token_probs,
)
from tests.support.response_events import named_events, sequence_of, streamed_text

PATH = "/v1/responses"
HI = {"input": "Hi"}
CHATML_HI = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
WHOLE = [
    *("created", "in_progress", "output_item.added", "content_part.added"),
    *("output_text.delta", "output_text.done", "content_part.done"),
    "output_item.done",
]


def scripted(deltas, **end):
    return FakeEngine(script=lambda request: (deltas, result(**end)))


def ended(finish=FinishReason.STOP_EOS, text="abc"):
    return scripted(text_deltas(text), finish=finish)


def stream_of(api, **body):
    reply = api.post(PATH, {**HI, "stream": True, **body})
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "text/event-stream"
    return named_events(reply.text)


def prompt_of(api, index=-1):
    tokens = api.engine.requests[index].prompt_tokens
    return bytes(token for token in tokens if token < 256).decode()


def refused(api, status=400, **body):
    reply = api.post(PATH, {**HI, **body})
    assert reply.status_code == status, reply.text
    assert not api.engine.requests
    return reply.json["error"]


# -- whole replies -------------------------------------------------------------------


@pytest.mark.parametrize("path", [PATH, "/responses"])
def test_a_reply_is_a_response_object(make_api, path):
    api = make_api(engine=ended())
    reply = api.post(path, {**HI, "model": "gpt-5", "metadata": {"a": "b"}}).json
    assert reply.pop("id").startswith("resp_")
    assert reply["created_at"] <= reply.pop("completed_at")
    assert isinstance(reply.pop("created_at"), int)
    (message,) = reply.pop("output")
    assert message.pop("id").startswith("msg_")
    part = {"type": "output_text", "text": "abc", "annotations": [], "logprobs": []}
    assert message == {
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    assert reply == {
        "object": "response",
        "status": "completed",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {"a": "b"},
        "model": "tiny.gguf",
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "store": True,
        "temperature": 0.8,
        "top_p": 0.95,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_logprobs": 0,
        "truncation": "disabled",
        "usage": {
            "input_tokens": 5,
            "input_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 0},
            "output_tokens": 3,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 8,
        },
    }


def test_an_answer_that_was_cut_is_incomplete(api):
    reply = api.post(PATH, {**HI, "max_output_tokens": 2}).json
    assert api.engine.requests[0].max_tokens == 2
    assert (reply["status"], reply["completed_at"]) == ("incomplete", None)
    assert reply["incomplete_details"] == {"reason": "max_output_tokens"}
    assert reply["output"][0]["status"] == "incomplete"
    assert reply["output"][0]["content"][0]["text"] == "ab"


@pytest.mark.parametrize("finish", [FinishReason.STOP_EOS, FinishReason.STOP_WORD])
def test_an_answer_that_came_to_its_end_is_complete_also_when_it_is_empty(
    make_api, finish
):
    reply = make_api(engine=scripted([], finish=finish)).post(PATH, HI).json
    assert (reply["status"], reply["incomplete_details"]) == ("completed", None)
    assert reply["output"][0]["content"][0]["text"] == ""


def test_parameters_reach_the_engine(api):
    body = {"temperature": 0.25, "top_p": 0.5, "seed": 7, "top_k": 3, "stop": ["x"]}
    reply = api.post(PATH, {**HI, **body}).json
    (request,) = api.engine.requests
    sampling = request.sampling
    assert (sampling.temperature, sampling.top_p) == (0.25, 0.5)
    assert (sampling.seed, sampling.top_k, request.stop) == (7, 3, ("x",))
    assert (reply["temperature"], reply["top_p"]) == (0.25, 0.5)


@pytest.mark.parametrize(
    "field",
    ["user", "safety_identifier", "prompt_cache_key", "service_tier", "max_tool_calls"],
)
def test_fields_that_mean_nothing_here_are_ignored(api, field):
    assert api.post(PATH, {**HI, field: "x"}).status_code == 200


# -- prompts -------------------------------------------------------------------------


def test_a_prompt_has_one_bos(api):
    api.post(PATH, HI)
    (request,) = api.engine.requests
    assert request.prompt_tokens.count(BOS) == 1
    assert prompt_of(api) == CHATML_HI


def test_instructions_and_items_make_the_prompt(api):
    items = [
        {"role": "developer", "content": "D"},
        {"role": "user", "content": [{"type": "input_text", "text": "Q"}]},
        {"role": "assistant", "content": "A"},
        {"role": "user", "content": "R"},
    ]
    api.post(PATH, {"input": items, "instructions": "I"})
    words = ["system\nI", "system\nD", "user\nQ", "assistant\nA", "user\nR"]
    turns = "".join(f"<|im_start|>{word}<|im_end|>\n" for word in words)
    assert prompt_of(api) == turns + "<|im_start|>assistant\n"


def test_tools_are_rendered_by_the_template(make_api):
    template = "{{ tools[0].function.name }}:{{ messages[0].content }}"
    api = make_api(engine=FakeEngine(info=make_info(chat_template=template)))
    api.post(PATH, {**HI, "tools": [{"type": "function", "name": "look_up"}]})
    assert prompt_of(api) == "look_up:Hi"


def test_reasoning_effort_is_a_variable_of_the_template(make_api):
    template = "{{ reasoning_effort }}:{{ enable_thinking }}"
    api = make_api(engine=FakeEngine(info=make_info(chat_template=template)))
    api.post(PATH, {**HI, "reasoning": {"effort": "low"}})
    assert prompt_of(api) == "low:True"


def test_a_conversation_goes_on_where_it_was(api):
    first = api.post(PATH, {**HI, "instructions": "once"}).json
    body = {"input": "More", "previous_response_id": first["id"], "instructions": "now"}
    second = api.post(PATH, body).json
    assert second["previous_response_id"] == first["id"]
    assert prompt_of(api) == (
        "<|im_start|>system\nnow<|im_end|>\n"
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nabc<|im_end|>\n"
        "<|im_start|>user\nMore<|im_end|>\n<|im_start|>assistant\n"
    )
    api.post(PATH, {"input": "Last", "previous_response_id": second["id"]})
    assert prompt_of(api).count("abc<|im_end|>") == 2
    assert "now" not in prompt_of(api)


def test_a_streamed_answer_can_be_continued(api):
    id = stream_of(api)[0]["response"]["id"]
    api.post(PATH, {"input": "More", "previous_response_id": id})
    assert "assistant\nabc<|im_end|>" in prompt_of(api)


def test_items_are_referred_to_by_their_ids(api):
    first = api.post(PATH, HI).json
    (message,) = first["output"]
    items = [
        {"type": "item_reference", "id": message["id"]},
        {"role": "user", "content": "And?"},
    ]
    assert api.post(PATH, {"input": items}).status_code == 200
    assert "assistant\nabc<|im_end|>\n<|im_start|>user\nAnd?" in prompt_of(api)


def test_truncation_leaves_out_the_oldest_messages(api):
    items = [
        {"role": "system", "content": "SYS"},
        *({"role": "user", "content": f"{n}" * 60} for n in range(6)),
    ]
    error = api.post(PATH, {"input": items}).json["error"]
    assert error["code"] == "context_length_exceeded"
    body = {"input": items, "truncation": "auto", "max_output_tokens": 16}
    assert api.post(PATH, body).json["truncation"] == "auto"
    prompt = prompt_of(api)
    assert "SYS" in prompt
    assert "5" * 60 in prompt
    assert "0" * 60 not in prompt
    n_ctx = api.engine.info.n_ctx_slot
    turn = len("<|im_start|>user\n<|im_end|>\n") + 60
    assert n_ctx - 16 - turn <= len(prompt) <= n_ctx - 16


def test_truncation_keeps_the_last_question_whatever_its_length(api):
    items = [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b" * 300},
    ]
    error = api.post(PATH, {"input": items, "truncation": "auto"}).json["error"]
    assert error["code"] == "context_length_exceeded"


def test_truncation_leaves_out_what_is_too_large_to_be_read_at_all(api):
    items = [{"role": "user", "content": text} for text in ("x" * 100_000, "End")]
    assert api.post(PATH, {"input": items, "truncation": "auto"}).status_code == 200
    assert prompt_of(api) == CHATML_HI.replace("Hi", "End")


def test_truncation_changes_nothing_that_fits(api):
    api.post(PATH, {**HI, "truncation": "auto"})
    assert prompt_of(api) == CHATML_HI


# -- refusals ------------------------------------------------------------------------


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_prompt_that_is_too_long_has_openais_code(api, is_streamed):
    error = refused(api, input="x" * 600, stream=is_streamed)
    assert (error["code"], error["param"]) == ("context_length_exceeded", "input")
    assert error["type"] == "exceed_context_size_error"
    assert "256" in error["message"]


def test_an_unknown_previous_response_is_named(api):
    error = refused(api, previous_response_id="resp_gone")
    assert error["code"] == "previous_response_not_found"
    assert error["param"] == "previous_response_id"
    assert "'resp_gone' not found" in error["message"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": []}, "input"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "name": "f"}}, "tool_choice"),
        ({"tool_choice": {"type": "web_search"}}, "tool_choice"),
        ({"text": {"format": {"type": "xml"}}}, "text.format"),
        (
            {"text": {"format": {"type": "json_schema", "schema": 1}}},
            "text.format.schema",
        ),
        ({"response_format": {"type": "sound"}}, "response_format"),
        ({"grammar": "root ::= x"}, "grammar"),
        ({"temperature": "hot"}, "temperature"),
        (
            {
                "input": [
                    {
                        "type": "function_call",
                        "call_id": "c",
                        "name": "f",
                        "arguments": "",
                    }
                ]
            },
            "input",
        ),
    ],
)
@pytest.mark.parametrize("is_streamed", [False, True])
def test_bad_requests_are_refused_before_the_first_byte(api, body, param, is_streamed):
    assert refused(api, stream=is_streamed, **body)["param"] == param


@pytest.mark.parametrize("value", ["", [{"role": "user", "content": ""}]])
def test_a_text_without_words_is_answered(api, value):
    assert api.post(PATH, {"input": value}).status_code == 200


def test_a_preflight_needs_no_key_and_a_refusal_can_be_read_by_pages(make_api):
    api = make_api(api_keys=("k",))
    origin = {"Origin": "http://page.example"}
    for path in (PATH, f"{PATH}/resp_1"):
        preflight = api.client.simulate_options(path, headers=origin)
        assert preflight.status_code == 200
        assert "Access-Control-Allow-Origin" in preflight.headers
    refusal = api.post(PATH, HI, headers=origin)
    assert refusal.status_code == 401
    assert "Access-Control-Allow-Origin" in refusal.headers


@pytest.mark.parametrize(
    "data", [b'{"input":"\xb0\xa1"}', b'{"input":"\\ud83d"}', b"[]", b""]
)
def test_a_body_that_is_no_text_is_400(api, data):
    assert api.post(PATH, data).status_code == 400


def test_a_template_that_refuses_names_the_input(make_api):
    template = "{{ raise_exception('roles must alternate') }}"
    api = make_api(engine=FakeEngine(info=make_info(chat_template=template)))
    error = refused(api)
    assert error["param"] == "input"
    assert "roles must alternate" in error["message"]


@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_generation_that_fails_at_once_has_a_status(make_api, is_streamed):
    error = KVCacheFull("no KV slot", 1)
    api = make_api(engine=scripted([], finish=FinishReason.ERROR, error=error))
    reply = api.post(PATH, {**HI, "stream": is_streamed})
    assert reply.status_code == 500
    assert "Context size has been exceeded" in reply.json["error"]["message"]


# -- streams -------------------------------------------------------------------------


def test_a_stream_has_every_event_in_order(make_api):
    events = stream_of(make_api(engine=ended()))
    assert sequence_of(events) == [*WHOLE, "completed"]
    assert streamed_text(events) == "abc"
    (added,) = (e for e in events if e["type"] == "response.output_item.added")
    assert added["item"]["content"] == []
    for event in events[3:-2]:
        assert event["item_id"] == added["item"]["id"]
        assert (event["output_index"], event["content_index"]) == (0, 0)
    states = [event["response"]["status"] for event in (*events[:2], events[-1])]
    assert states == ["in_progress", "in_progress", "completed"]
    assert "timings" in events[-1]
    assert not any("timings" in event for event in events[:-1])


def test_a_stream_ends_with_what_a_whole_reply_is(make_api):
    text = "\U0001f3cb\ufe0f\u200d\u2640\ufe0f\u2028\x85" * 3
    api = make_api(engine=ended(text=text))
    whole = api.post(PATH, HI).json
    events = stream_of(api)
    final = events[-1]["response"]
    assert streamed_text(events) == text == final["output"][0]["content"][0]["text"]
    assert events[-2]["item"] == final["output"][0]
    for each in (whole, final):
        each.pop("id")
        each["output"][0].pop("id")
    assert final == whole | {k: final[k] for k in ("created_at", "completed_at")}


def test_a_stream_that_was_cut_ends_incomplete(api):
    events = stream_of(api, max_output_tokens=1)
    assert sequence_of(events) == [*WHOLE, "incomplete"]
    assert events[-2]["item"]["status"] == "incomplete"
    details = events[-1]["response"]["incomplete_details"]
    assert details == {"reason": "max_output_tokens"}


def test_a_character_that_was_cut_is_not_shown(make_api):
    deltas = [*text_deltas("a"), delta("", [0xE6])]
    events = stream_of(make_api(engine=scripted(deltas)))
    assert streamed_text(events) == "a"
    assert sequence_of(events) == [*WHOLE, "incomplete"]


def test_an_empty_answer_has_every_event_but_deltas(make_api):
    events = stream_of(make_api(engine=scripted([], finish=FinishReason.STOP_EOS)))
    whole = [kind for kind in WHOLE if kind != "output_text.delta"]
    assert sequence_of(events) == [*whole, "completed"]


def test_progress_is_told_while_it_is_in_progress(make_api):
    deltas = [progress_delta(4, 1, 1), progress_delta(4, 1, 4), *text_deltas("a")]
    events = stream_of(make_api(engine=scripted(deltas)), return_progress=True)
    progress = [e for e in events if "prompt_progress" in e]
    assert [e["prompt_progress"]["processed"] for e in progress] == [1, 4]
    assert {e["type"] for e in progress} == {"response.in_progress"}
    assert sequence_of(events) == [*WHOLE, "incomplete"]


def test_each_token_is_timed_when_asked(api):
    events = stream_of(api, timings_per_token=True)
    timed = [e["type"] for e in events if "timings" in e]
    assert timed == ["response.output_text.delta"] * 3 + ["response.incomplete"]


def test_progress_is_timed_when_asked(make_api):
    api = make_api(engine=scripted([progress_delta(4, 1, 4)]))
    events = stream_of(api, timings_per_token=True, return_progress=True)
    (progress,) = (e for e in events if "prompt_progress" in e)
    assert "prompt_per_second" in progress["timings"]


# -- logprobs ------------------------------------------------------------------------


def probs_engine():
    emoji = "\N{GRINNING FACE}".encode()
    deltas = [
        delta("", [1], probs=(token_probs(emoji[:3]),)),
        delta("\N{GRINNING FACE}", [2], probs=(token_probs(emoji[3:]),)),
        delta("a", [3], probs=(token_probs(b"a"),)),
        delta("", [4], probs=(token_probs(b"</s>"),)),
    ]
    return scripted(deltas)


@pytest.mark.parametrize(
    ("body", "n_shown"),
    [({"include": ["message.output_text.logprobs"]}, 0), ({"top_logprobs": 2}, 2)],
)
def test_logprobs_join_to_the_text_whole_and_streamed(make_api, body, n_shown):
    api = make_api(engine=probs_engine())
    part = api.post(PATH, {**HI, **body}).json["output"][0]["content"][0]
    items = part["logprobs"]
    assert bytes(b for item in items for b in item["bytes"]).decode() == part["text"]
    assert [len(item["top_logprobs"]) for item in items] == [n_shown] * 3
    events = stream_of(api, **body)
    streamed = [i for e in events if "delta" in e for i in e["logprobs"]]
    (done,) = (e for e in events if e["type"] == "response.output_text.done")
    assert streamed == done["logprobs"] == items


def test_logprobs_are_empty_unless_asked(make_api):
    api = make_api(engine=probs_engine())
    part = api.post(PATH, HI).json["output"][0]["content"][0]
    assert part["logprobs"] == []


# -- counting --------------------------------------------------------------------------


@pytest.mark.parametrize("path", [f"{PATH}/input_tokens", "/responses/input_tokens"])
def test_tokens_are_counted_as_they_would_be_computed(api, path):
    first = api.post(PATH, HI).json["id"]
    body = {"input": "More", "previous_response_id": first, "instructions": "I"}
    api.post(PATH, body)
    n_tokens = len(api.engine.requests[-1].prompt_tokens)
    reply = api.post(path, body).json
    assert reply == {"object": "response.input_tokens", "input_tokens": n_tokens}
    assert len(api.engine.requests) == 2


def test_counting_refuses_what_answering_refuses(api):
    reply = api.post(f"{PATH}/input_tokens", {})
    assert reply.status_code == 400
    assert json.loads(reply.text)["error"]["param"] == "input"
