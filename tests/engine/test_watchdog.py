"""An engine thread that is lost: in a step that never returns, or by dying."""

from __future__ import annotations

import logging
import threading

import pytest

from llamactypes.engine import EmbeddingRequest, Engine, EngineConfig, EngineState
from llamactypes.engine.watchdog import Watchdog
from llamactypes.errors import EngineFailed
from tests.support.builders import make_request
from tests.support.fake_embedder import FakeEmbedder
from tests.support.fake_model import FakeModel
from tests.support.waiting import eventually

WAIT_S = 5.0


class Stuck:
    """A decode that no interrupt ends, until the test lets it go."""

    def __init__(self, model: FakeModel) -> None:
        self.is_inside = threading.Event()
        self.release = threading.Event()
        model.runner.before_run = self._hold

    def _hold(self) -> None:
        self.is_inside.set()
        assert self.release.wait(20)


@pytest.fixture
def model():
    return FakeModel()


@pytest.fixture
def stuck(model):
    return Stuck(model)


@pytest.fixture
def engine(model, stuck):
    config = EngineConfig("fake.gguf", n_parallel=2, watchdog_s=0.2)
    engine = Engine(config, load=model.load)
    engine.start()
    engine.wait_ready(WAIT_S)
    yield engine
    stuck.release.set()
    assert engine.stop(0)


def test_a_decode_that_never_returns_fails_everybody(engine, stuck, caplog):
    generations = engine.submit_many([make_request(2), make_request(2)])
    waiting = engine.submit(make_request(3))
    assert stuck.is_inside.wait(WAIT_S)
    later = engine.submit(make_request(4))  # still in the mailbox
    for each in (*generations, waiting, later):
        result = each.wait(WAIT_S)
        assert isinstance(result.error, EngineFailed)
    assert engine.state is EngineState.FAILED
    assert "--watchdog-seconds" in caplog.text
    with pytest.raises(EngineFailed):
        engine.submit(make_request())


def test_stop_gives_up_on_a_stuck_thread(engine, stuck):
    engine.submit(make_request(2))
    eventually(lambda: engine.state is EngineState.FAILED)
    assert engine.stop(0) is False


def test_stop_tells_the_readers_of_a_stuck_thread_without_a_watchdog(model, stuck):
    engine = Engine(EngineConfig("fake.gguf", n_parallel=2), load=model.load)
    engine.start()
    engine.wait_ready(WAIT_S)
    generation = engine.submit(make_request(2))
    assert stuck.is_inside.wait(WAIT_S)
    assert engine.stop(0, 0.2) is False
    assert isinstance(generation.result.error, EngineFailed)
    stuck.release.set()
    assert engine.stop(0) is True


def test_a_thread_that_comes_back_after_all_frees_everything(engine, model, stuck):
    generation = engine.submit(make_request(2))
    eventually(lambda: engine.state is EngineState.FAILED)
    stuck.release.set()
    assert engine.stop(1) is True
    assert model.log == ["sampler freed", "model freed"]
    assert isinstance(generation.result.error, EngineFailed)
    assert engine.state is EngineState.FAILED


def test_work_that_is_merely_long_does_not_trip_it(model):
    config = EngineConfig("fake.gguf", n_parallel=2, watchdog_s=0.4)
    model.runner.before_run = lambda: threading.Event().wait(0.05)
    engine = Engine(config, load=model.load)
    engine.start()
    engine.wait_ready(WAIT_S)
    result = engine.submit(make_request(2, max_tokens=12)).wait(WAIT_S)
    assert result.error is None  # in twelve steps longer than the limit, each short
    assert engine.state is EngineState.READY
    assert engine.stop(1)


def test_embeddings_fail_as_well():
    model = FakeModel()
    model.embedder = FakeEmbedder()
    may_return = threading.Event()
    config = EngineConfig("fake.gguf", embeddings=True, watchdog_s=0.2)
    engine = Engine(config, load=model.load)
    engine.start()
    engine.wait_ready(WAIT_S)
    core = engine._core
    core.step = lambda: may_return.wait(20)
    job = engine.embed(EmbeddingRequest(((97, 98),)))
    assert isinstance(job.wait(WAIT_S).error, EngineFailed)
    may_return.set()
    assert engine.stop(1)


class Murder(BaseException):
    """Not an Exception, as what native extensions may raise."""


def test_a_thread_that_dies_fails_every_generation(engine, model, stuck, caplog):
    generations = engine.submit_many([make_request(2), make_request(2)])
    assert stuck.is_inside.wait(WAIT_S)
    model.runner.errors = [Murder("gone")]
    stuck.release.set()
    for each in generations:
        assert isinstance(each.wait(WAIT_S).error, EngineFailed)
    eventually(lambda: engine.state is EngineState.FAILED)
    assert "the engine failed" in caplog.text


def test_broken_books_at_the_end_leave_no_reader_behind(engine, model, stuck):
    generation = engine.submit(make_request(2))
    assert stuck.is_inside.wait(WAIT_S)
    engine._core.end_all = _fail
    model.runner.errors = [RuntimeError("gone")]
    stuck.release.set()
    assert isinstance(generation.wait(WAIT_S).error, EngineFailed)


def _fail(error):
    raise KeyError("a slot that is not there")


def test_a_watchdog_without_a_limit_has_no_thread():
    before = threading.active_count()
    watchdog = Watchdog(0.0, logging.error)
    watchdog.start()
    watchdog.begin()
    assert threading.active_count() == before
