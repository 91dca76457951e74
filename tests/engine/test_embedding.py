"""Rows cut and normalised as llama-server's embd_normalize says."""

from __future__ import annotations

import numpy as np
import pytest

from llamactypes.engine.embedding.request import EmbeddingRequest, shaped

ROW = np.array([[3.0, -4.0, 0.0]], dtype=np.float32)


def make_request(**options) -> EmbeddingRequest:
    return EmbeddingRequest(((1,),), **options)


@pytest.mark.parametrize(
    ("kind", "length"),
    [(-1, 1.0), (0, 4 / 32760), (1, 7.0), (2, 5.0), (3, (27 + 64) ** (1 / 3))],
)
def test_a_row_is_divided_by_its_length(kind, length):
    rows = shaped(ROW, make_request(normalize=kind))
    assert rows.dtype == np.float32
    assert rows[0] == pytest.approx(ROW[0] / length, rel=1e-6)


@pytest.mark.parametrize("kind", [-1, 0, 1, 2, 7])
def test_a_row_of_zeros_stays_one(kind):
    zeros = np.zeros((1, 4), dtype=np.float32)
    assert not shaped(zeros, make_request(normalize=kind)).any()


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_powers_of_extreme_numbers_neither_vanish_nor_overflow(size):
    rows = shaped((ROW * size).astype(np.float32), make_request(normalize=100))
    assert rows[0] == pytest.approx([0.75, -1.0, 0.0], rel=1e-5)


def test_dimensions_are_cut_before_the_length_is_taken():
    rows = shaped(ROW, make_request(dimensions=1))
    assert rows.tolist() == [[1.0]]


def test_each_row_has_its_own_length():
    rows = shaped(np.vstack([ROW, 2 * ROW]), make_request())
    assert rows[0] == pytest.approx(rows[1])


def test_tokens_of_all_inputs_are_counted():
    assert EmbeddingRequest(((1, 2), (3,))).n_tokens == 3
