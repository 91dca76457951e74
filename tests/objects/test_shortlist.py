"""The short list: what a chain picks from it is what it picks from everything."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from llamactypes import Model, SamplerChain, SamplingParams, shortlist
from llamactypes.candidates import CandidateBuffer
from llamactypes.shortlist import MOST_CANDIDATES, Shortlist, candidates_needed

N_VOCAB = 8192
Logits = NDArray[np.float32]


def logits_of(seed: int, n: int = N_VOCAB) -> Logits:
    random = np.random.default_rng(seed)
    return random.standard_normal(n).astype(np.float32) * 3


CHAINS: dict[str, dict[str, object]] = {
    "default": {},
    "greedy": {"temperature": 0.0},
    "greedy-all": {"temperature": 0.0, "top_k": 0},
    "greedy-penalised": {"temperature": 0.0, "presence_penalty": 1.5},
    "penalties": {"repeat_penalty": 1.3, "frequency_penalty": 0.5, "temperature": 1.5},
    "dry": {"dry_multiplier": 4.0, "dry_allowed_length": 1, "temperature": 1.5},
    "xtc": {"xtc_probability": 0.5, "temperature": 1.5},
    "typical": {"typical_p": 0.7, "top_k": 100},
    "forbidden": {"logit_bias": tuple((i, -math.inf) for i in range(40))},
    "raised": {"logit_bias": ((311, 9.0), (77, 4.0), (3, -2.0)), "temperature": 2.0},
    "wide": {"top_k": 400, "temperature": 3.0, "top_p": 1.0, "min_p": 0.0},
    "adaptive": {"samplers": ("top_k", "adaptive_p"), "adaptive_target": 0.3},
    "temperature-last": {"samplers": ("top_k", "temperature"), "temperature": 2.0},
}


@pytest.fixture
def every_vocabulary_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortlist, "_LEAST_VOCABULARY", 0)


@pytest.mark.usefixtures("every_vocabulary_is_large")
@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_picks_the_same_with_and_without_the_list(
    model: Model, name: str
) -> None:
    params = replace(SamplingParams(seed=11), **CHAINS[name])  # type: ignore[arg-type]
    n_vocab = model.vocab.n_tokens
    short = Shortlist.for_chain(params, params.logit_bias, n_vocab)
    assert short is not None
    buffer = CandidateBuffer(MOST_CANDIDATES)
    with (
        SamplerChain.from_params(model, params) as one,
        SamplerChain.from_params(model, params) as other,
    ):
        for step in range(60):
            # Few favourites, so that penalties and DRY have something to lower.
            logits = logits_of(step % 7, n_vocab)
            expected = one.apply(logits).selected
            one.accept(expected)
            tokens = short.pick(logits)
            assert tokens is not None
            token = buffer.apply(other.raw, tokens, logits[tokens])
            other.accept(token)
            assert token == expected, f"step {step}"


@pytest.mark.usefixtures("every_vocabulary_is_large")
def test_a_chain_of_a_model_uses_the_list(model: Model) -> None:
    with SamplerChain.from_params(model, SamplingParams()) as chain:
        assert chain.is_quick
    with SamplerChain.from_params(model, SamplingParams(top_k=0)) as chain:
        assert not chain.is_quick


@pytest.mark.parametrize(
    ("params", "needed"),
    [
        ({}, 40),
        ({"temperature": 0.0}, 1),
        ({"repeat_penalty": 1.1, "repeat_last_n": 20}, 60),
        ({"repeat_penalty": 1.1, "repeat_last_n": 0}, 40),
        ({"dry_multiplier": 0.8, "dry_penalty_last_n": 10}, 50),
        ({"logit_bias": ((1, -1.0), (2, 3.0))}, 41),
    ],
)
def test_as_many_as_may_be_lowered_are_listed_in_addition(
    params: dict[str, object], needed: int
) -> None:
    chain = SamplingParams(**params)  # type: ignore[arg-type]
    assert candidates_needed(chain, chain.logit_bias) == needed


@pytest.mark.parametrize(
    "params",
    [
        {"top_k": 0},
        {"mirostat": 2},
        {"top_n_sigma": 1.0},
        {"presence_penalty": -1.0},
        {"repeat_penalty": 0.9},
        {"samplers": ()},
        {"samplers": ("temperature", "top_k")},
        {"samplers": ("top_p", "top_k")},
        {"samplers": ("infill", "top_k")},
        {"temperature": 0.0, "typical_p": 0.5},
        {"temperature": 0.0, "xtc_probability": 0.5},
        {
            "temperature": 0.0,
            "presence_penalty": 1.0,
            "samplers": ("top_k", "penalties", "temperature"),
        },
        {"logit_bias": ((5, 1.0), (5, -math.inf))},
    ],
)
def test_a_chain_that_must_see_everything_gets_no_list(
    params: dict[str, object],
) -> None:
    chain = SamplingParams(**params)  # type: ignore[arg-type]
    assert candidates_needed(chain, chain.logit_bias) is None


def test_a_long_list_is_not_worth_it() -> None:
    assert Shortlist.for_chain(SamplingParams(top_k=2000), (), N_VOCAB) is None
    assert Shortlist.for_chain(SamplingParams(), (), 1000) is None


def test_the_list_holds_the_largest_whatever_their_scale() -> None:
    short = Shortlist(40, [5])
    for scale in (1.0, 100.0, 0.01, 1e-6, 30.0):
        logits = logits_of(3) * np.float32(scale)
        for _ in range(20):
            tokens = short.pick(logits)
            assert tokens is not None
            assert set(np.argsort(-logits)[:40]) <= set(tokens.tolist())
            assert 5 in tokens
            assert len(tokens) <= MOST_CANDIDATES
            assert (np.diff(tokens) > 0).all()


def test_equal_logits_make_a_list_of_what_is_needed() -> None:
    tokens = Shortlist(40, []).pick(np.zeros(N_VOCAB, dtype=np.float32))
    assert tokens is not None
    assert len(tokens) == 40


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_logits_without_order_make_no_list(value: float) -> None:
    logits = logits_of(1)
    logits[9] = value
    assert Shortlist(40, []).pick(logits) is None
    assert Shortlist(40, []).pick(np.full(9, -math.inf, dtype=np.float32)) is None
