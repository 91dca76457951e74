"""A context's threads follow the watch, with one line in the log for each change."""

from __future__ import annotations

import dataclasses
import logging
from types import SimpleNamespace

import pytest

from llamactypes.batch import Batch
from llamactypes.context import Context, ContextParams
from llamactypes.engine import Engine, GenerationRequest
from llamactypes.engine.compute.loader import load_model
from llamactypes.engine.config import EngineConfig
from llamactypes.engine.planning.plan import Plan
from llamactypes.engine.threads import keeper as thread_keeper
from llamactypes.engine.threads.choice import ThreadChoice
from llamactypes.engine.threads.keeper import ThreadKeeper
from llamactypes.model import Model
from llamactypes.sampling_params import SamplingParams

MEASURED = ThreadChoice(4, 4, "measured", step_s=0.01, chunk_s=0.1)
PLAN = Plan((SimpleNamespace(n_computed=9),))  # type: ignore[arg-type]


class Load:
    def __init__(self) -> None:
        self.span_s = 10.0
        self.now: float | None = 0.0

    def others(self) -> float | None:
        return self.now

    def restart(self) -> None:
        pass


class FakeContext:
    """Threads without a library."""

    params = SimpleNamespace(kv_unified=False)

    def __init__(self) -> None:
        self.n_threads, self.n_threads_batch = 4, 4

    def set_threads(self, n: int, n_batch: int) -> None:
        self.n_threads, self.n_threads_batch = n, n_batch


class Kept:
    """A keeper over a fake context, with a clock that decodes move on."""

    def __init__(self, monkeypatch, choice: ThreadChoice = MEASURED) -> None:
        self.now = 0.0
        self.changes = 0
        self.load = Load()
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr(thread_keeper, "time", clock)
        monkeypatch.setattr(thread_keeper.cpus, "usable_cpus", lambda: 4)
        monkeypatch.setattr(thread_keeper.cpus, "cpu_limit", lambda: 4)
        self.context = FakeContext()
        self.context.set_threads(choice.n_threads, choice.n_threads_batch)
        self.keeper = ThreadKeeper(self.context, choice, self.load)  # type: ignore[arg-type]
        self.keeper.on_change = self._count

    def _count(self) -> None:
        self.changes += 1

    def decode(self, n: int, seconds: float) -> None:
        for _ in range(n):
            self.now += seconds
            self.keeper.note(PLAN, seconds)


def test_slow_decodes_lower_the_threads_with_one_line(monkeypatch, caplog):
    kept = Kept(monkeypatch)
    kept.decode(100, 0.01)
    kept.decode(15, 0.123)
    assert kept.keeper.counts == (2, 2)
    assert (kept.changes, kept.keeper.source) == (1, "adapted")
    [line] = [one.getMessage() for one in caplog.records]
    for part in ("take 123 ms", "12 times the 10 ms", "with 4 thread(s)", "now 2 thr"):
        assert part in line


def test_threads_come_back_when_cpus_are_free(monkeypatch, caplog):
    kept = Kept(monkeypatch)
    kept.decode(15, 0.123)
    caplog.clear()
    with caplog.at_level(logging.INFO, "llamactypes.engine"):
        kept.load.now = 1.0
        kept.decode(3000, 0.02)
        assert kept.keeper.counts == (2, 2)
        kept.load.now = 0.1
        kept.decode(120, 0.01)
    assert kept.keeper.counts == (4, 4)
    assert ["free again" in one.getMessage() for one in caplog.records] == [True]


def test_threads_stay_low_where_the_load_is_unknown(monkeypatch):
    kept = Kept(monkeypatch)
    kept.decode(15, 0.123)
    kept.load.now = None
    kept.decode(10_000, 0.02)
    assert kept.keeper.counts == (2, 2)


def test_threads_that_were_asked_for_stay_and_are_warned_of_once(monkeypatch, caplog):
    kept = Kept(monkeypatch, ThreadChoice(4, 4, "asked", is_fixed=True))
    kept.decode(200, 0.01)
    kept.decode(200, 0.2)
    assert (kept.keeper.counts, kept.changes) == ((4, 4), 0)
    [line] = [one.getMessage() for one in caplog.records]
    assert "20 times" in line
    assert "--threads auto" in line


def test_threads_asked_for_prompts_stay_when_the_others_change(monkeypatch):
    choice = ThreadChoice(4, 4, "measured", 0.01, is_batch_asked=True)
    kept = Kept(monkeypatch, choice)
    kept.decode(15, 0.123)
    assert kept.keeper.counts == (2, 4)


def test_a_choice_under_load_grows_step_by_step_later(monkeypatch):
    choice = ThreadChoice(1, 1, "measured", 0.03, 0.3, is_loaded=True)
    kept = Kept(monkeypatch, choice)
    kept.decode(990, 0.03)
    assert kept.keeper.counts == (1, 1)
    kept.decode(12, 0.03)
    assert kept.keeper.counts == (2, 2)
    kept.decode(1800, 0.015)
    assert kept.keeper.counts == (2, 2)
    kept.decode(300, 0.015)
    assert kept.keeper.counts == (4, 4)
    kept.decode(3000, 0.01)
    assert (kept.keeper.counts, kept.changes) == ((4, 4), 2)


@pytest.mark.parametrize(
    "choice",
    [ThreadChoice(1, 1, "asked", is_fixed=True), ThreadChoice(1, 1, "measured", 0.1)],
)
def test_one_thread_is_not_watched(monkeypatch, choice):
    assert not Kept(monkeypatch, choice).keeper.is_watching


# -- with a library --------------------------------------------------------------------


@pytest.mark.parametrize(("is_unified", "cells"), [(True, 5 + 2), (False, 5)])
def test_cells_of_all_slots_count_in_one_buffer(tiny_model_path, is_unified, cells):
    params = ContextParams(n_ctx=64, n_seq_max=2, n_threads=1, kv_unified=is_unified)
    with Model(tiny_model_path) as model, Context(model, params) as context:
        with Batch(8) as batch:
            batch.extend([1] * 5, 0, 0, last_logits=True)
            batch.extend([1] * 2, 0, 1, last_logits=True)
            context.decode(batch)
        keeper = ThreadKeeper(context, MEASURED, Load())  # type: ignore[arg-type]
        plan = Plan((SimpleNamespace(n_computed=4),))  # type: ignore[arg-type]
        assert keeper._n_cells(plan) == cells


def test_model_and_sampling_threads_follow_a_change(tiny_model_path, monkeypatch):
    monkeypatch.setattr("llamactypes.engine.compute.runner.usable_cpus", lambda: 4)
    path = str(tiny_model_path)
    config = EngineConfig(path, n_ctx=64, n_threads=3, warmup=False)
    loaded = load_model(config, lambda part: True)
    try:
        assert (loaded.info.n_threads, loaded.info.threads_source) == (3, "asked")
        assert loaded.runner.sampling.n_helpers == 1
        loaded._context.set_threads(1, 2)
        loaded._keeper.source = "adapted"
        loaded._keeper.on_change()
        info = loaded.info
        assert (info.n_threads, info.n_threads_batch) == (1, 2)
        assert info.threads_source == "adapted"
        assert loaded.runner.sampling.n_helpers == 2
    finally:
        loaded.close()


class Noted:
    """In a keeper's place: the decodes it would be told of."""

    def __init__(self) -> None:
        self.decodes: list[tuple[int, float]] = []

    def note(self, plan: Plan, seconds: float) -> None:
        self.decodes.append((plan.n_tokens, seconds))


def test_the_engine_tells_of_each_decode_and_of_changed_threads(tiny_model_path):
    engine = Engine(EngineConfig(str(tiny_model_path), n_ctx=64, n_threads=1))
    engine.start()
    try:
        engine.wait_ready(60)
        loaded, noted = engine._loaded, Noted()
        loaded.runner.use_threads(1, noted)
        greedy = SamplingParams(temperature=0.0)
        engine.submit(
            GenerationRequest((1,) * 9, sampling=greedy, max_tokens=4, ignore_eos=True)
        ).wait(60)
        assert [n for n, _ in noted.decodes] == [9, 1, 1, 1]
        assert all(seconds > 0 for _, seconds in noted.decodes)
        loaded.info = dataclasses.replace(loaded.info, n_threads=7)
        assert engine.info.n_threads == 7
    finally:
        engine.stop(0)
