"""An engine for embeddings, with a fake embedder: jobs, cancelling, the end."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from llamactypes.engine import EmbeddingRequest, Engine, EngineConfig
from llamactypes.errors import (
    DecodeAborted,
    DecodeFatal,
    EngineFailed,
    EngineLoading,
    EngineOverloaded,
    EngineStopped,
    InputTooLarge,
    KVCacheFull,
    NotServed,
    PromptTooLong,
)
from tests.support.builders import make_request as make_generation_request
from tests.support.fake_embedder import FakeEmbedder
from tests.support.fake_model import FakeModel
from tests.support.waiting import eventually

WAIT_S = 5.0


@pytest.fixture
def embedder():
    return FakeEmbedder()


@pytest.fixture
def make_engine(embedder):
    engines, model = [], FakeModel()

    def make(**options) -> Engine:
        model.embedder = embedder
        config = EngineConfig("fake.gguf", embeddings=True, **options)
        engine = Engine(config, load=model.load)
        engines.append(engine)
        engine.start()
        engine.wait_ready(WAIT_S)
        return engine

    yield make
    embedder.before_run = lambda: None
    for engine in engines:
        engine.stop(0)


@pytest.fixture
def engine(make_engine):
    return make_engine()


def make_request(*inputs: tuple[int, ...], normalize: int = -1) -> EmbeddingRequest:
    return EmbeddingRequest(inputs or ((5, 6),), normalize=normalize)


def hold_runs(embedder) -> threading.Event:
    """Make each run wait for the returned event, or an interrupt."""
    release = threading.Event()

    def wait() -> None:
        while not release.wait(0.005):
            if embedder.interrupted.is_set():
                embedder.interrupted.clear()
                raise DecodeAborted("aborted", 2)

    embedder.before_run = wait
    return release


def rows_of(job) -> list[list[float]]:
    result = job.wait(WAIT_S)
    assert result is not None
    assert result.error is None, result.error
    return np.concatenate(result.rows).tolist()


def test_rows_come_in_the_order_of_the_inputs(engine):
    job = engine.embed(make_request((5, 6), (7,), (8, 8, 8)))
    assert rows_of(job) == [[2, 5], [1, 7], [3, 8]]


def test_pooled_rows_are_normalised(engine):
    assert rows_of(engine.embed(make_request((4, 4, 4), normalize=2))) == [
        pytest.approx([0.6, 0.8])
    ]


def test_rows_of_tokens_stay_as_they_are(make_engine, embedder):
    embedder.pooling = "none"
    job = make_engine().embed(make_request((4, 4), normalize=2))
    assert rows_of(job) == [[2, 4], [2, 4]]


def test_inputs_of_several_requests_are_computed_together(engine, embedder):
    release = hold_runs(embedder)
    first = engine.embed(make_request())
    eventually(lambda: embedder.batches)
    others = [engine.embed(make_request((n,))) for n in (1, 2, 3)]
    release.set()
    for job in (first, *others):
        rows_of(job)
    assert embedder.batches[1:] == [[(1,), (2,), (3,)]]


def test_deterministic_mode_computes_one_input_at_a_time(make_engine, embedder):
    engine = make_engine(deterministic=True)
    rows_of(engine.embed(make_request((1,), (2,))))
    assert embedder.batches == [[(1,)], [(2,)]]


def test_cancel_interrupts_what_nobody_else_waits_for(engine, embedder):
    hold_runs(embedder)
    job = engine.embed(make_request())
    eventually(lambda: embedder.batches)
    job.cancel()
    job.cancel()
    result = job.wait(WAIT_S)
    assert result is not None
    assert result.is_cancelled
    assert engine.metrics().requests_cancelled == 1


def test_cancel_leaves_a_batch_that_others_wait_for(engine, embedder):
    release = hold_runs(embedder)
    first = engine.embed(make_request())
    eventually(lambda: embedder.batches)
    leaving, staying = (engine.embed(make_request()) for _ in range(2))
    embedder.before_run = lambda: None
    release.set()
    rows_of(first)
    leaving.cancel()
    rows_of(staying)
    assert not embedder.interrupted.is_set()


def test_what_was_interrupted_is_computed_again(engine, embedder):
    embedder.errors = [DecodeAborted("late interrupt", 2)]
    assert rows_of(engine.embed(make_request())) == [[2, 5]]


def test_a_batch_without_room_is_computed_one_by_one(engine, embedder):
    embedder.errors = [KVCacheFull("full", 1)]
    assert rows_of(engine.embed(make_request((1,), (2,)))) == [[1, 1], [1, 2]]
    assert embedder.batches[1:] == [[(1,)], [(2,)]]


def test_an_input_without_room_fails_its_request_alone(engine, embedder):
    embedder.errors = [KVCacheFull("full", 1)]
    result = engine.embed(make_request()).wait(WAIT_S)
    assert isinstance(result.error, KVCacheFull)
    assert rows_of(engine.embed(make_request())) == [[2, 5]]


def test_numbers_that_are_not_finite_fail_the_request(engine, embedder, monkeypatch):
    broken = np.array([[np.nan, 1.0]], dtype=np.float32)
    monkeypatch.setattr(embedder, "_rows", lambda tokens: broken)
    result = engine.embed(make_request()).wait(WAIT_S)
    assert "not finite" in str(result.error)


def test_a_fatal_error_ends_everything(engine, embedder):
    embedder.errors = [DecodeFatal("broken", -3)]
    result = engine.embed(make_request()).wait(WAIT_S)
    assert isinstance(result.error, EngineFailed)
    with pytest.raises(EngineFailed):
        engine.embed(make_request())


def test_stop_ends_jobs_that_take_too_long(engine, embedder):
    hold_runs(embedder)
    job = engine.embed(make_request())
    eventually(lambda: embedder.batches)
    engine.stop(0.05)
    assert isinstance(job.wait(WAIT_S).error, EngineStopped)


def test_a_job_nobody_reads_is_ended(make_engine, embedder):
    engine = make_engine(orphan_timeout_s=0.01)
    hold_runs(embedder)
    job = engine.embed(make_request())
    eventually(lambda: embedder.batches)

    def has_ended() -> bool:
        embedder.interrupt()  # after each run the engine looks for orphans
        return job.result is not None

    eventually(has_ended)
    assert job.result.is_cancelled


def test_a_full_queue_refuses(make_engine, embedder):
    engine = make_engine(n_parallel=1, queue_size=1)
    hold_runs(embedder)
    jobs = [engine.embed(make_request()) for _ in range(2)]
    with pytest.raises(EngineOverloaded):
        engine.embed(make_request())
    for job in jobs:
        job.cancel()
        job.wait(WAIT_S)
    assert engine.metrics().requests_refused == 1


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        (((),), ValueError),
        (((1, -1),), ValueError),
        (((1,), (0x10000,)), ValueError),
        (((1,), (2,) * 9), PromptTooLong),
    ],
)
def test_what_cannot_be_embedded_is_refused(engine, inputs, error):
    with pytest.raises(error):
        engine.embed(EmbeddingRequest(inputs))


def test_no_inputs_are_refused(engine):
    with pytest.raises(ValueError, match="at least"):
        engine.embed(EmbeddingRequest(()))


def test_more_than_a_physical_batch_is_too_large(make_engine):
    with pytest.raises(InputTooLarge, match="too large to process"):
        make_engine(n_ubatch=8).embed(make_request((1,) * 9))


def test_an_engine_for_embeddings_generates_nothing(engine):
    with pytest.raises(NotServed, match="--embeddings"):
        engine.submit(make_generation_request())


def test_an_engine_that_generates_embeds_nothing():
    model = FakeModel()
    engine = Engine(EngineConfig("fake.gguf"), load=model.load)
    with pytest.raises(EngineLoading):
        engine.embed(make_request())
    engine.start()
    engine.wait_ready(WAIT_S)
    try:
        with pytest.raises(NotServed, match="does not support embeddings"):
            engine.embed(make_request())
    finally:
        engine.stop(0)


def test_metrics_count_batches_and_tokens(engine):
    rows_of(engine.embed(make_request((1, 1), (2,))))
    seen = engine.metrics()
    assert (seen.n_decode, seen.prompt_tokens, seen.n_tokens_max) == (1, 3, 2)
    assert (seen.busy_slots_total, seen.requests_finished) == (2, 1)
    assert (seen.queue_s.count, seen.request_s.count) == (1, 1)
    eventually(lambda: engine.metrics().requests_waiting == 0)


def test_slots_show_what_is_computed(make_engine, embedder):
    engine = make_engine(n_parallel=3)
    release = hold_runs(embedder)
    job = engine.embed(make_request((1,), (2,)))
    eventually(lambda: embedder.batches)
    assert [slot.is_processing for slot in engine.slots()] == [True, True, False]
    release.set()
    rows_of(job)
    eventually(lambda: not any(slot.is_processing for slot in engine.slots()))
