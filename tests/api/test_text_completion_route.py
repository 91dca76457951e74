import pytest

from llamactypes.engine.measures.timings import Timings
from tests.support.fake_engine import FakeEngine, delta, result, token_probs

PATH = "/v1/completions"


def test_reply_has_openais_fields(api):
    reply = api.post(PATH, {"prompt": "Hi", "max_tokens": 2, "model": "gpt"}).json
    assert reply.pop("id").startswith("chatcmpl-")
    assert isinstance(reply.pop("created"), int)
    assert reply == {
        "choices": [
            {"text": "ab", "index": 0, "logprobs": None, "finish_reason": "length"}
        ],
        "model": "tiny.gguf",
        "system_fingerprint": "b11549-86a2835",
        "object": "text_completion",
        "usage": {
            "completion_tokens": 2,
            "prompt_tokens": 3,
            "total_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 2},
        },
        "timings": Timings(2, 3, 30.0, 3, 20.0).as_dict(),
    }


def test_usage_counts_all_choices_and_each_prompt_once(api):
    body = {"prompt": ["a", "bcd"], "n": 2, "max_tokens": 2}
    reply = api.post(PATH, body).json
    assert [choice["index"] for choice in reply["choices"]] == [0, 1, 2, 3]
    assert reply["usage"]["prompt_tokens"] == 2 + 4
    assert reply["usage"]["completion_tokens"] == 8
    assert reply["timings"]["predicted_n"] == 4 * 3


def test_echo_puts_the_prompt_before_the_text(api):
    body = {"prompt": "Hi ", "echo": True, "max_tokens": 2}
    assert api.post(PATH, body).json["choices"][0]["text"] == "Hi ab"
    events = api.events(PATH, body)
    texts = [e["choices"][0]["text"] for e in events if e != "[DONE]"]
    assert texts == ["Hi a", "b", ""]


def test_echo_without_new_text_is_the_prompt(api):
    body = {"prompt": "Hi", "echo": True, "max_tokens": 0}
    assert api.post(PATH, body).json["choices"][0]["text"] == "Hi"
    events = api.events(PATH, body)
    assert [e["choices"][0]["text"] for e in events[:-1]] == ["Hi"]


def test_echo_of_tokens_is_their_text(api):
    body = {"prompt": [72, 105], "echo": True, "max_tokens": 1}
    assert api.post(PATH, body).json["choices"][0]["text"] == "Hia"


@pytest.mark.parametrize(
    "body",
    [
        {"grammar_lazy": True},
        {"grammar_triggers": [{"type": 0, "value": "x"}]},
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_honoured_is_refused_by_name(api, body, stream):
    reply = api.post(PATH, {"prompt": "a", "stream": stream, **body})
    assert reply.status_code == 400
    error = reply.json["error"]
    assert error["param"] in body
    assert error["message"].startswith(f"not supported: {error['param']}")
    assert api.engine.requests == []


@pytest.mark.parametrize(
    "body", [{"suffix": ""}, {"best_of": 1}, {"echo": False, "logprobs": 1}]
)
def test_values_that_ask_for_nothing_are_accepted(api, body):
    assert api.post(PATH, {"prompt": "a", **body}).status_code == 200


def test_stream_ends_with_usage_timings_and_done(api):
    *partials, final, done = api.events(PATH, {"prompt": "Hi"})
    assert done == "[DONE]"
    assert [e["choices"][0]["text"] for e in partials] == ["a", "b", "c"]
    assert {e["choices"][0]["finish_reason"] for e in partials} == {None}
    assert not any("usage" in e or "timings" in e for e in partials)
    assert final["choices"][0] == {
        "text": "",
        "index": 0,
        "logprobs": None,
        "finish_reason": "length",
    }
    assert final["usage"]["prompt_tokens"] == 3
    assert "timings" in final
    assert len({e["id"] for e in [*partials, final]}) == 1


def test_stream_of_several_choices_has_one_usage_at_the_end(api):
    events = api.events(PATH, {"prompt": ["a", "b"], "n": 2})
    assert [("usage" in e) for e in events[:-1]].count(True) == 1
    assert "usage" in events[-2]
    ends = [e["choices"][0] for e in events[:-1] if e["choices"][0]["finish_reason"]]
    assert sorted(end["index"] for end in ends) == [0, 1, 2, 3]


def probs_engine():
    emoji = "\N{GRINNING FACE}".encode()
    deltas = [
        delta("", [1], probs=(token_probs(emoji[:2], -1.0),)),
        delta("\N{GRINNING FACE}", [2], probs=(token_probs(emoji[2:], -2.0),)),
        delta("a", [3], probs=(token_probs(b"a", -3.0),)),
        delta("", [4], probs=(token_probs(b"</s>", -4.0),)),
    ]
    return FakeEngine(script=lambda request: (deltas, result()))


def test_logprobs_have_the_legacy_shape(make_api):
    api = make_api(engine=probs_engine())
    reply = api.post(PATH, {"prompt": "Hi", "logprobs": 2}).json
    assert reply["choices"][0]["logprobs"] == {
        "tokens": ["bytes:\\xf0\\x9f", "bytes:\\x98\\x80", "a"],
        "token_logprobs": [-1.0, -2.0, -3.0],
        "top_logprobs": [
            {"a": -0.5, "b": -1.5, "bytes:\\xf0\\x9f": -1.0},
            {"a": -0.5, "b": -1.5, "bytes:\\x98\\x80": -2.0},
            {"a": -0.5, "b": -1.5},
        ],
        "text_offset": [0, 0, 1],
    }


def test_streamed_logprobs_join_to_the_whole(make_api):
    api = make_api(engine=probs_engine())
    body = {"prompt": "Hi", "logprobs": 2}
    whole = api.post(PATH, body).json["choices"][0]["logprobs"]
    parts = [e["choices"][0]["logprobs"] for e in api.events(PATH, body)[:-1]]
    joined = {key: [v for p in parts if p for v in p[key]] for key in whole}
    assert joined == whole
