"""Limits of thinking over a real model."""

from __future__ import annotations

import numpy as np
import pytest

from llamactypes.constraints.constraint import Constraint
from llamactypes.engine.text.thinking import ThinkingControl, ThinkingLimit
from llamactypes.sampling_params import SamplingParams
from tests.engine.test_engine_models import ask, run, running

END = " So it was."
TAG = b"</t>"


@pytest.fixture(scope="module")
def stories(stories_model_path):
    with running(stories_model_path, n_parallel=4, n_ctx=1024) as engine:
        yield engine


def limit(engine, budget, **given):
    fields = {"open": b"<t>", "close": TAG, "is_thinking": True, **given}
    forced = tuple(engine.vocab.tokenize(END + TAG.decode()))
    return ThinkingLimit(forced=forced, budget=budget, **fields)


@pytest.mark.parametrize(
    "sampling",
    [
        SamplingParams(temperature=0.0),
        SamplingParams(seed=3),
        SamplingParams(seed=3, n_probs=2),
        SamplingParams(seed=3, top_k=0, top_p=1.0, min_p=0.0),
        SamplingParams(seed=3, backend_sampling=True),
    ],
    ids=["greedy", "seed", "probabilities", "all tokens", "in the graph"],
)
def test_thinking_ends_after_its_tokens_with_any_sampling(stories, sampling):
    free, _ = run(stories, ask(stories, max_tokens=40, sampling=sampling))
    request = ask(stories, max_tokens=40, sampling=sampling, thinking=limit(stories, 5))
    limited, _ = run(stories, request)
    forced = list(request.thinking.forced)
    assert limited.tokens[: 5 + len(forced)] == free.tokens[:5] + forced
    assert len(limited.tokens) > 5 + len(forced)


def test_thinking_ends_at_once_with_probabilities_after_sampling(stories):
    request = ask(
        stories,
        max_tokens=20,
        sampling=SamplingParams(seed=1, n_probs=2),
        post_sampling_probs=True,
        thinking=limit(stories, 0),
    )
    generation, _ = run(stories, request)
    assert generation.text.lstrip().startswith(END.strip() + TAG.decode())


def test_constraint_follows_what_ended_the_thinking(stories):
    constraint = Constraint('start: /[a-zA-Z ,.]*/ "</t>" /[0-9]{3}/', "grammar")
    request = ask(
        stories,
        max_tokens=60,
        sampling=SamplingParams(seed=1),
        constraint=stories.compile_constraint(constraint),
        thinking=limit(stories, 4),
    )
    generation, result = run(stories, request)
    thought, _, answer = generation.text.partition(TAG.decode())
    assert thought.endswith(END)
    assert result.error is None
    assert len(answer) == 3
    assert answer.isdigit()


def test_end_that_a_constraint_forbids_is_an_error(stories):
    constraint = Constraint("start: /[a-z ]{20,}/", "grammar")
    request = ask(
        stories,
        max_tokens=30,
        constraint=stories.compile_constraint(constraint),
        thinking=limit(stories, 2),
    )
    _, result = run(stories, request)
    assert "thinking cannot be ended" in str(result.error)


@pytest.mark.parametrize("n_probs", [0, 2])
def test_constraint_that_cannot_go_on_ends_limited_text_with_an_error(stories, n_probs):
    every_b = tuple(
        (token, -np.inf)
        for token in range(stories.vocab.n_tokens)
        if b"b" in stories.vocab.piece(token)
    )
    request = ask(
        stories,
        max_tokens=30,
        sampling=SamplingParams(logit_bias=every_b, n_probs=n_probs),
        constraint=stories.compile_constraint(Constraint('start: "aab"', "grammar")),
        thinking=limit(stories, 20, is_thinking=False),
    )
    generation, result = run(stories, request)
    assert generation.text == "aa"
    assert "logit_bias" in str(result.error)
    assert run(stories, ask(stories, max_tokens=3))[1].error is None


def test_thinking_is_ended_from_outside_while_it_goes_on(stories):
    control = ThinkingControl()
    request = ask(stories, max_tokens=600, thinking=limit(stories, -1, control=control))
    generation = stories.submit(request)
    assert generation.read(0, timeout_s=30)
    control.end()
    generation.wait(30)
    assert generation.text.count(END + TAG.decode()) == 1
