"""Noticing that decodes are many times slower, and moving between thread counts."""

from __future__ import annotations

import pytest

from llamactypes.engine.threads.watch import Slowness, StepUp, ThreadWatch, ladder

STEP_S = 0.01
"""A decode of one token with four threads and nobody else there."""


class Machine:
    """Feeds a watch with decodes; `slowdown` is what others do to each of them."""

    def __init__(self, *rungs: tuple[int, int], known: bool = True) -> None:
        rungs = rungs or ((4, 4), (2, 2), (1, 1))
        self.watch = ThreadWatch(rungs, rungs[0])
        if known:
            self.watch.know(1, 1, STEP_S)
            self.watch.know(16, 16, 8 * STEP_S)
        self.now = 0.0
        self.found: list[Slowness | StepUp] = []

    def step(self, seconds: float, n_tokens: int = 1, n_cells: int = 1) -> None:
        self.now += seconds
        found = self.watch.note(n_tokens, n_cells, seconds, self.now)
        if found is not None:
            self.found.append(found)

    def run(self, n: int, seconds: float = STEP_S, **shape: int) -> None:
        for _ in range(n):
            self.step(seconds, **shape)


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.mark.parametrize(
    ("top", "now", "keep_batch", "rungs"),
    [
        ((4, 4), (4, 4), False, [(4, 4), (2, 2), (1, 1)]),
        ((6, 3), (6, 3), False, [(6, 3), (3, 1), (1, 1)]),
        ((8, 8), (2, 4), False, [(8, 8), (4, 4), (2, 4), (1, 2), (1, 1)]),
        ((4, 1), (1, 1), False, [(4, 1), (2, 1), (1, 1)]),
        ((4, 5), (1, 5), True, [(4, 5), (2, 5), (1, 5)]),
        ((3, 5), (3, 5), True, [(3, 5), (1, 5)]),
        ((1, 1), (1, 1), False, [(1, 1)]),
    ],
)
def test_ladder_goes_down_by_halves(top, now, keep_batch, rungs):
    assert ladder(top, now, keep_batch=keep_batch) == rungs


# -- down ------------------------------------------------------------------------------


def test_threads_are_halved_when_decodes_are_many_times_slower(machine):
    machine.run(100)
    machine.run(15, 0.1)
    assert machine.found == [
        Slowness((4, 4), (2, 2), pytest.approx(0.1), pytest.approx(STEP_S))
    ]
    assert machine.watch.counts == (2, 2)


def test_threads_are_halved_to_one_and_not_further(machine):
    machine.run(200, 0.1)
    assert [one.to for one in machine.found] == [(2, 2), (1, 1)]
    assert machine.watch.counts == (1, 1)


def test_half_the_threads_may_take_twice_as_long(machine):
    machine.run(15, 0.1)
    machine.run(200, 2 * STEP_S * 1.9)
    assert len(machine.found) == 1


def test_decodes_of_seconds_need_only_three(machine):
    machine.run(3, 2.0)
    assert machine.watch.counts == (2, 2)


def test_short_bursts_among_fast_decodes_count_by_their_time(machine):
    for _ in range(40):
        machine.run(4, STEP_S)
        machine.run(1, 0.5)
    assert machine.watch.counts != (4, 4)


@pytest.mark.parametrize("seconds", [3.9 * STEP_S, STEP_S, STEP_S / 10])
def test_what_is_not_many_times_slower_changes_nothing(machine, seconds):
    machine.run(1000, seconds)
    assert machine.found == []


def test_a_machine_that_slept_changes_nothing(machine):
    for _ in range(5):
        machine.run(150)
        machine.step(3600.0)
    machine.run(150)
    assert machine.found == []


def test_a_disturbance_of_half_a_second_changes_nothing(machine):
    machine.run(100)
    machine.run(5, 0.1)
    machine.run(200)
    assert machine.found == []


def test_long_prompts_are_not_compared_with_single_tokens(machine):
    machine.run(50)
    machine.run(50, 256 * STEP_S, n_tokens=512, n_cells=512)
    machine.run(50)
    assert machine.found == []


def test_a_long_context_may_cost_in_proportion(machine):
    machine.run(50, n_cells=200)
    machine.run(200, 30 * STEP_S, n_cells=8000)
    assert machine.found == []


def test_slow_prompts_are_noticed_when_prompts_are_known(machine):
    machine.run(10, 2.0, n_tokens=128, n_cells=128)
    assert machine.found == []
    machine.run(4, 40.0, n_tokens=128, n_cells=128)
    assert machine.watch.counts == (2, 2)


def test_without_a_measurement_the_first_decodes_are_the_measure():
    machine = Machine(known=False)
    machine.run(50)
    assert machine.found == []
    machine.run(25, 0.1)
    assert machine.watch.counts == (2, 2)


def test_a_slow_beginning_does_not_spoil_the_measure():
    machine = Machine(known=False)
    machine.run(10, 0.1)
    machine.run(200)
    machine.run(30, 0.1)
    assert machine.watch.counts == (2, 2)


def test_a_fixed_count_is_reported_once_and_kept():
    machine = Machine((2, 2))
    machine.run(100, 0.1)
    assert machine.found == [
        Slowness((2, 2), (2, 2), pytest.approx(0.1), pytest.approx(STEP_S))
    ]


# -- up again --------------------------------------------------------------------------


@pytest.fixture
def lowered(machine) -> Machine:
    machine.run(15, 0.1)
    machine.found.clear()
    return machine


def test_no_trial_before_the_pause_is_over(lowered):
    assert not lowered.watch.may_rise(lowered.now + 29)
    assert lowered.watch.may_rise(lowered.now + 30)


def test_more_threads_stay_when_they_are_faster(lowered):
    lowered.run(2000, 2 * STEP_S)
    assert lowered.watch.rise() == StepUp((2, 2), (4, 4), is_trial=True)
    lowered.run(102, STEP_S)
    assert lowered.found == [StepUp((4, 4), (4, 4), is_trial=False)]
    assert not lowered.watch.may_rise(lowered.now + 1e6)


def test_more_threads_go_when_they_gain_nothing(lowered):
    lowered.run(2000, 2 * STEP_S)
    lowered.watch.rise()
    lowered.run(60, 2 * STEP_S)
    assert lowered.found == [StepUp((4, 4), (2, 2), is_trial=False)]
    assert lowered.watch.counts == (2, 2)


def test_a_trial_ends_at_its_first_slow_decode_and_the_pause_doubles(lowered):
    lowered.run(2000, 2 * STEP_S)
    lowered.watch.rise()
    lowered.step(2.0)
    assert lowered.watch.counts == (2, 2)
    assert not lowered.watch.may_rise(lowered.now + 59)
    assert lowered.watch.may_rise(lowered.now + 60)


def test_pauses_do_not_grow_without_end(lowered):
    for _ in range(20):
        lowered.run(60, 2 * STEP_S)
        lowered.now += 3600
        assert lowered.watch.may_rise(lowered.now)
        lowered.watch.rise()
        lowered.step(2.0)
