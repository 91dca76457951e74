from __future__ import annotations

from types import SimpleNamespace

from llamactypes.engine.planning.pace import Pace
from tests.support.builders import make_scheduler, make_sequence, step


def test_prompts_beside_streams_get_what_fits_the_gap():
    pace = Pace(0.2)
    pace.note(4, 0, 0.05)
    for _ in range(20):
        pace.note(4, 100, 0.05 + 100 * 0.001)
    assert 140 <= pace.n_prompt_max <= 155


def test_limit_follows_a_machine_that_becomes_slow():
    pace = Pace(0.2)
    pace.note(0, 1000, 0.2)
    before = pace.n_prompt_max
    for _ in range(10):
        pace.note(0, 1000, 2.0)
    assert pace.n_prompt_max < before / 5


def test_limit_never_starves_a_prompt():
    pace = Pace(0.01)
    pace.note(4, 0, 0.5)
    pace.note(4, 100, 10.0)
    assert pace.n_prompt_max == 16


def test_a_slow_machine_gets_less_than_a_tile():
    pace = Pace(0.2)
    pace.note(4, 0, 0.05)
    pace.note(4, 65, 0.05 + 65 * 0.005)
    assert pace.n_prompt_max == 20
    for _ in range(9):
        pace.note(4, 20, 0.05 + 20 * 0.005)
    assert 28 <= pace.n_prompt_max <= 30


def test_a_whole_tile_is_taken_when_less_would_hardly_be_shorter():
    pace = Pace(0.2)
    for _ in range(9):
        pace.note(4, 0, 0.036)
        pace.note(4, 65, 0.036 + 0.350)  # as measured at depth 3,000
        pace.note(4, 16, 0.036 + 0.250)
    assert pace.n_prompt_max == 64


def test_a_short_step_is_tried_again_after_some_dozens():
    pace = Pace(0.2)
    for _ in range(9):
        pace.note(4, 65, 0.5)
        pace.note(4, 16, 0.4)
    tried = 0
    while pace.n_prompt_max >= 64 and tried < 200:
        pace.note(4, 65, 0.5)
        tried += 1
    assert 20 < tried < 100


def test_expensive_short_steps_do_not_call_for_shorter_ones():
    pace = Pace(0.2)
    pace.note(4, 0, 0.03)
    pace.note(4, 129, 0.03 + 129 * 0.0012)
    for _ in range(9):
        pace.note(4, 20, 0.03 + 20 * 0.010)
    assert pace.n_prompt_max >= 129


def test_gap_zero_is_no_limit():
    assert Pace(0.0).n_prompt_max is None


def test_plan_limits_prompts_only_while_others_generate():
    pace = SimpleNamespace(n_prompt_max=16)
    scheduler = make_scheduler(n_slots=2, n_ctx_slot=256, n_batch=128, pace=pace)
    first = make_sequence(100)
    scheduler.submit(first)
    scheduler.admit()
    for admission in scheduler.begin():
        scheduler.start(admission, 0, 1.0)
    assert scheduler.plan().n_tokens == 100
    step(scheduler)
    scheduler.submit(make_sequence(100, first=5000))
    scheduler.admit()
    for admission in scheduler.begin():
        scheduler.start(admission, 0, 1.0)
    assert [chunk.n_tokens for chunk in scheduler.plan().chunks] == [1, 16]
