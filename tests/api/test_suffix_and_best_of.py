"""What llama-server ignores in OpenAI's legacy completions: suffix and best_of."""

import pytest

from tests.support.fake_engine import (
    BOS,
    EOS,
    FakeEngine,
    FakeVocab,
    delta,
    make_info,
    prompt_delta,
    result,
    token_probs,
)

PATH = "/v1/completions"
PRE, SUF, MID = 1, 2, 3


class FillingVocab(FakeVocab):
    fim_pre, fim_suf, fim_mid = PRE, SUF, MID


def prompt_of(api):
    (request,) = api.engine.requests
    return list(request.prompt_tokens)


@pytest.mark.parametrize(
    ("is_spm", "prompt", "expected"),
    [
        (False, "ab", [BOS, PRE, *b"ab", SUF, *b"xy", MID]),
        (True, "ab", [BOS, SUF, *b"xy", PRE, *b"ab", MID]),
        (False, [97, 98], [PRE, *b"ab", SUF, *b"xy", MID]),
        (False, "", [BOS, PRE, SUF, *b"xy", MID]),
    ],
)
def test_suffix_asks_for_what_lies_between(make_api, is_spm, prompt, expected):
    api = make_api(engine=FakeEngine(vocab=FillingVocab()), spm_infill=is_spm)
    reply = api.post(PATH, {"prompt": prompt, "suffix": "xy"})
    assert reply.json["choices"][0]["text"] == "abc"
    assert prompt_of(api) == expected


def test_suffix_leaves_out_an_eos_that_the_prompt_got(make_api):
    class Ending(FillingVocab):
        add_eos = True

        def tokenize(self, text, *, add_special=False, parse_special=True):
            end = [EOS] if add_special else []
            return super().tokenize(text, add_special=add_special) + end

    api = make_api(engine=FakeEngine(vocab=Ending()))
    api.post(PATH, {"prompt": "ab", "suffix": "x"})
    assert prompt_of(api) == [BOS, PRE, *b"ab", SUF, *b"x", MID]


def test_suffix_text_makes_no_special_tokens(make_api):
    api = make_api(engine=FakeEngine(vocab=FillingVocab()))
    api.post(PATH, {"prompt": "a", "suffix": "</s>"})
    assert EOS not in FillingVocab().tokenize("</s>", parse_special=False)
    assert prompt_of(api)[-5:] == [*b"</s>", MID]


def test_echo_beside_a_suffix_is_the_prompt_as_it_was_sent(make_api):
    api = make_api(engine=FakeEngine(vocab=FillingVocab()))
    body = {"prompt": "ab", "suffix": "xy", "echo": True}
    assert api.post(PATH, body).json["choices"][0]["text"] == "ababc"
    refused = api.post(PATH, {**body, "logprobs": 1})
    assert refused.status_code == 400
    assert refused.json["error"]["param"] == "suffix"


def test_suffix_is_refused_by_a_model_that_cannot_fill_in(api):
    reply = api.post(PATH, {"prompt": "a", "suffix": "b"})
    assert reply.status_code == 400
    assert reply.json["error"]["param"] == "suffix"
    assert "no tokens for a prefix" in reply.json["error"]["message"]
    assert api.engine.requests == []


def ranked_engine(values, **more):
    """Return an engine whose n-th choice has the n-th value as its tokens' logprob."""
    numbers = iter(range(100))

    def script(request):
        n = next(numbers)
        text = chr(ord("a") + n)
        probs = tuple(
            token_probs(text.encode(), value) for value in values[n % len(values)]
        )
        deltas = [delta(text, [1], probs=probs)]
        if request.prompt_probs is not None:
            deltas.insert(0, prompt_delta(request))
        return deltas, result(n_decoded=len(probs), n_prompt=len(request.prompt_tokens))

    return FakeEngine(script=script, info=make_info(n_slots=4), **more)


def test_best_of_shows_the_best_by_mean_logprob_in_order(make_api):
    # The sum of the second is the lowest, its mean the highest.
    api = make_api(engine=ranked_engine([(-1.0,), (-0.6, -0.6), (-0.9,)]))
    reply = api.post(PATH, {"prompt": "x", "best_of": 3, "n": 2}).json
    shown = [(c["index"], c["text"], c["logprobs"]) for c in reply["choices"]]
    assert shown == [(0, "b", None), (1, "c", None)]
    assert reply["usage"]["completion_tokens"] == 4
    assert reply["usage"]["prompt_tokens"] == 2
    assert len(api.engine.requests) == 3


def test_best_of_ranks_each_prompt_on_its_own(make_api):
    api = make_api(engine=ranked_engine([(-2.0,), (-1.0,)]))
    reply = api.post(PATH, {"prompt": ["x", "yz"], "best_of": 2}).json
    assert [(c["index"], c["text"]) for c in reply["choices"]] == [(0, "b"), (1, "d")]
    assert reply["usage"]["prompt_tokens"] == 2 + 3


def test_best_of_shows_logprobs_only_when_asked(make_api):
    api = make_api(engine=ranked_engine([(-2.0,), (-1.0,)]))
    reply = api.post(PATH, {"prompt": "x", "best_of": 2, "logprobs": 2}).json
    assert reply["choices"][0]["logprobs"]["token_logprobs"] == [-1.0]
    assert {each.sampling.n_probs for each in api.engine.requests} == {2}


def test_best_of_with_echoed_logprobs_has_the_prompts(make_api):
    api = make_api(engine=ranked_engine([(-2.0,), (-1.0,)]))
    body = {"prompt": "xy", "best_of": 2, "echo": True, "logprobs": 1}
    (choice,) = api.post(PATH, body).json["choices"]
    assert choice["text"] == "xyb"
    assert choice["logprobs"]["token_logprobs"] == [None, -2.0, -1.0]


def test_best_of_takes_probabilities_where_they_were_asked_for(make_api):
    api = make_api(engine=ranked_engine([(0.5, 0.0), (0.2, 0.2)]))
    body = {"prompt": "x", "best_of": 2, "logprobs": 1, "post_sampling_probs": True}
    assert api.post(PATH, body).json["choices"][0]["text"] == "b"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"best_of": 1, "n": 2}, "at least n, which is 2"),
        ({"best_of": 2, "stream": True}, "leave out stream"),
        ({"best_of": 5}, "1 <= value <= 4"),
        ({"best_of": 0}, "1 <= value <= 4"),
        ({"best_of": "2"}, "must be an integer"),
    ],
)
def test_best_of_that_makes_no_sense_is_refused(make_api, body, words):
    api = make_api(engine=ranked_engine([(-1.0,)]))
    error = api.post(PATH, {"prompt": "x", **body})
    assert error.status_code == 400
    assert error.json["error"]["param"] == "best_of"
    assert words in error.json["error"]["message"]


def test_best_of_as_many_as_are_shown_streams(make_api):
    api = make_api(engine=ranked_engine([(-1.0,)]))
    events = api.events(PATH, {"prompt": "x", "best_of": 2, "n": 2})
    assert events[-1] == "[DONE]"
