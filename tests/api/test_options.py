import math
from dataclasses import replace

import pytest

from api.protocol.invalid import InvalidRequest, NotSupported
from api.protocol.options import OptionDefaults, read_options
from llamactypes.sampling_params import RANDOM_SEED, SamplingParams
from tests.support.fake_engine import FakeVocab


def read(body, **defaults):
    return read_options(body, OptionDefaults(**defaults), FakeVocab(), n_slots=4)


def test_read_options_of_an_empty_body_are_the_defaults():
    sampling = SamplingParams(seed=7, temperature=0.1)
    options = read({}, sampling=sampling, n_predict=9, n_keep=2, stop=("x",))
    assert options.sampling == sampling
    assert (options.n_predict, options.n_keep, options.stop) == (9, 2, ("x",))
    assert options.n_choices == 1


def test_many_probs_need_a_bounded_number_of_tokens():
    wide = {"n_probs": 200, "n_predict": 2000}
    assert len(read(wide).requests([(1,)])) == 1
    assert len(read({"n_probs": 128}).requests([(1,)] * 100)) == 100
    for body in ({**wide, "n_predict": -1}, {**wide, "n": 4}):
        with pytest.raises(InvalidRequest, match="n_predict of at most 5242 tokens"):
            read(body).requests([(1,)])
    with pytest.raises(InvalidRequest, match="n_probs"):
        read(wide).requests([(1,)] * 3)


def test_read_options_limits_the_number_of_stops():
    assert len(read({"stop": [f"{i}" for i in range(1024)]}).stop) == 1024
    with pytest.raises(InvalidRequest, match="at most 1024 strings, not 1025"):
        read({"stop": ["x"] * 1025})


def test_read_options_takes_null_as_absent():
    body = dict.fromkeys(
        ("seed", "stop", "temperature", "n", "max_tokens", "stream", "logit_bias"),
    )
    assert read(body) == read({})


@pytest.mark.parametrize(
    ("body", "field", "value"),
    [
        ({"temperature": -1}, "temperature", 0.0),
        ({"temperature": 2}, "temperature", 2.0),
        ({"top_k": -5}, "top_k", 0),
        ({"top_k": 7.0}, "top_k", 7),
        ({"top_p": 1.5}, "top_p", 1.0),
        ({"min_p": -0.5}, "min_p", 0.0),
        ({"xtc_probability": 9}, "xtc_probability", 1.0),
        ({"mirostat": 5}, "mirostat", 2),
        ({"adaptive_target": 3}, "adaptive_target", 1.0),
        ({"dry_base": 0.5}, "dry_base", 1.75),
        ({"dry_base": 2}, "dry_base", 2.0),
        ({"seed": -1}, "seed", RANDOM_SEED),
        ({"seed": 2**32 + 5}, "seed", 5),
        ({"n_probs": 3}, "n_probs", 3),
        ({"logprobs": 2}, "n_probs", 2),
        ({"n_probs": 1, "logprobs": 9}, "n_probs", 1),
        ({"n_probs": 10**9}, "n_probs", FakeVocab.n_tokens),
        ({"samplers": "kt"}, "samplers", ("top_k", "temperature")),
        (
            {"samplers": ["Top-K", "temp", "nothing"]},
            "samplers",
            ("top_k", "temperature"),
        ),
        ({"dry_sequence_breakers": ["\n"]}, "dry_sequence_breakers", ("\n",)),
    ],
)
def test_read_options_reads_and_clamps_sampling(body, field, value):
    assert getattr(read(body).sampling, field) == value


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            {"max_tokens": -2},
            "Field 'max_tokens': Value must be between -1 <= value <=",
        ),
        ({"max_completion_tokens": "8"}, "Field 'max_completion_tokens'"),
        ({"n_predict": 1.5}, "Field 'n_predict': Value must be an integer"),
        ({"n": 5}, "Field 'n': Value must be between 1 <= value <= 4, but got 5"),
        ({"n_cmpl": 0}, "Field 'n_cmpl'"),
        ({"repeat_last_n": -1}, "Field 'repeat_last_n'"),
        ({"adaptive_decay": 1}, "Field 'adaptive_decay'"),
        ({"temperature": "hot"}, "Field 'temperature': Value must be a number"),
        ({"temperature": True}, "Field 'temperature': Value must be a number"),
        ({"stream": "yes"}, "Field 'stream': Value must be a boolean"),
        ({"stop": [1]}, "Field 'stop'"),
        ({"stop": {}}, "Field 'stop'"),
        ({"stream_options": []}, "Field 'stream_options'"),
        ({"stream_options": {"include_usage": 1}}, "Field 'include_usage'"),
        ({"logit_bias": "x"}, "Field 'logit_bias'"),
        ({"dry_sequence_breakers": []}, "must be a non-empty array of strings"),
        ({"seed": "x"}, "Field 'seed'"),
        ({"logprobs": -1}, "Field 'logprobs'"),
        ({"response_fields": [1]}, "Field 'response_fields'"),
        ({"samplers": [1]}, "Field 'samplers'"),
        ({"response_format": {"type": "sound"}}, "response_format type must be"),
        ({"lora": {}}, "Field 'lora'"),
        ({"lora": [0]}, "Field 'lora'"),
        ({"lora": [{"scale": 1.0}]}, "no 'id'"),
        ({"lora": [{"id": "0"}]}, "Field 'id'"),
        ({"lora": [{"id": -1}]}, "Field 'id'"),
        ({"lora": [{"id": 0, "scale": "1"}]}, "Field 'scale'"),
        ({"reasoning_format": "odd"}, "Field 'reasoning_format'"),
    ],
)
def test_read_options_refuses_and_names_the_field(body, message):
    with pytest.raises(InvalidRequest) as caught:
        read(body)
    assert message in caught.value.message
    assert caught.value.status == 400
    assert caught.value.param


@pytest.mark.parametrize(
    "body",
    [
        {"grammar_lazy": True},
        {"grammar_triggers": [{}]},
        {"reasoning_budget_tokens": 0},
        {"reasoning_control": True},
        {"reasoning_format": "deepseek"},
        {"parse_tool_calls": True},
    ],
)
def test_read_options_refuses_what_it_cannot_honour(body):
    (name,) = body
    with pytest.raises(NotSupported, match=f"not supported: {name}") as caught:
        read(body)
    assert caught.value.param == name


@pytest.mark.parametrize(
    "body",
    [
        {"grammar": ""},
        {"response_format": {"type": "text"}},
        {"n_cache_reuse": 0},
        {"lora": []},
        {"reasoning_budget_tokens": -1},
        {"user": "me", "metadata": {}, "store": True, "service_tier": "auto"},
        {"backend_sampling": False, "speculative.n_max": 3, "unknown": 1},
    ],
)
def test_read_options_accepts_what_asks_for_nothing(body):
    assert read(body) == read({})


def test_read_options_prefers_the_first_name_of_the_token_limit():
    body = {"max_tokens": 3, "max_completion_tokens": 2, "n_predict": 1}
    assert read(body).n_predict == 1
    del body["n_predict"]
    assert read(body).n_predict == 2


def test_read_options_of_minus_one_mean_the_servers_limit():
    assert read({"max_tokens": -1}, n_predict=64).n_predict == 64
    assert read({"max_tokens": 0}, n_predict=64).n_predict == 0


@pytest.mark.parametrize(
    ("stop", "expected"),
    [("a", ("a",)), (["a", ""], ("a",)), ([], ("r",)), ([""], ("r",)), ("", ("r",))],
)
def test_read_options_drops_empty_stop_sequences(stop, expected):
    assert read({"stop": stop}, stop=("r",)).stop == expected


@pytest.mark.parametrize(
    ("bias", "expected"),
    [
        ([[5, 1.5], [6, False]], ((5, 1.5), (6, -math.inf))),
        ({"5": 1, "ab": -2}, ((5, 1.0), (97, -2.0), (98, -2.0))),
        ([["ab", False]], ((97, -math.inf), (98, -math.inf))),
        ([[9999, 1], [-1, 1], [5], [5, True], 7, [1.5, 1]], ()),
    ],
)
def test_read_options_reads_logit_bias_in_every_shape(bias, expected):
    assert read({"logit_bias": bias}).sampling.logit_bias == expected


def test_requests_count_seeds_up_and_pin_only_the_first_choice_to_a_slot():
    options = read({"n": 3, "seed": 10, "id_slot": 1})
    first, second, third, *_ = options.requests([(1,), (2,)])
    assert [r.sampling.seed for r in (first, second, third)] == [10, 11, 12]
    assert [r.id_slot for r in (first, second, third)] == [1, -1, -1]
    assert len(options.requests([(1,), (2,)])) == 6


def test_requests_leave_random_seeds_random():
    seeds = {r.sampling.seed for r in read({"n": 2}).requests([(1,)])}
    assert seeds == {RANDOM_SEED}


def test_requests_ask_for_progress_only_in_a_stream():
    options = read({"return_progress": True})
    assert not options.requests([(1,)])[0].return_progress
    assert replace(options, stream=True).requests([(1,)])[0].return_progress
