"""Embeddings from the real library: company, parts and pooling change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from llamactypes import Context, ContextParams, Model
from llamactypes.engine import EmbeddingRequest, Engine, EngineConfig
from llamactypes.engine.embedding.embedder import LlamaEmbedder
from llamactypes.errors import DecodeAborted, InputTooLarge, PromptTooLong
from tests.support.tiny_bert import N_CTX, N_EMBD

WAIT_S = 30.0
TEXTS = ("the cat sat", "hello world", "machine learning is a cat", "paris")


@pytest.fixture
def make_embedder() -> Iterator[Callable[..., LlamaEmbedder]]:
    made: list[Any] = []

    def make(path: Path, **params: Any) -> LlamaEmbedder:
        model = Model(path)
        options = {"n_batch": 64, "n_ubatch": 64, "n_seq_max": 8, "kv_unified": True}
        context = Context(
            model,
            ContextParams(**options | {"embeddings": True, "n_threads": 1} | params),
        )
        embedder = LlamaEmbedder(context)
        made.extend((embedder, context, model))
        return embedder

    yield make
    for each in made:
        each.close()


def tokens_of(path: Path, *texts: str) -> list[tuple[int, ...]]:
    with Model(path) as model:
        return [tuple(model.vocab.tokenize(t, add_special=True)) for t in texts]


def check_company(embedder: LlamaEmbedder, inputs: list[tuple[int, ...]]) -> None:
    together = embedder.run(inputs)
    for tokens, rows in zip(inputs, together, strict=True):
        (alone,) = embedder.run([tokens])
        assert rows == pytest.approx(alone, abs=2e-3)
        assert rows.shape == (1, embedder.width)
    assert not np.allclose(together[0], together[1], atol=1e-2)


def test_an_encoder_gives_each_input_its_own_row(make_embedder, bert_path):
    embedder = make_embedder(bert_path)
    assert (embedder.pooling, embedder.width) == ("mean", N_EMBD)
    check_company(embedder, tokens_of(bert_path, *TEXTS))


@pytest.mark.parametrize("pooling", ["mean", "last"])
def test_a_decoder_gives_each_input_its_own_row(
    make_embedder, tiny_model_path, pooling
):
    embedder = make_embedder(tiny_model_path, pooling=pooling)
    check_company(embedder, tokens_of(tiny_model_path, *TEXTS))


@pytest.mark.parametrize("which", ["bert_path", "tiny_model_path"])
def test_pooling_is_made_of_the_rows_of_the_tokens(make_embedder, which, request):
    path = request.getfixturevalue(which)
    inputs = tokens_of(path, *TEXTS)
    plain = make_embedder(path, pooling="none").run(inputs)
    assert [len(rows) for rows in plain] == [len(tokens) for tokens in inputs]
    for pooling, pooled in (
        ("cls", [rows[0] for rows in plain]),
        ("last", [rows[-1] for rows in plain]),
        ("mean", [rows.mean(axis=0) for rows in plain]),
    ):
        found = make_embedder(path, pooling=pooling).run(inputs)
        for row, expected in zip(found, pooled, strict=True):
            assert row[0] == pytest.approx(expected, abs=2e-3)


def test_a_long_input_is_computed_in_parts_when_only_its_end_is_read(
    make_embedder, tiny_model_path
):
    (tokens,) = tokens_of(tiny_model_path, "the cat sat and " * 20)
    assert len(tokens) > 64
    (whole,) = make_embedder(
        tiny_model_path, pooling="last", n_batch=512, n_ubatch=512
    ).run([tokens])
    (parts,) = make_embedder(tiny_model_path, pooling="last").run([tokens])
    # Other kernels, and rounded values from the KV cache: the same direction.
    both = (parts / np.linalg.norm(parts), whole / np.linalg.norm(whole))
    assert float((both[0] * both[1]).sum()) > 0.9999


def test_a_ranking_is_one_score_for_each_pair(make_embedder, reranker_path):
    embedder = make_embedder(reranker_path)
    assert (embedder.pooling, embedder.width) == ("rank", 1)
    check_company(embedder, tokens_of(reranker_path, *TEXTS))


@pytest.mark.parametrize("which", ["bert_path", "tiny_model_path"])
def test_an_interrupt_aborts_and_the_next_run_is_right(make_embedder, which, request):
    path = request.getfixturevalue(which)
    embedder = make_embedder(path, pooling="mean")
    inputs = tokens_of(path, *TEXTS)
    expected = embedder.run(inputs)
    embedder.interrupt()
    with pytest.raises(DecodeAborted):
        embedder.run(inputs)
    for rows, before in zip(embedder.run(inputs), expected, strict=True):
        assert rows == pytest.approx(before, abs=2e-3)


# -- the whole engine ----------------------------------------------------------------


@pytest.fixture
def make_engine() -> Iterator[Callable[..., Engine]]:
    made: list[Engine] = []

    def make(path: Path, **options: Any) -> Engine:
        config = EngineConfig(str(path), n_threads=1, embeddings=True, **options)
        engine = Engine(config)
        made.append(engine)
        engine.start()
        engine.wait_ready(WAIT_S)
        return engine

    yield make
    for engine in made:
        engine.stop(0)


def test_an_engine_embeds(make_engine, bert_path):
    engine = make_engine(bert_path)
    info = engine.info
    assert (info.pooling, info.n_embd_out, info.n_tokens_input) == (
        "mean",
        N_EMBD,
        N_CTX,
    )
    inputs = tuple(tokens_of(bert_path, *TEXTS))
    result = engine.embed(EmbeddingRequest(inputs * 20)).wait(WAIT_S)
    assert result is not None
    lengths = [float(np.linalg.norm(rows[0])) for rows in result.rows]
    assert lengths == pytest.approx([1.0] * 80)
    assert engine.metrics().n_decode < 80


def test_what_a_model_or_a_batch_cannot_hold_is_refused(make_engine, bert_path):
    with pytest.raises(PromptTooLong):
        make_engine(bert_path).embed(EmbeddingRequest(((7,) * (N_CTX + 1),)))
    with pytest.raises(InputTooLarge):
        make_engine(bert_path, n_ubatch=64).embed(EmbeddingRequest(((7,) * 65,)))


def test_deterministic_mode_repeats_every_bit_in_any_company(make_engine, bert_path):
    engine = make_engine(bert_path, deterministic=True)
    inputs = tuple(tokens_of(bert_path, *TEXTS))
    alone = [engine.embed(EmbeddingRequest((each,))).wait(WAIT_S) for each in inputs]
    jobs = [engine.embed(EmbeddingRequest(inputs)) for _ in range(3)]
    for job in jobs:
        result = job.wait(WAIT_S)
        for rows, expected in zip(result.rows, alone, strict=True):
            assert rows.tobytes() == expected.rows[0].tobytes()
