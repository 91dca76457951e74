import pytest

from llamactypes.engine.measures.timings import Timings
from llamactypes.engine.request import FinishReason
from tests.support.fake_engine import (
    BOS,
    EOS,
    FakeEngine,
    delta,
    progress_delta,
    result,
    text_deltas,
    token_probs,
)


def test_completion_answers_with_every_field(api):
    body = {"prompt": "Hi", "n_predict": 2, "seed": 7, "return_tokens": True}
    reply = api.post("/completion", body).json
    settings = reply.pop("generation_settings")
    assert reply == {
        "index": 0,
        "content": "ab",
        "tokens": [97, 98],
        "id_slot": 1,
        "stop": True,
        "model": "tiny.gguf",
        "tokens_predicted": 2,
        "tokens_evaluated": 3,
        "prompt": "<s>Hi",
        "has_new_line": False,
        "truncated": False,
        "stop_type": "limit",
        "stopping_word": "",
        "tokens_cached": 8,
        "timings": Timings(2, 3, 30.0, 3, 20.0).as_dict(),
    }
    assert settings["n_predict"] == settings["max_tokens"] == 2
    assert settings["seed"] == 42  # the seed in use, as the engine reports it
    assert len(settings) == 49


def test_more_completions_than_the_server_holds_are_no_overload(api):
    reply = api.post("/completion", {"prompt": ["Hi"] * 5, "n": 2})
    assert reply.status_code == 400
    assert "10 completions in one request" in reply.json["error"]["message"]
    assert api.engine.requests == []


def test_completion_leaves_tokens_out_unless_asked(api):
    assert api.post("/completions", {"prompt": "Hi"}).json["tokens"] == []


def test_completion_reduces_to_response_fields(api):
    fields = ["content", "generation_settings/n_predict", "no/such", "timings/cache_n"]
    body = {"prompt": "Hi", "n_predict": 3, "response_fields": fields}
    assert api.post("/completion", body).json == {
        "content": "abc",
        "generation_settings/n_predict": 3,
        "timings/cache_n": 2,
    }


def test_completion_shows_forbidden_tokens_with_null_bias(api):
    body = {"prompt": "Hi", "ignore_eos": True, "logit_bias": [[5, 1.5]]}
    settings = api.post("/completion", body).json["generation_settings"]
    assert settings["logit_bias"] == [
        {"bias": 1.5, "token": 5},
        {"bias": None, "token": EOS},
    ]


@pytest.mark.parametrize(
    ("finish", "stop_type"),
    [
        (FinishReason.STOP_EOS, "eos"),
        (FinishReason.STOP_WORD, "word"),
        (FinishReason.LENGTH, "limit"),
    ],
)
def test_completion_names_its_stop_type(make_api, finish, stop_type):
    end = result(finish=finish, stopping_word="x")
    api = make_api(engine=FakeEngine(script=lambda request: ([], end)))
    reply = api.post("/completion", {"prompt": "Hi"}).json
    assert (reply["stop_type"], reply["stopping_word"]) == (stop_type, "x")


def test_several_prompts_and_choices_answer_an_array(api):
    reply = api.post("/completion", {"prompt": ["a", [98]], "n": 2}).json
    assert [each["index"] for each in reply] == [0, 1, 2, 3]
    assert [each["prompt"] for each in reply] == ["<s>a", "<s>a", "b", "b"]
    assert [r.prompt_tokens for r in api.engine.requests] == [
        (BOS, 97),
        (BOS, 97),
        (98,),
        (98,),
    ]


def test_stream_ends_with_the_full_object_and_no_done(api):
    *partials, final = api.events("/completion", {"prompt": "Hi"})
    assert [each["content"] for each in partials] == ["a", "b", "c"]
    assert partials[0] == {
        "index": 0,
        "content": "a",
        "tokens": [97],
        "stop": False,
        "id_slot": -1,
        "tokens_predicted": 1,
        "tokens_evaluated": 3,
    }
    assert final["stop"] is True
    assert (final["content"], final["tokens"]) == ("", [])
    assert "generation_settings" in final


def test_stream_holds_tokens_without_text_until_there_is_text(make_api):
    deltas = [delta("", [0xC3]), delta("\u00e9", [0xA9]), delta("", [EOS])]
    api = make_api(engine=FakeEngine(script=lambda request: (deltas, result())))
    events = api.events("/completion", {"prompt": "Hi"})
    shown = [(each["content"], each["tokens"]) for each in events]
    assert shown == [("\u00e9", [0xC3, 0xA9]), ("", [EOS]), ("", [])]


def test_stream_reports_progress_and_timings_when_asked(make_api):
    deltas = [progress_delta(5, 2, 2), progress_delta(5, 2, 5), *text_deltas("a")]
    api = make_api(engine=FakeEngine(script=lambda request: (deltas, result())))
    body = {"prompt": "Hi", "return_progress": True, "timings_per_token": True}
    events = api.events("/completion", body)
    assert events[0]["prompt_progress"] == {
        "total": 5,
        "cache": 2,
        "processed": 2,
        "time_ms": 1.5,
    }
    assert events[0]["tokens"] == []
    assert events[1]["prompt_progress"]["processed"] == 5
    assert "prompt_progress" not in events[2]
    assert all("timings" in event for event in events)


def engine_with_probs(value=-0.5):
    probs = (token_probs(b"a", value),)
    deltas = [delta("a", [97], probs=probs), delta("", [98], probs=probs)]
    return FakeEngine(script=lambda request: (deltas, result()))


def test_probabilities_have_llama_servers_shape(make_api):
    api = make_api(engine=engine_with_probs())
    body = {"prompt": "Hi", "n_probs": 2}
    items = api.post("/completion", body).json["completion_probabilities"]
    assert len(items) == 2
    assert items[0] == {
        "id": 97,
        "token": "a",
        "bytes": [97],
        "logprob": -0.5,
        "top_logprobs": [
            {"id": 0, "token": "a", "bytes": [97], "logprob": -0.5},
            {"id": 1, "token": "b", "bytes": [98], "logprob": -1.5},
        ],
    }


def test_probabilities_after_sampling_leave_impossible_tokens_out(make_api):
    api = make_api(engine=engine_with_probs(0.75))
    body = {"prompt": "Hi", "n_probs": 2, "post_sampling_probs": True}
    item = api.post("/completion", body).json["completion_probabilities"][0]
    assert item["prob"] == 0.75
    assert item["top_probs"] == []
    assert api.engine.requests[0].post_sampling_probs


def test_probabilities_of_minus_infinity_are_the_lowest_float(make_api):
    api = make_api(engine=engine_with_probs(float("-inf")))
    body = {"prompt": "Hi", "n_probs": 2}
    item = api.post("/completion", body).json["completion_probabilities"][0]
    assert item["logprob"] == pytest.approx(-3.4028235e38)


def test_probabilities_stream_with_the_text_they_made(make_api):
    api = make_api(engine=engine_with_probs())
    events = api.events("/completion", {"prompt": "Hi", "n_probs": 2})
    counts = [len(each.get("completion_probabilities", ())) for each in events]
    assert counts == [1, 1, 0]
