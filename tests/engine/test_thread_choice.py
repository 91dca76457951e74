"""Where the thread counts of a context come from."""

from __future__ import annotations

import dataclasses
import json
import logging

import pytest

from llamactypes import cpus, thread_cache
from llamactypes.context import Context, ContextParams
from llamactypes.engine.config import EngineConfig
from llamactypes.engine.threads import choice as thread_choice
from llamactypes.engine.threads.choice import choose_threads, warn_of_too_many
from llamactypes.model import Model
from llamactypes.thread_cache import KnownThreads

KNOWN = KnownThreads(1, 3, step_s=100.0, chunk_s=200.0, others=0.0)
"""Slow enough for any machine to be as fast."""


class Load:
    """Others use what it is told."""

    span_s = 1.0

    def __init__(self, others: float | None = 0.0) -> None:
        self._others = others

    def others(self) -> float | None:
        return self._others


@pytest.fixture
def context(tiny_model_path):
    params = ContextParams(n_ctx=64, n_threads=1)
    with Model(tiny_model_path) as model, Context(model, params) as context:
        yield context


@pytest.fixture
def four_cpus(monkeypatch):
    monkeypatch.setattr(cpus, "cpu_limit", lambda: 4)
    monkeypatch.setattr(cpus, "usable_cpus", lambda: 4)
    monkeypatch.setattr(cpus, "physical_cores", lambda: 4)
    monkeypatch.setattr(cpus, "default_thread_count", lambda: 3)


@pytest.fixture
def trials(monkeypatch, four_cpus):
    """Replace the decodes by a table; return the counts that are tried."""
    times = {1: 0.4, 2: 0.2, 3: 0.15, 4: 0.1}
    asked: list[int] = []

    def decodes(context, n_tokens, n_decodes):
        def trial(count, limit_s):
            asked.append(count)
            seconds = times[count] * (0.001 if n_tokens == 1 else 0.002)
            return seconds if limit_s is None else min(seconds, limit_s)

        return trial

    monkeypatch.setattr(thread_choice, "decodes", decodes)
    return asked


def choose(context, load=None, **config):
    config = EngineConfig(context.model.path, **config)
    choice = choose_threads(context, config, load or Load())
    threads = context.n_threads, context.n_threads_batch
    assert threads == (choice.n_threads, choice.n_threads_batch)
    return choice


# -- asked -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "counts"),
    [
        ({"n_threads": 1}, (1, 1)),
        ({"n_threads": 2, "n_threads_batch": 1}, (2, 1)),
    ],
)
def test_what_was_asked_for_is_taken_unmeasured(context, trials, asked, counts):
    choice = choose(context, **asked)
    assert (choice.n_threads, choice.n_threads_batch) == counts
    assert (choice.source, choice.is_fixed) == ("asked", True)
    assert trials == []
    assert not thread_cache.cache_file().exists()


def test_threads_for_prompts_that_were_asked_for_stay(context, trials):
    choice = choose(context, n_threads_batch=2)
    assert (choice.n_threads, choice.n_threads_batch) == (4, 2)
    assert (choice.source, choice.is_batch_asked) == ("measured", True)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"n_threads": 5}, "--threads 5: more than the 4 CPU"),
        ({"n_threads": 2, "n_threads_batch": 9}, "--threads-batch 9: more"),
        (
            {"n_threads": 6, "n_threads_batch": 9},
            "--threads 6 and --threads-batch 9: more",
        ),
    ],
)
def test_more_threads_than_cpus_get_one_warning(caplog, four_cpus, asked, named):
    warn_of_too_many(EngineConfig("model.gguf", **asked))
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert named in record.getMessage()


def test_as_many_threads_as_cpus_get_no_warning(caplog, four_cpus):
    warn_of_too_many(EngineConfig("model.gguf", n_threads=4, n_threads_batch=4))
    warn_of_too_many(EngineConfig("model.gguf"))
    assert caplog.records == []


# -- measured --------------------------------------------------------------------------


def test_measured_threads_are_the_fastest_and_are_reported(context, trials, caplog):
    with caplog.at_level(logging.INFO, "llamactypes.engine"):
        choice = choose(context)
    assert (choice.n_threads, choice.n_threads_batch) == (4, 4)
    assert (choice.source, choice.is_loaded, choice.is_fixed) == (
        "measured",
        False,
        False,
    )
    assert (choice.step_s, choice.chunk_s) == pytest.approx((0.0001, 0.0002))
    [line] = [one.getMessage() for one in caplog.records]
    assert "4 for one token (1: 0.2, 2: 0.2, 3: 0.15, 4: 0.1 ms)" in line


def test_a_slow_model_takes_the_same_threads_for_prompts_untried(
    context, trials, monkeypatch
):
    monkeypatch.setattr(thread_choice, "_DEAR_S", 0.0001)
    choice = choose(context)
    assert (choice.n_threads, choice.n_threads_batch, choice.chunk_s) == (4, 4, 0.0)
    assert choose(context).source == "cached"


def test_counts_that_find_no_free_cpu_are_not_tried(context, trials):
    choice = choose(context, Load(1.8))
    assert set(trials) == {1, 2}
    assert (choice.n_threads, choice.is_loaded) == (2, True)


def test_a_quota_leaves_spare_cpus_for_others(context, trials, monkeypatch):
    monkeypatch.setattr(cpus, "usable_cpus", lambda: 16)
    choice = choose(context, Load(9.0))
    assert set(trials) == {1, 2, 3, 4}
    assert (choice.n_threads, choice.is_loaded) == (4, False)


def test_a_real_measurement_leaves_the_memory_empty(context, monkeypatch):
    monkeypatch.setattr(cpus, "cpu_limit", lambda: 1)
    choice = choose(context)
    assert (choice.n_threads, choice.source) == (1, "measured")
    assert choice.step_s > 0
    assert context.memory.seq_pos_max(0) == -1


def test_without_warm_up_nothing_is_measured(context, trials):
    choice = choose(context, warmup=False)
    assert (choice.n_threads, choice.source) == (3, "default")
    assert trials == []


def test_a_context_without_room_for_trials_gets_the_default(tiny_model_path, trials):
    params = ContextParams(n_ctx=64, n_batch=8, n_ubatch=8, n_threads=1)
    with Model(tiny_model_path) as model, Context(model, params) as context:
        assert choose(context).source == "default"


def test_deterministic_mode_does_not_depend_on_the_load(context, trials):
    choice = choose(context, Load(2.0), deterministic=True)
    assert (choice.n_threads, choice.source, choice.is_fixed) == (3, "default", True)


# -- cached ----------------------------------------------------------------------------


def key_of(context) -> str:
    key = thread_choice._key(context, EngineConfig(context.model.path))
    assert key is not None
    return key


def test_a_measurement_is_remembered(context, trials):
    choose(context)
    trials.clear()
    again = choose(context)
    assert (again.n_threads, again.source) == (4, "cached")
    assert len(trials) == 1


def test_a_known_choice_is_used_with_both_counts(context, four_cpus):
    thread_cache.remember(key_of(context), KNOWN)
    choice = choose(context)
    assert (choice.n_threads, choice.n_threads_batch) == (1, 3)
    assert (choice.source, choice.step_s, choice.chunk_s) == ("cached", 100.0, 200.0)


@pytest.mark.parametrize(
    ("known", "load"),
    [
        (KNOWN, Load(0.6)),
        (dataclasses.replace(KNOWN, others=1.0), Load(0.2)),
        (dataclasses.replace(KNOWN, n_threads=5), Load()),
        (dataclasses.replace(KNOWN, step_s=1e-9), Load()),
    ],
    ids=["more load", "less load", "fewer CPUs", "slower"],
)
def test_a_known_choice_is_measured_anew_when_things_differ(
    context, trials, known, load
):
    thread_cache.remember(key_of(context), known)
    assert choose(context, load).source == "measured"


@pytest.mark.parametrize("load", [Load(0.4), Load(None)])
def test_a_known_choice_is_used_under_about_the_same_load(context, four_cpus, load):
    thread_cache.remember(key_of(context), KNOWN)
    assert choose(context, load).source == "cached"


def test_a_known_choice_is_used_untried_without_warm_up(context, trials):
    thread_cache.remember(key_of(context), KNOWN)
    assert choose(context, warmup=False).source == "cached"
    assert trials == []


@pytest.mark.parametrize("change", [{"n_gpu_layers": 0}, {"type_k": "q8_0"}])
def test_other_settings_are_measured_by_themselves(context, trials, change):
    thread_cache.remember(key_of(context), KNOWN)
    assert choose(context, **change).source == "measured"


def test_the_cache_says_nothing_about_the_model(context, trials):
    choose(context)
    text = thread_cache.cache_file().read_text()
    assert context.model.path not in text
    assert json.loads(text)["version"] == 1
