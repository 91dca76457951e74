from __future__ import annotations

import dataclasses
import math

import pytest

from llamactypes.errors import SamplingError
from llamactypes.sampling_params import DEFAULT_SAMPLERS, MAX_LAST_N, SamplingParams


def test_defaults_are_accepted() -> None:
    SamplingParams().check(100)


@pytest.mark.parametrize(
    "name",
    [f.name for f in dataclasses.fields(SamplingParams) if f.type == "float"],
)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300])
def test_numbers_that_are_not_finite_in_c_are_named(name: str, value: float) -> None:
    with pytest.raises(SamplingError, match=f"{name} must be a finite number"):
        SamplingParams(**{name: value}).check()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": 2**32}, "seed"),
        ({"top_k": -1}, "top_k must be within 0"),
        ({"top_k": 2**31}, "top_k"),
        ({"min_keep": -1}, "min_keep"),
        ({"n_probs": -1}, "n_probs"),
        ({"repeat_last_n": -1}, "repeat_last_n"),
        ({"repeat_last_n": MAX_LAST_N + 1}, "repeat_last_n"),
        ({"dry_penalty_last_n": 2**31 - 1}, "dry_penalty_last_n"),
        ({"dry_allowed_length": -1}, "dry_allowed_length"),
        ({"dry_sequence_breakers": ("a\0b",)}, "NUL"),
        ({"repeat_penalty": 0.0}, "repeat_penalty must be greater than 0"),
        ({"repeat_penalty": -1.5}, "repeat_penalty"),
        ({"repeat_penalty": 1e-39}, "repeat_penalty"),
        ({"mirostat": 3}, "mirostat must be 0, 1 or 2"),
        ({"adaptive_decay": 1.0}, "adaptive_decay"),
        ({"samplers": ("top_k", "luck")}, "unknown sampler 'luck'"),
        ({"logit_bias": ((5, math.nan),)}, "token 5 must be finite or -inf"),
        ({"logit_bias": ((5, math.inf),)}, "token 5"),
        ({"logit_bias": ((-1, 1.0),)}, "names token -1"),
        ({"logit_bias": ((100, 1.0),)}, "names token 100"),
    ],
)
def test_values_out_of_range_are_named(params: dict[str, object], words: str) -> None:
    with pytest.raises(SamplingError, match=words):
        SamplingParams(**params).check(100)  # type: ignore[arg-type]


def test_a_token_may_be_forbidden() -> None:
    SamplingParams(logit_bias=((5, -math.inf), (6, 3.5))).check(100)


@pytest.mark.parametrize(
    ("params", "is_greedy"),
    [
        ({}, False),
        ({"temperature": 0.0}, True),
        ({"temperature": 0.0, "n_probs": 3}, False),
        ({"temperature": 0.0, "dynatemp_range": 0.5}, False),
        ({"temperature": 0.0, "mirostat": 1}, False),
        ({"temperature": 0.0, "samplers": ("temperature", "top_k")}, False),
        ({"top_k": 1, "samplers": ("temperature", "top_k")}, True),
        ({"temperature": 0.0, "samplers": ()}, False),
        ({"temperature": 0.0, "samplers": ("adaptive_p", "temperature")}, False),
    ],
)
def test_greedy_is_what_llama_cpp_calls_greedy(
    params: dict[str, object], is_greedy: bool
) -> None:
    assert SamplingParams(**params).is_greedy() is is_greedy  # type: ignore[arg-type]


def test_the_default_chain_is_llama_server_s() -> None:
    assert ";".join(DEFAULT_SAMPLERS) == (
        "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature"
    )
