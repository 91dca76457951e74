"""Which thread counts are tried, for how long, and which one is taken."""

from __future__ import annotations

import pytest

from llamactypes.batch import Batch
from llamactypes.context import Context, ContextParams
from llamactypes.engine.threads import trials as thread_trials
from llamactypes.engine.threads.trials import (
    candidates,
    chosen,
    decodes,
    measure,
    reachable,
)
from llamactypes.model import Model


class Machine:
    """Takes as long as it is told for each count, and cuts trials as the real one."""

    def __init__(self, times: dict[int, float]) -> None:
        self.times = times
        self.now = 0.0
        self.visits: list[int] = []
        self.disturbed: set[int] = set()
        """Numbers of visits that take a second more."""

    def trial(self, count: int, limit_s: float | None) -> float:
        seconds = self.times[count] + (len(self.visits) in self.disturbed)
        if limit_s is not None:
            seconds = min(seconds, limit_s)
        self.visits.append(count)
        self.now += seconds
        return seconds

    def measure(self, budget_s: float = 100.0) -> dict[int, float]:
        return measure(list(self.times), self.trial, budget_s, lambda: self.now)


@pytest.mark.parametrize(
    ("n_cpus", "n_cores", "first", "counts"),
    [
        (1, 1, 1, [1]),
        (2, 2, 1, [1, 2]),
        (8, 4, 3, [3, 8, 4, 2, 1]),
        (12, 6, 5, [5, 12, 8, 6, 4, 2, 1]),
        (2, 64, 1, [1, 2]),
    ],
)
def test_candidates_are_powers_of_two_and_the_ends(n_cpus, n_cores, first, counts):
    assert candidates(n_cpus, n_cores, first) == counts


def test_candidates_that_find_no_cpu_are_left_out():
    assert reachable([3, 8, 4, 2, 1], 3) == [3, 2, 1]
    assert reachable([1, 2], -1) == [1]


def test_measure_returns_the_median_of_each_count():
    assert Machine({1: 0.4, 2: 0.35}).measure() == {1: 0.4, 2: 0.35}


def test_rounds_alternate():
    machine = Machine({1: 0.4, 2: 0.35})
    machine.measure()
    assert machine.visits == [1, 2] * 4


@pytest.mark.parametrize("disturbed", range(8))
def test_one_disturbance_does_not_decide(disturbed):
    machine = Machine({1: 0.4, 2: 0.2})
    machine.disturbed = {disturbed}
    assert chosen(machine.measure(), n_cpus=2) == 2


def test_what_is_clearly_slower_is_tried_no_more_after_two_rounds():
    machine = Machine({3: 0.1, 8: 0.2, 4: 0.09, 1: 0.5})
    machine.measure()
    assert machine.visits.count(8) == machine.visits.count(1) == 2
    assert machine.visits.count(4) == machine.visits.count(3) == 4


def test_a_trapped_count_is_cut_short():
    machine = Machine({1: 0.02, 2: 2.0})
    assert machine.measure() == {1: 0.02, 2: 0.04}
    assert machine.now < 0.2


def test_two_counts_are_tried_and_no_more_begins_after_the_budget():
    machine = Machine({3: 1.0, 8: 0.9, 4: 0.9, 1: 3.0})
    assert machine.measure(0.5) == {3: 1.0, 8: 0.9}


@pytest.mark.parametrize(
    ("times", "count"),
    [
        ({1: 1.0, 2: 0.5}, 2),
        ({1: 1.0, 2: 0.9}, 1),
        ({1: 1.0, 2: 0.5, 4: 0.49, 8: 0.6}, 2),
        ({1: 1.0, 2: 0.5, 4: 0.46, 8: 0.6}, 4),
        ({7: 0.5, 8: 0.45}, 7),
        ({7: 0.5, 8: 0.42}, 8),
        ({1: 0.7}, 1),
    ],
)
def test_the_smallest_count_that_is_about_as_fast_is_chosen(times, count):
    n_cpus = max(2, *times) if 7 not in times else 8
    assert chosen(times, n_cpus) == count


# -- on a context ----------------------------------------------------------------------


@pytest.fixture
def context(tiny_model_path):
    params = ContextParams(n_ctx=64, n_threads=1)
    with Model(tiny_model_path) as model, Context(model, params) as context:
        yield context


def test_a_trial_takes_time_and_leaves_nothing_behind(context):
    assert decodes(context, 16, 2)(1, None) > 0
    assert context.memory.seq_pos_max(0) == -1
    with Batch(1) as batch:
        batch.add(1, 0, 0, True)
        context.decode(batch)
    assert context.logits(0).size


def test_a_trial_is_cut_short_and_leaves_nothing_behind(context):
    shortest_s = 0.01
    per_decode_s = decodes(context, 16, 100_000)(1, 1e-9)
    assert per_decode_s == pytest.approx(shortest_s / 100_000)
    assert context.memory.seq_pos_max(0) == -1
    assert decodes(context, 1, 1)(1, None) > 0


def test_a_long_decode_is_measured_once(context, monkeypatch):
    calls: list[int] = []

    def decode(context, batch):
        calls.append(batch.n_tokens_max)
        return 0.5

    monkeypatch.setattr(thread_trials, "_decode", decode)
    assert decodes(context, 16, 4)(1, None) == 0.5
    assert calls == [16]
