"""The meter over a scheduler with invented times."""

from __future__ import annotations

import pytest

from llamactypes.engine.measures.metrics import Meter
from llamactypes.engine.planning.scheduler import Scheduler
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.request import FinishReason
from tests.support.builders import make_scheduler, make_sequence, sample_all


class Measured:
    """A scheduler whose steps a meter sees, at times a test chooses."""

    def __init__(self, **options) -> None:
        self.scheduler: Scheduler = make_scheduler(**options)
        self.meter = Meter()

    def submit(self, now: float, **options) -> Sequence:
        sequence = make_sequence(**options)
        sequence.t_submit = now
        self.scheduler.submit(sequence)
        return sequence

    def step(self, now: float, seconds: float = 1.0) -> None:
        for sequence in self.scheduler.admit():
            self.meter.count_admitted(sequence, now - seconds)
        for admission in self.scheduler.begin():
            self.scheduler.start(admission, admission.n_cached, now - seconds)
        plan = self.scheduler.plan()
        sampled = sample_all(plan)
        self.meter.count_gaps(plan, now)
        events = self.scheduler.apply(plan, sampled, now)
        self.meter.count(plan, len(sampled), seconds, now)
        for event in events:
            if event.result is not None:
                self.meter.count_result(event.sequence, now)


@pytest.fixture
def measured():
    return Measured()


def test_a_request_is_seen_from_its_submission_to_its_end(measured):
    measured.submit(10.0, max_tokens=3)
    for now in (12.0, 12.5, 13.5):
        measured.step(now, seconds=0.5)
    seen = measured.meter.snapshot()
    assert (seen.queue_s.count, seen.queue_s.sum) == (1, 1.5)
    first = seen.time_to_first_token_s
    assert (first.count, first.sum) == (1, 2.0)
    assert (seen.inter_token_s.count, seen.inter_token_s.sum) == (2, 1.5)
    assert (seen.request_s.count, seen.request_s.sum) == (1, 3.5)
    assert seen.prompt_rate.sum == 4 / 0.5
    assert seen.generation_rate.sum == pytest.approx(2 / 1.5)
    assert seen.generation_seconds == 1.5
    assert (seen.requests_finished, seen.tokens_generated) == (1, 3)


def test_gaps_of_all_sequences_in_a_step_are_counted(measured):
    measured.submit(0.0)
    measured.step(1.0)
    measured.submit(1.0)
    measured.step(2.0)
    measured.step(4.0)
    gaps = measured.meter.snapshot().inter_token_s
    assert (gaps.count, gaps.sum) == (3, 1.0 + 2.0 + 2.0)


def test_the_gap_of_a_preempted_sequence_lasts_until_it_is_computed_anew(measured):
    older = measured.submit(0.0, max_tokens=3)
    younger = measured.submit(0.0)
    measured.step(1.0)
    measured.scheduler.make_room()
    assert younger.slot is None
    measured.step(2.0)
    measured.step(3.0)
    assert older.result is not None
    measured.step(10.0)
    gaps = measured.meter.snapshot().inter_token_s
    assert (gaps.count, gaps.sum) == (3, 1.0 + 1.0 + 9.0)
    assert measured.meter.snapshot().time_to_first_token_s.count == 2


def test_a_cancelled_request_has_no_end_to_end_time(measured):
    sequence = measured.submit(0.0)
    measured.step(1.0)
    measured.scheduler.end(sequence, FinishReason.CANCELLED)
    measured.meter.count_result(sequence, 2.0)
    seen = measured.meter.snapshot()
    assert (seen.requests_cancelled, seen.requests_finished) == (1, 0)
    assert seen.request_s.count == seen.generation_rate.count == 0


def test_mean_slot_time_follows_what_requests_take_lately(measured):
    for _ in range(60):
        measured.submit(0.0, max_tokens=1)
        measured.step(1.0, seconds=0.25)
    assert measured.meter.snapshot().mean_slot_s == pytest.approx(0.25)
    for _ in range(60):
        measured.submit(0.0, max_tokens=1)
        measured.step(1.0, seconds=2.0)
    assert measured.meter.snapshot().mean_slot_s == pytest.approx(2.0, rel=0.01)


def test_a_prompt_that_is_only_computed_has_no_first_token(measured):
    measured.submit(0.0, max_tokens=0)
    measured.step(1.0)
    seen = measured.meter.snapshot()
    assert seen.time_to_first_token_s.count == seen.generation_rate.count == 0
    assert seen.requests_finished == 1
