from __future__ import annotations

import os

import pytest

from benchmarks.load import (
    Reading,
    busy_ticks,
    family_ticks,
    foreign_share,
    process_ticks,
    read_load,
    read_process,
)

STAT = """cpu  30 0 30 300 30 0 0 0 0 0
cpu0 10 1 2 100 7 3 4 5 9 9
cpu1 20 0 0 100 7 0 0 0 0 0
cpu10 900 0 0 0 0 0 0 0 0 0
intr 1 2 3
"""


def reading(at: float, busy: float, own: float, n_cpus: int = 2) -> Reading:
    return Reading(at, busy, own, n_cpus)


def test_busy_is_all_but_idle_waiting_and_what_guests_counted_twice():
    assert busy_ticks(STAT, {0}) == 10 + 1 + 2 + 3 + 4 + 5


def test_busy_counts_only_the_cpus_of_this_process():
    assert busy_ticks(STAT, {0, 1}) == 25 + 20


def test_a_process_name_may_hold_parentheses_and_spaces():
    stat = "42 (a) (b c) S 7 1 1 0 -1 0 0 0 0 0 100 20 3 4 20 0 1 0"
    assert process_ticks(stat) == (42, 7, 127)


def test_a_family_is_a_process_and_all_below_it():
    processes = [(1, 0, 1000), (2, 1, 1), (3, 2, 2), (4, 3, 4), (5, 1, 500)]
    assert family_ticks(processes, 2) == 7


def test_the_share_is_what_others_used_of_all_cpus():
    share = foreign_share(reading(0, 10, 5), reading(10, 22, 12))
    assert share == pytest.approx((12 - 7) / 20)


def test_the_share_stays_between_nothing_and_everything():
    assert foreign_share(reading(0, 0, 0), reading(1, 1, 1.2)) == 0.0
    assert foreign_share(reading(0, 0, 0), reading(1, 9, 0)) == 1.0


@pytest.mark.parametrize("after", [None, reading(0.05, 1, 1)])
def test_the_share_is_unknown_without_two_readings_apart(after):
    assert foreign_share(reading(0, 0, 0), after) is None


def test_this_process_is_part_of_its_own_load():
    before = read_load()
    if before is None:
        pytest.skip("there is no /proc")
    spent = os.times()
    while (now := os.times()).user - spent.user + now.system - spent.system < 0.06:
        sum(range(10_000))
    after = read_load()
    assert read_process(os.getpid()) >= 0.06
    assert after.own - before.own >= 0.04


def test_a_process_that_is_not_there_has_no_cpu_time():
    assert read_process(0) is None
