"""The engine's thread and doors, with a fake model at the loader seam."""

from __future__ import annotations

import threading

import pytest

from llamactypes.engine import Engine, EngineConfig, EngineState, FinishReason
from llamactypes.errors import (
    ClosedError,
    DecodeAborted,
    DecodeFatal,
    EngineFailed,
    EngineLoading,
    EngineOverloaded,
    EngineStopped,
    KVCacheFull,
    ModelLoadError,
    PromptTooLong,
)
from tests.support.builders import make_request
from tests.support.fake_model import FakeModel, FakeSampler
from tests.support.waiting import eventually

WAIT_S = 5.0


@pytest.fixture
def model():
    return FakeModel()


@pytest.fixture
def make_engine(model):
    engines = []

    def make(**options) -> Engine:
        options.setdefault("n_parallel", 2)
        engine = Engine(EngineConfig("fake.gguf", **options), load=model.load)
        engines.append(engine)
        engine.start()
        return engine

    yield make
    model.runner.before_run = lambda: None
    model.may_load.set()
    for engine in engines:
        engine.stop(0)


@pytest.fixture
def engine(make_engine):
    engine = make_engine()
    engine.wait_ready(WAIT_S)
    return engine


def hold_decodes(model) -> threading.Event:
    """Make each decode wait for the returned event (or an interrupt)."""
    release = threading.Event()

    def wait() -> None:
        while not release.wait(0.005):
            if model.runner.interrupted.is_set():
                model.runner.interrupted.clear()
                raise DecodeAborted("aborted", 2)

    model.runner.before_run = wait
    return release


def test_submit_is_answered(engine):
    generation = engine.submit(make_request(tokens=(97,), max_tokens=3))
    assert "".join(generation) == "bcd"
    assert generation.result.finish is FinishReason.LENGTH


def test_progress_is_told_for_a_request_that_ends_with_its_first_token(engine):
    request = make_request(tokens=(97, 98), max_tokens=1, return_progress=True)
    generation = engine.submit(request)
    assert "".join(generation) == "c"
    deltas, _ = generation.read(0)
    assert [delta.progress is not None for delta in deltas] == [True, True, False]


def test_many_requests_at_once_are_all_answered(engine):
    requests = [make_request(tokens=(97 + i,), max_tokens=4) for i in range(20)]
    for i, generation in enumerate(engine.submit_many(requests)):
        assert generation.wait(WAIT_S) is not None
        assert generation.text == "".join(chr(98 + i + k) for k in range(4))


def test_submit_refuses_while_loading(make_engine, model):
    model.may_load.clear()
    engine = make_engine()
    with pytest.raises(EngineLoading):
        engine.submit(make_request())
    with pytest.raises(EngineLoading):
        engine.wait_ready(0.01)


def test_wait_ready_raises_why_loading_failed(make_engine, model):
    model.load_error = ModelLoadError("no such file")
    engine = make_engine()
    with pytest.raises(ModelLoadError, match="no such file"):
        engine.wait_ready(WAIT_S)
    assert engine.state is EngineState.FAILED
    with pytest.raises(EngineFailed):
        engine.submit(make_request())


def test_submit_refuses_a_prompt_as_long_as_the_context(engine):
    with pytest.raises(PromptTooLong) as caught:
        engine.submit(make_request(64))
    assert (caught.value.n_prompt_tokens, caught.value.n_ctx) == (64, 64)


@pytest.mark.parametrize("token", [-1, 0x10000])
def test_submit_refuses_tokens_outside_the_vocabulary(engine, token):
    with pytest.raises(ValueError, match="within 0"):
        engine.submit(make_request(tokens=(token,)))


def test_submit_many_takes_all_or_none_when_the_queue_is_full(make_engine, model):
    release = hold_decodes(model)
    engine = make_engine(queue_size=1)
    engine.wait_ready(WAIT_S)
    with pytest.raises(EngineOverloaded) as caught:
        engine.submit_many([make_request()] * 4)
    assert caught.value.retry_after_s > 0
    generations = engine.submit_many([make_request(max_tokens=1)] * 3)
    with pytest.raises(EngineOverloaded):
        engine.submit(make_request())
    release.set()
    assert all(generation.wait(WAIT_S) for generation in generations)
    engine.submit(make_request(max_tokens=1)).wait(WAIT_S)


def test_cancel_interrupts_a_decode_of_a_long_prompt(engine, model):
    hold_decodes(model)
    generation = engine.submit(make_request(40))
    eventually(lambda: model.runner.plans)
    generation.cancel()
    assert generation.wait(WAIT_S).finish is FinishReason.CANCELLED


def test_cancelled_waiting_request_never_gets_a_slot(engine, model):
    release = hold_decodes(model)
    engine.submit_many([make_request(2)] * 2)
    waiting = engine.submit(make_request(2, first=500))
    waiting.cancel()
    release.set()
    assert waiting.wait(WAIT_S).id_slot == -1


def test_cache_full_is_survived_by_making_room(engine, model):
    model.runner.errors = [KVCacheFull("full", 1)]
    requests = [make_request(4, first=97 * (i + 1), max_tokens=3) for i in range(2)]
    generations = engine.submit_many(requests)
    results = [generation.wait(WAIT_S) for generation in generations]
    assert [result.finish for result in results].count(FinishReason.LENGTH) >= 1
    assert engine.submit(make_request(max_tokens=1)).wait(WAIT_S).error is None


def test_cache_full_for_the_only_request_is_its_error(engine, model):
    model.runner.errors = [KVCacheFull("full", 1)]
    generation = engine.submit(make_request(4, max_tokens=3))
    assert isinstance(generation.wait(WAIT_S).error, KVCacheFull)
    assert engine.is_ready


def test_interrupted_decode_is_done_again(engine, model):
    model.runner.errors = [DecodeAborted("aborted", 2)]
    generation = engine.submit(make_request(tokens=(97, 98), max_tokens=2))
    assert "".join(generation) == "cd"


def test_fatal_decode_fails_every_live_generation(engine, model):
    release = hold_decodes(model)
    model.runner.errors = [DecodeFatal("broken", -3)]
    generations = engine.submit_many([make_request(4), make_request(4, first=300)])
    release.set()
    for generation in generations:
        assert isinstance(generation.wait(WAIT_S).error, EngineFailed)
    eventually(lambda: engine.state is EngineState.FAILED)
    with pytest.raises(EngineFailed, match="broken"):
        engine.submit(make_request())


def test_generation_that_nobody_reads_is_cancelled(make_engine, model):
    model.n_ctx_slot = 4096
    model.runner.before_run = lambda: threading.Event().wait(0.005)
    engine = make_engine(orphan_timeout_s=0.05)
    engine.wait_ready(WAIT_S)
    generation = engine.submit(make_request(4))
    eventually(lambda: generation.result is not None, within_s=WAIT_S)
    assert generation.result.finish is FinishReason.CANCELLED


def test_stop_lets_live_generations_end(engine, model):
    release = hold_decodes(model)
    generation = engine.submit(make_request(max_tokens=2))
    stopper = threading.Thread(target=engine.stop, args=(WAIT_S,))
    stopper.start()
    eventually(lambda: engine.state is EngineState.STOPPING)
    with pytest.raises(EngineStopped):
        engine.submit(make_request())
    release.set()
    stopper.join(WAIT_S)
    assert generation.result.finish is FinishReason.LENGTH


def test_stop_ends_what_outlives_the_deadline(engine, model):
    hold_decodes(model)
    running = engine.submit(make_request(40))
    eventually(lambda: model.runner.plans)
    engine.stop(0.05)
    assert isinstance(running.result.error, EngineStopped)
    assert engine.state is EngineState.STOPPED


def test_unexpected_error_is_named_where_it_is_reported(engine, model):
    model.runner.errors = [KeyError(7)]
    running = engine.submit(make_request())
    assert isinstance(running.wait(WAIT_S).error, EngineFailed)
    assert "unexpected KeyError: 7" in str(running.result.error)


def test_submitting_many_gives_up_when_the_engine_stops(engine, model):
    made = []
    stopper = threading.Thread(target=engine.stop, args=(WAIT_S,))

    def make_sampler(request):
        made.append(request)
        stopper.start()
        eventually(lambda: engine.state is not EngineState.READY)
        return FakeSampler(model.log)

    model.make_sampler = make_sampler
    with pytest.raises(EngineStopped):
        engine.submit_many([make_request(1), make_request(1)])
    stopper.join(WAIT_S)
    assert len(made) == 1
    assert model.log == ["sampler freed", "model freed"]


def test_stop_frees_samplers_before_the_model(engine, model):
    engine.submit(make_request(max_tokens=1)).wait(WAIT_S)
    engine.stop(1)
    engine.stop(1)
    assert model.log == ["sampler freed", "model freed"]


def test_stop_cancels_loading(make_engine, model):
    model.may_load.clear()
    engine = make_engine()
    eventually(lambda: engine.load_progress == 0.5)
    engine.stop(0)
    assert engine.state is EngineState.STOPPED
    assert model.log == []


def test_stop_before_start_is_enough():
    engine = Engine(EngineConfig("fake.gguf"), load=FakeModel().load)
    engine.stop()
    with pytest.raises((EngineStopped, ClosedError)):
        engine.submit(make_request())


def test_ignore_eos_forbids_every_end_token(engine):
    generation = engine.submit(make_request(max_tokens=1, ignore_eos=True))
    bias = generation.request.sampling.logit_bias
    assert bias == ((0, float("-inf")),)


def test_slots_and_metrics_answer_while_a_decode_hangs(engine, model):
    hold_decodes(model)
    engine.submit_many([make_request(2)] * 3)
    eventually(lambda: engine.metrics().requests_processing == 2)
    assert engine.metrics().requests_waiting == 1
    assert [slot.is_processing for slot in engine.slots()] == [True, True]


def test_refusal_says_to_come_back_when_the_queue_will_be_through(make_engine, model):
    engine = make_engine(n_parallel=1, queue_size=2)
    engine.wait_ready(WAIT_S)
    engine.submit(make_request(max_tokens=1)).wait(WAIT_S)
    assert 0 < engine.metrics().mean_slot_s < 1
    engine._meter.mean_slot_s = 7.0
    hold_decodes(model)
    engine.submit_many([make_request()] * 3)
    with pytest.raises(EngineOverloaded) as caught:
        engine.submit(make_request())
    assert caught.value.retry_after_s == 21.0
    assert engine.metrics().requests_refused == 1
    assert engine.retry_after_s(100, 1) == 60.0
    assert engine.retry_after_s(1, 100) == 1.0


def test_metrics_hold_a_queued_request_from_its_submission(engine, model):
    release = hold_decodes(model)
    generations = engine.submit_many([make_request(2, max_tokens=2)] * 3)
    eventually(lambda: engine.metrics().requests_processing == 2)
    assert engine.metrics().queue_s.count == 2
    release.set()
    assert all(generation.wait(WAIT_S) for generation in generations)
    eventually(lambda: engine.metrics().requests_finished == 3)
    seen = engine.metrics()
    assert seen.queue_s.count == seen.time_to_first_token_s.count == 3
    assert seen.inter_token_s.count == 3
    assert seen.request_s.sum >= seen.time_to_first_token_s.sum >= seen.queue_s.sum
