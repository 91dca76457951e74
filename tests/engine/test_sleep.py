"""An idle engine gives its model back, and loads it when somebody needs it."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from llamactypes.engine import Engine, EngineConfig, EngineState, FinishReason
from llamactypes.engine.slot_orders import save_slot
from llamactypes.errors import (
    ClosedError,
    EngineAsleep,
    EngineFailed,
    EngineStopped,
    ModelLoadError,
)
from tests.engine.test_engine_models import ask, run
from tests.engine.test_engine_threads import hold_decodes
from tests.support.builders import make_request
from tests.support.fake_model import FakeModel
from tests.support.waiting import eventually

WAIT_S = 10.0
SOON_S = 0.02


@pytest.fixture
def model():
    return FakeModel()


@pytest.fixture
def engine(model):
    config = EngineConfig("fake.gguf", n_parallel=2, sleep_idle_s=SOON_S)
    engine = Engine(config, load=model.load)
    engine.start()
    engine.wait_ready(WAIT_S)
    yield engine
    model.may_load.set()
    model.load_error = None
    engine.stop(0)


def sleeping(engine: Engine) -> None:
    eventually(lambda: engine.state is EngineState.SLEEPING, WAIT_S)
    eventually(lambda: engine._loaded is None, WAIT_S)


def answer(engine: Engine) -> str:
    generation = engine.submit(make_request(tokens=(97,), max_tokens=2))
    result = generation.wait(WAIT_S)
    assert result is not None
    assert result.error is None
    return generation.text


def test_an_idle_engine_frees_its_model_and_loads_it_for_the_next_request(
    engine, model
):
    assert answer(engine) == "bc"
    sleeping(engine)
    assert model.log[-1] == "model freed"
    assert answer(engine) == "bc"
    assert model.n_loads == 2


def test_an_engine_that_was_not_told_to_never_sleeps(model):
    engine = Engine(EngineConfig("x"), load=model.load)
    engine.start()
    engine.wait_ready(WAIT_S)
    assert engine._sleep.left_s is None
    engine.stop(0)


def test_loading_is_no_idle_time(model):
    engine = Engine(EngineConfig("x", sleep_idle_s=60), load=model.load)
    engine._sleep._idle_since -= 100  # so long it took
    engine.start()
    engine.wait_ready(WAIT_S)
    assert engine._sleep.left_s > 50
    assert engine.state is EngineState.READY
    engine.stop(0)


def test_facts_and_counts_are_there_without_waking(engine):
    answer(engine)
    before = engine.metrics()
    sleeping(engine)
    assert engine.info.n_slots == 2
    assert [slot.is_processing for slot in engine.slots()] == [False, False]
    assert engine.slots()[0].n_ctx == 64
    assert engine.metrics() == before
    assert engine.adapters == []
    engine.set_adapters({})
    assert engine.state is EngineState.SLEEPING
    answer(engine)
    assert engine.metrics().requests_finished == before.requests_finished + 1


def test_whoever_is_inside_keeps_it_awake(engine, model):
    with engine.awake():
        stays_awake(engine)
        assert engine.vocab.tokenize("a") == [97]
    sleeping(engine)


def stays_awake(engine: Engine) -> None:
    with pytest.raises(AssertionError, match="still not true"):
        eventually(lambda: engine.state is EngineState.SLEEPING, 10 * SOON_S)


def test_a_running_request_keeps_it_awake(engine, model):
    release = hold_decodes(model)
    generation = engine.submit(make_request(max_tokens=1))
    stays_awake(engine)
    release.set()
    assert generation.wait(WAIT_S) is not None
    sleeping(engine)


def test_requests_that_come_while_it_loads_are_all_answered(engine, model):
    sleeping(engine)
    model.may_load.clear()
    with ThreadPoolExecutor(20) as pool:
        answers = [pool.submit(answer, engine) for _ in range(20)]
        eventually(lambda: engine._sleep._n_inside == 20, WAIT_S)
        assert not any(each.done() for each in answers)
        assert engine.state is EngineState.SLEEPING
        model.may_load.set()
        assert [each.result(WAIT_S) for each in answers] == ["bc"] * 20
    assert model.log.count("model freed") == 1


def test_orders_for_slots_wake_it(engine):
    sleeping(engine)
    order = save_slot(0)
    engine.order(order)
    assert order.done.result(WAIT_S).tokens == []


def test_requests_are_never_lost_between_sleeping_and_waking(engine):
    def ask_often(_: int) -> int:
        pause = threading.Event()
        for i in range(20):
            assert answer(engine) == "bc"
            pause.wait(SOON_S * (0.9 + i % 3 * 0.1))
        return 20

    with ThreadPoolExecutor(3) as pool:
        assert sum(pool.map(ask_often, range(3))) == 60
    assert engine.metrics().requests_finished == 60


def test_a_model_that_cannot_be_loaded_again_is_tried_at_the_next_request(
    engine, model
):
    sleeping(engine)
    model.load_error = ModelLoadError("no memory")
    for _ in range(2):
        with pytest.raises(EngineAsleep, match="no memory"):
            engine.submit(make_request())
    assert engine.state is EngineState.SLEEPING
    model.load_error = None
    assert answer(engine) == "bc"


def test_a_bug_while_loading_again_ends_the_engine(engine, model):
    sleeping(engine)
    model.load_error = RuntimeError("bug")
    with pytest.raises(EngineFailed, match="bug"):
        engine.submit(make_request())
    assert engine.state is EngineState.FAILED


def test_stop_ends_a_sleeping_engine(engine):
    sleeping(engine)
    engine.stop(WAIT_S)
    assert engine.state is EngineState.STOPPED
    with pytest.raises(EngineStopped):
        engine.submit(make_request())


def test_stop_while_it_loads_again_answers_those_who_wait(engine, model):
    sleeping(engine)
    model.may_load.clear()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(engine.submit, make_request())
        eventually(lambda: engine._sleep._n_inside == 1, WAIT_S)
        engine.stop(WAIT_S)
        with pytest.raises(EngineStopped):
            waiting.result(WAIT_S)
    assert engine.state is EngineState.STOPPED


def test_a_real_model_writes_the_same_after_its_sleep(
    tiny_model_path, tiny_lora_path, tmp_path
):
    path = shutil.copy(tiny_model_path, tmp_path)
    config = EngineConfig(
        path,
        n_ctx=512,
        n_threads=1,
        sleep_idle_s=SOON_S,
        lora=((str(tiny_lora_path), 0.0),),
    )
    engine = Engine(config)
    engine.start()
    engine.wait_ready(WAIT_S)
    engine.set_adapters({0: 4.0})
    try:
        with engine.awake():
            request = ask(engine)
            vocab = engine.vocab
        first, _ = run(engine, request)
        sleeping(engine)
        assert not _is_mapped(path)
        with pytest.raises(ClosedError):
            vocab.tokenize("a")
        again, result = run(engine, request)
        assert first.tokens == again.tokens
        assert result.finish is FinishReason.LENGTH
        assert result.n_cached == 0
    finally:
        engine.stop(0)


def _is_mapped(path: str) -> bool:
    return path in Path("/proc/self/maps").read_text()
