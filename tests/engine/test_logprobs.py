from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamactypes.engine.compute.logprobs import best_tokens, log_total, top_logprobs

logit = st.sampled_from([-math.inf, -3.0, -0.5, 0.0, 0.25, 1.0, 7.0])


@given(st.lists(logit, min_size=1, max_size=300), st.integers(0, 310))
def test_best_tokens_are_those_of_a_whole_sort_equal_ones_by_id(values, n):
    row = np.array(values, dtype=np.float32)
    whole = sorted(range(len(values)), key=lambda i: (-values[i], i))
    assert best_tokens(row, n) == whole[:n]


@pytest.mark.parametrize("n_vocab", [1, 63, 512, 49152])
@pytest.mark.parametrize("offset", [0.0, 500.0, -500.0])
def test_log_total_is_that_of_float64_for_logits_of_any_size(n_vocab, offset):
    row = np.random.default_rng(1).normal(offset, 4.0, n_vocab).astype(np.float32)
    exact = row.astype(np.float64) - offset
    assert log_total(row) == pytest.approx(offset + np.log(np.exp(exact).sum()))


def test_a_token_has_the_same_logprob_as_itself_among_the_best():
    row = np.random.default_rng(2).normal(0.0, 3.0, 1000).astype(np.float32)
    for token in range(0, 1000, 7):
        value, top = top_logprobs(row, token, 1000)
        assert value == dict(top)[token]
        assert math.fsum(math.exp(v) for _, v in top) == pytest.approx(1.0)


def test_an_impossible_token_has_minus_infinity():
    row = np.array([1.0, -math.inf, 1.0], dtype=np.float32)
    value, top = top_logprobs(row, 1, 3)
    assert value == -math.inf
    assert top == [(0, top[0][1]), (2, top[0][1]), (1, -math.inf)]
    assert top[0][1] == pytest.approx(-math.log(2))


@pytest.mark.parametrize("broken", [[math.nan, 1.0], [-math.inf, -math.inf]])
def test_a_row_without_a_finite_sum_has_no_number(broken):
    value, _ = top_logprobs(np.array(broken, dtype=np.float32), 0, 1)
    assert math.isnan(value)
