"""Rows of a context that computes embeddings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from llamactypes import Batch, Context
from llamactypes.embeddings import EmbeddingOutput
from llamactypes.errors import ClosedError, ContextError

TOKENS = (1, 5, 6)


def decoded(make_context: Callable[..., Context], pooling: str) -> Context:
    context = make_context(embeddings=True, pooling=pooling)
    with Batch(len(TOKENS)) as batch:
        batch.add_each(TOKENS, range(len(TOKENS)), [0] * len(TOKENS))
        context.decode(batch)
    return context


def test_a_pooled_row_stays_when_the_context_goes_on(make_context):
    context = decoded(make_context, "mean")
    output = EmbeddingOutput(context)
    row = output.sequence(0)
    before = row.copy()
    context.memory.clear()
    with Batch(1) as batch:
        batch.add(7, 0, 0, True)
        context.decode(batch)
    assert row.shape == (output.width,)
    assert np.array_equal(row, before)
    assert not np.allclose(output.sequence(0), row)


def test_rows_of_tokens_are_found_by_their_index(make_context):
    output = EmbeddingOutput(decoded(make_context, "none"))
    assert output.pooling == "none"
    rows = [output.token(index) for index in range(len(TOKENS))]
    assert not np.allclose(rows[0], rows[2])


def test_what_the_batch_did_not_have_is_an_index_error(make_context):
    with pytest.raises(IndexError, match="sequence 5"):
        EmbeddingOutput(decoded(make_context, "mean")).sequence(5)
    with pytest.raises(IndexError, match="token 9"):
        EmbeddingOutput(decoded(make_context, "none")).token(9)


def test_a_context_that_generates_has_none(context):
    with pytest.raises(ContextError, match="computes no embeddings"):
        EmbeddingOutput(context)


def test_a_closed_context_is_told(make_context):
    context = decoded(make_context, "mean")
    output = EmbeddingOutput(context)
    context.close()
    with pytest.raises(ClosedError):
        output.sequence(0)
