from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from llamactypes import Context, Model, SamplerChain, SamplingError, SamplingParams
from llamactypes.sampling_params import RANDOM_SEED, SAMPLER_NAMES
from tests.objects.greedy import prefill

Logits = NDArray[np.float32]


@pytest.fixture
def logits(model: Model) -> Logits:
    random = np.random.default_rng(7)
    return random.standard_normal(model.vocab.n_tokens).astype(np.float32) * 3


def chain_of(model: Model, **params: object) -> SamplerChain:
    return SamplerChain.from_params(model, SamplingParams(**params))  # type: ignore[arg-type]


def names_of(model: Model, **params: object) -> tuple[str, ...]:
    with chain_of(model, **params) as chain:
        return tuple(name.lstrip("?") for name in chain.names())


DEFAULT_NAMES = [
    "penalties",
    "dry",
    "top-n-sigma",
    "top-k",
    "typical",
    "top-p",
    "min-p",
    "xtc",
    "temp-ext",
    "dist",
]


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({}, DEFAULT_NAMES),
        ({"temperature": 0.0}, [*DEFAULT_NAMES[:-1], "greedy"]),
        ({"temperature": 0.0, "n_probs": 1}, DEFAULT_NAMES),
        ({"logit_bias": ((3, 1.0),)}, ["logit-bias", *DEFAULT_NAMES]),
        ({"samplers": ("top_k", "infill")}, ["top-k", "infill", "dist"]),
        ({"samplers": ("adaptive_p", "min_p")}, ["min-p", "adaptive-p"]),
        ({"samplers": ()}, ["dist"]),
        ({"mirostat": 1}, ["temp", "mirostat"]),
        (
            {"mirostat": 2, "logit_bias": ((3, 1.0),)},
            ["logit-bias", "temp", "mirostat-v2"],
        ),
    ],
)
def test_the_chain_is_llama_cpp_s(
    model: Model, params: dict[str, object], names: list[str]
) -> None:
    assert list(names_of(model, **params)) == names


def test_greedy_picks_the_largest_logit(context: Context, model: Model) -> None:
    prefill(context, [1, 300, 301])
    with chain_of(model, temperature=0.0) as chain:
        assert chain.sample(context, -1) == int(np.argmax(context.logits(-1)))


def test_a_row_without_logits_is_an_index_error(context: Context, model: Model) -> None:
    prefill(context, [1, 300, 301])
    with chain_of(model) as chain, pytest.raises(IndexError):
        chain.sample(context, 0)


def test_the_same_seed_draws_the_same_tokens(model: Model, logits: Logits) -> None:
    def draw(seed: int) -> list[int]:
        with chain_of(model, seed=seed, temperature=2.0) as chain:
            return [chain.apply(logits).selected for _ in range(30)]

    assert draw(42) == draw(42)
    assert draw(42) != draw(43)


def test_reset_starts_the_random_numbers_again(model: Model, logits: Logits) -> None:
    with chain_of(model, seed=5, temperature=2.0) as chain:
        first = [chain.apply(logits).selected for _ in range(20)]
        chain.reset()
        assert [chain.apply(logits).selected for _ in range(20)] == first


def test_the_seed_in_use_is_told(model: Model) -> None:
    assert chain_of(model, seed=42).seed == 42
    drawn = {chain_of(model).seed for _ in range(4)}
    assert RANDOM_SEED not in drawn
    assert len(drawn) > 1


def test_sample_and_apply_pick_the_same(context: Context, model: Model) -> None:
    prefill(context, [1, 300, 301])
    params = {"seed": 9, "temperature": 1.5, "repeat_penalty": 1.2}
    with chain_of(model, **params) as one, chain_of(model, **params) as other:
        for _ in range(10):
            token = one.sample(context, -1)
            candidates = other.apply(context.logits(-1))
            other.accept(candidates.selected)
            assert candidates.selected == token


def test_candidates_have_the_probabilities_left_by_the_chain(
    model: Model, logits: Logits
) -> None:
    before = logits.copy()
    with chain_of(model, top_k=5, top_p=1.0, min_p=0.0, temperature=1.0) as chain:
        candidates = chain.apply(logits)
    best = np.argsort(-logits)[:5]
    expected = np.exp(logits[best] - logits[best[0]])
    assert candidates.ids.tolist() == best.tolist()
    assert candidates.is_sorted
    assert np.allclose(candidates.probs, expected / expected.sum(), atol=1e-6)
    assert np.allclose(candidates.logits, logits[best])
    assert candidates.selected in best
    assert (logits == before).all()


def test_candidates_stay_valid_after_the_next_use(model: Model, logits: Logits) -> None:
    with chain_of(model, top_k=5) as chain:
        first = chain.apply(logits)
        ids = first.ids.tolist()
        chain.apply(-logits)
    assert first.ids.tolist() == ids


def test_logit_bias_forbids_and_forces(model: Model, logits: Logits) -> None:
    best = int(np.argmax(logits))
    with chain_of(model, temperature=0.0, logit_bias=((best, -math.inf),)) as chain:
        assert chain.apply(logits).selected != best
    with chain_of(model, temperature=0.0, logit_bias=((7, 100.0),)) as chain:
        assert chain.apply(logits).selected == 7


def test_accepted_tokens_are_penalised(model: Model, logits: Logits) -> None:
    best = int(np.argmax(logits))
    with chain_of(model, temperature=0.0, presence_penalty=50.0) as chain:
        assert chain.apply(logits).selected == best
        chain.accept(best)
        assert chain.apply(logits).selected != best


@pytest.mark.parametrize("name", sorted(SAMPLER_NAMES))
def test_every_sampler_alone_picks_a_token(
    model: Model, logits: Logits, name: str
) -> None:
    params = SamplingParams(
        samplers=(name,),
        dry_multiplier=0.8,
        xtc_probability=1.0,
        typical_p=0.5,
        top_n_sigma=1.0,
        adaptive_target=0.3,
        repeat_penalty=1.1,
        min_keep=2,
    )
    with SamplerChain.from_params(model, params) as chain:
        for _ in range(5):
            token = chain.apply(logits).selected
            chain.accept(token)
            assert 0 <= token < model.vocab.n_tokens


@pytest.mark.parametrize(
    "params",
    [
        {"mirostat": 1, "mirostat_tau": 0.0},
        {"mirostat": 2, "mirostat_tau": -5.0, "mirostat_eta": 100.0},
        {"temperature": -1.0},
        {"temperature": 1e-30},
        {"temperature": 3e38},
        {"dynatemp_range": 5.0, "dynatemp_exponent": -3.0},
        {"top_p": -1.0, "min_p": 2.0, "typical_p": -1.0},
        {"min_keep": 2**31 - 1},
        {"top_k": 2**31 - 1},
        {"top_n_sigma": 1e-30},
        {"xtc_probability": 1.0, "xtc_threshold": 0.0},
        {"repeat_penalty": 3e38, "frequency_penalty": -3e38},
        {"dry_multiplier": 3e38, "dry_base": 3e38, "dry_allowed_length": 0},
        {
            "dry_multiplier": 1.0,
            "dry_sequence_breakers": ("", "\ud800", "é" * 60, "😀"),
        },
        {"dry_multiplier": 1.0, "dry_sequence_breakers": ()},
        {"logit_bias": tuple((token, -math.inf) for token in range(413))},
        {"adaptive_target": 5.0, "samplers": ("adaptive_p",)},
        {"repeat_last_n": 1 << 20, "repeat_penalty": 1.1},
    ],
)
def test_extreme_parameters_never_end_the_process(
    model: Model, logits: Logits, params: dict[str, object]
) -> None:
    with chain_of(model, **params) as chain:
        for _ in range(20):
            token = chain.apply(logits).selected
            assert 0 <= token < model.vocab.n_tokens
            chain.accept(token)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("params", [{}, {"mirostat": 1}, {"temperature": 0.0}])
def test_logits_that_are_no_numbers_never_end_the_process(
    model: Model, logits: Logits, bad: float, params: dict[str, object]
) -> None:
    for broken in (np.full_like(logits, bad), np.where(logits > 0, bad, logits)):
        with chain_of(model, **params) as chain:
            token = chain.apply(broken.astype(np.float32)).selected
            assert 0 <= token < model.vocab.n_tokens


def test_bad_parameters_raise_before_c_sees_them(model: Model) -> None:
    with pytest.raises(SamplingError, match="samplers may hold 64 entries, not 65"):
        SamplingParams(samplers=("top_k",) * 65).check()
    with pytest.raises(SamplingError, match="dry_sequence_breakers may hold 64"):
        SamplingParams(dry_sequence_breakers=("a",) * 65).check()
    with pytest.raises(SamplingError, match="repeat_penalty"):
        chain_of(model, repeat_penalty=0.0)
    with pytest.raises(SamplingError, match="names token 413"):
        chain_of(model, logit_bias=((413, 1.0),))


def test_apply_refuses_logits_of_another_vocabulary(model: Model) -> None:
    with chain_of(model) as chain, pytest.raises(SamplingError, match="413"):
        chain.apply(np.zeros(10, dtype=np.float32))


def test_accept_refuses_unknown_tokens(model: Model) -> None:
    with chain_of(model) as chain:
        for token in (-1, 413, 2**31 - 1):
            with pytest.raises(SamplingError, match="outside 0 … 412"):
                chain.accept(token)


def test_an_empty_chain_picks_nothing(model: Model, logits: Logits) -> None:
    with SamplerChain(model) as chain, pytest.raises(SamplingError, match="picks"):
        chain.apply(logits)


def test_a_bpe_vocabulary_takes_dry_breakers_inside_characters(
    smollm2_path: Path,
) -> None:
    with Model(smollm2_path) as model:
        breakers = ("\n", "é", "日本", "😀", "a" * 39 + "é")
        chain = chain_of(model, dry_multiplier=0.8, dry_sequence_breakers=breakers)
        assert "dry" in chain.names()
