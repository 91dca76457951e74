"""Constrained text over real models: it matches, whatever else is asked for."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from llamactypes.constraints.constraint import Constraint
from llamactypes.engine import FinishReason
from llamactypes.errors import ConstraintError, NotServed
from llamactypes.sampling_params import SamplingParams
from tests.engine.test_engine_models import WAIT_S, ask, run, running

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
    "x-guidance": {"whitespace_flexible": False},
}
JSON = "start: %json " + json.dumps(SCHEMA)
ABC = "start: /[abc]{5}/"


@pytest.fixture(scope="module")
def stories(stories_model_path):
    with running(stories_model_path, n_parallel=4, n_ctx=1024) as engine:
        yield engine


@pytest.fixture(scope="module")
def tiny(tiny_model_path):
    with running(tiny_model_path, n_parallel=4, n_ctx=1024) as engine:
        yield engine


def compiled(engine, grammar):
    return engine.compile_constraint(Constraint(grammar, "grammar"))


def asked(engine, grammar, **options):
    options.setdefault("max_tokens", 64)
    return ask(engine, constraint=compiled(engine, grammar), **options)


def check_json(text):
    value = json.loads(text)
    assert set(value) == {"name", "age"}
    assert isinstance(value["age"], int)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"temperature": 0.0},
        {"top_k": 0, "top_p": 1.0, "min_p": 0.0},
        {"mirostat": 1},
        {"mirostat": 2},
        {"typical_p": 0.5},
        {"xtc_probability": 1.0},
        {"dry_multiplier": 1.0},
        {"repeat_penalty": 1.5, "repeat_last_n": 256},
        {"top_n_sigma": 1.0},
        {"n_probs": 3},
        {"backend_sampling": True},
    ],
    ids=str,
)
def test_text_matches_with_any_samplers(stories, values):
    sampling = SamplingParams(seed=1, **values)
    generation, result = run(stories, asked(stories, JSON, sampling=sampling))
    assert result.finish is FinishReason.STOP_EOS
    check_json(generation.text)


def test_choices_of_one_request_match_each_on_its_own(stories):
    requests = [
        asked(stories, ABC, sampling=SamplingParams(seed=seed)) for seed in range(4)
    ]
    generations = stories.submit_many(requests)
    for generation in generations:
        generation.wait(WAIT_S)
    texts = {generation.text for generation in generations}
    assert all(re.fullmatch("[abc]{5}", text) for text in texts)
    assert len(texts) > 1


def test_company_does_not_change_constrained_text(stories):
    alone, _ = run(stories, asked(stories, JSON))
    free = ask(stories, max_tokens=40)
    one, two, _ = generations = stories.submit_many([asked(stories, JSON), free, free])
    for generation in generations:
        generation.wait(WAIT_S)
    assert one.text == alone.text
    assert two.text == run(stories, free)[0].text


def test_what_the_model_would_write_anyway_stays_the_same(stories):
    sampling = SamplingParams(seed=5)
    free, _ = run(stories, ask(stories, sampling=sampling))
    anything = asked(stories, "start: /(.|\\n)*/", sampling=sampling, max_tokens=32)
    assert run(stories, anything)[0].text == free.text


def test_logprobs_are_of_the_raw_logits(stories):
    sampling = SamplingParams(seed=1, n_probs=2)
    generation, _ = run(stories, asked(stories, ABC, sampling=sampling))
    free, _ = run(stories, ask(stories, sampling=sampling, max_tokens=1))
    deltas, _ = generation.read(0)
    first = next(probs for delta in deltas for probs in delta.probs)
    free_first = next(p for delta in free.read(0)[0] for p in delta.probs)
    assert first.piece in (b"a", b"b", b"c", b"ab", b"bc", b"ac")
    assert [t[0] for t in first.top] == [t[0] for t in free_first.top]
    assert first.value < first.top[1][2]


def test_probabilities_of_a_second_draw_are_of_allowed_tokens(stories):
    sampling = SamplingParams(seed=1, temperature=1.0, top_k=0, min_p=0.0, n_probs=200)
    request = asked(
        stories, "start: /[QXZ]{5}/", sampling=sampling, post_sampling_probs=True
    )
    generation, _ = run(stories, request)
    deltas, _ = generation.read(0)
    drawn = [probs for delta in deltas for probs in delta.probs][:5]
    assert drawn
    for probs in drawn:
        assert {piece for _, piece, _ in probs.top} <= {b"Q", b"X", b"Z"}


def test_grammar_that_has_ended_ends_the_text_when_no_end_is_wanted(stories):
    request = asked(stories, ABC, ignore_eos=True)
    generation, result = run(stories, request)
    assert re.fullmatch("[abc]{5}", generation.text)
    assert result.finish is FinishReason.STOP_EOS


def test_end_is_not_forced_where_the_grammar_may_go_on(stories):
    request = asked(stories, "start: /[abc]+/", ignore_eos=True, max_tokens=20)
    generation, result = run(stories, request)
    assert re.fullmatch("[abc]{20,}", generation.text)
    assert result.finish is FinishReason.LENGTH


@pytest.mark.parametrize("n_probs", [0, 2])
@pytest.mark.parametrize("is_post", [False, True])
def test_forbidden_tokens_alone_end_with_an_error_that_keeps_the_text(
    stories, n_probs, is_post
):
    every_b = [
        (token, -np.inf)
        for token in range(stories.vocab.n_tokens)
        if b"b" in stories.vocab.piece(token)
    ]
    sampling = SamplingParams(logit_bias=tuple(every_b), n_probs=n_probs)
    request = asked(
        stories, 'start: "aab"', sampling=sampling, post_sampling_probs=is_post
    )
    generation, result = run(stories, request)
    assert generation.text == "aa"
    assert result.finish is FinishReason.ERROR
    assert isinstance(result.error, ConstraintError)
    assert "logit_bias" in str(result.error)


def test_others_go_on_when_one_cannot(stories):
    forbidden = tuple(
        (token, -np.inf)
        for token in range(stories.vocab.n_tokens)
        if b"b" in stories.vocab.piece(token)
    )
    bad = asked(stories, 'start: "aab"', sampling=SamplingParams(logit_bias=forbidden))
    good = ask(stories)
    alone, _ = run(stories, good)
    generations = stories.submit_many([good, bad, good])
    results = [generation.wait(WAIT_S) for generation in generations]
    assert [result.finish is FinishReason.ERROR for result in results] == [0, 1, 0]
    assert generations[0].text == generations[2].text == alone.text


def test_stop_strings_and_limits_end_constrained_text(stories):
    stopped, result = run(stories, asked(stories, 'start: "abcabc"', stop=("ca",)))
    assert (stopped.text, result.finish) == ("ab", FinishReason.STOP_WORD)
    cut, result = run(stories, asked(stories, "start: /a{40}/", max_tokens=3))
    assert result.finish is FinishReason.LENGTH
    assert result.n_decoded == 3
    assert set(cut.text) == {"a"}


def test_text_goes_on_behind_a_context_shift(stories_model_path):
    with running(
        stories_model_path, n_parallel=1, n_ctx=256, context_shift=True
    ) as engine:
        n = 400
        generation, result = run(
            engine, asked(engine, f"start: /[abc]{{{n}}}/", max_tokens=-1)
        )
    assert result.truncated
    assert re.fullmatch(f"[abc]{{{n}}}", generation.text)


def test_preempted_text_goes_on_where_it_was(stories_model_path):
    grammar = "start: /[abc]{150}/"
    with running(
        stories_model_path, n_parallel=4, n_ctx=400, kv_unified=True
    ) as engine:
        request = asked(engine, grammar, max_tokens=-1)
        alone, _ = run(engine, request)
        generations = engine.submit_many([request] * 4)
        for generation in generations:
            assert generation.wait(WAIT_S).finish is FinishReason.STOP_EOS
        assert engine.metrics().preemptions > 0
    assert {generation.text for generation in generations} == {alone.text}


def test_deterministic_mode_constrains_too(stories_model_path):
    with running(stories_model_path, deterministic=True) as engine:
        request = asked(engine, JSON, sampling=SamplingParams())
        texts = {run(engine, request)[0].text for _ in range(2)}
    assert len(texts) == 1
    check_json(texts.pop())


def test_control_tokens_have_text_where_it_is_preserved(stories):
    bos = stories.vocab.bos
    assert stories.vocab.control_tokens["<s>"] == bos
    grammar = f'start: "a" <[{bos}]> "b"'
    assert run(stories, asked(stories, grammar))[0].text == "ab"
    kept = asked(stories, grammar, preserved_tokens=frozenset((bos,)))
    assert run(stories, kept)[0].text == "a<s>b"


def test_text_goes_on_behind_that_of_an_earlier_generation(stories):
    request = asked(stories, JSON)
    whole, _ = run(stories, request)
    first = tuple(whole.tokens[:4])
    rest, result = run(stories, dataclasses.replace(request, generated=first))
    assert [*first, *rest.tokens] == whole.tokens
    assert result.finish is FinishReason.STOP_EOS


def test_earlier_text_that_does_not_fit_ends_with_an_error(stories):
    wrong = tuple(stories.vocab.tokenize("zz", add_special=False))
    generation, result = run(stories, asked(stories, ABC, generated=wrong))
    assert result.finish is FinishReason.ERROR
    assert isinstance(result.error, ConstraintError)
    assert generation.text == ""


def test_mistake_is_refused_before_anything_is_submitted(stories):
    with pytest.raises(ConstraintError, match="grammar cannot be used"):
        compiled(stories, "start: nothing")


def test_vocabulary_of_pieces_that_are_bytes_is_constrained(tiny):
    generation, result = run(tiny, asked(tiny, JSON))
    assert result.finish is FinishReason.STOP_EOS
    check_json(generation.text)


def test_engine_for_embeddings_constrains_nothing(bert_path):
    with (
        running(bert_path, embeddings=True, n_ctx=512) as engine,
        pytest.raises(NotServed),
    ):
        compiled(engine, ABC)
