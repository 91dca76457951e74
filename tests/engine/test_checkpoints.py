"""Where checkpoints are made and kept, and that a wrong one is never gone back to."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llamactypes.engine.config import EngineConfig
from llamactypes.engine.core import Core
from llamactypes.engine.generation import Generation
from llamactypes.engine.measures.metrics import Meter
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.prefixes.checkpoints import (
    Checkpoint,
    CheckpointPolicy,
    MemoryTraits,
    newest,
)
from tests.support.builders import make_request, make_scheduler, make_sequence, step
from tests.support.fake_memory import MemoryModel
from tests.support.fake_model import FakeSampler

RECURRENT = MemoryTraits(is_recurrent=True)
WINDOW = MemoryTraits(n_swa=24)
PLAIN = MemoryTraits()
POLICY = CheckpointPolicy(4, min_step=40, n_ubatch=16)


def at(*positions: int) -> tuple[Checkpoint, ...]:
    return tuple(Checkpoint(position, b"x") for position in positions)


def positions(checkpoints) -> list[int]:
    return [one.n_tokens for one in checkpoints]


def test_prompt_pauses_before_its_end_and_a_physical_batch_earlier():
    assert POLICY.cuts(100) == [80, 96]


def test_short_prompt_has_no_checkpoint():
    assert POLICY.cuts(35) == [0, 0]


def test_newest_checkpoint_is_the_last_one_not_beyond():
    assert newest(at(40, 80, 120), 119).n_tokens == 80
    assert newest(at(40, 80, 120), 39) is None


def test_checkpoint_nearest_to_the_one_before_goes_when_there_are_too_many():
    kept = POLICY.added(at(40, 80, 90, 130), Checkpoint(200, b""))
    assert positions(kept) == [40, 80, 130, 200]


def test_new_checkpoint_replaces_those_that_lie_after_it():
    assert positions(POLICY.added(at(40, 80, 120), Checkpoint(80, b""))) == [40, 80]


def test_window_goes_back_while_nothing_has_left_it():
    assert WINDOW.n_reusable(10, 24, ()) == 10
    assert WINDOW.n_reusable(10, 25, ()) == 0
    assert WINDOW.n_reusable(25, 25, ()) == 25


def test_memory_with_cells_for_all_goes_back_anywhere():
    assert PLAIN.n_reusable(10, 500, ()) == 10
    assert MemoryTraits(n_swa=24, is_swa_full=True).n_reusable(10, 500, ()) == 10


@pytest.mark.parametrize("traits", [RECURRENT, WINDOW])
def test_plans_end_where_a_checkpoint_is_due(traits):
    scheduler = make_scheduler(
        n_ctx_slot=256, n_batch=64, memory=traits, checkpoints=POLICY
    )
    scheduler.submit(make_sequence(150))
    ends, due = [], []
    for _ in range(5):
        plan, _ = step(scheduler)
        ends += [chunk.start + chunk.n_tokens for chunk in plan.chunks]
        for sequence in scheduler.due_checkpoints(plan):
            scheduler.add_checkpoint(sequence, b"")
            due.append(sequence.n_computed)
    assert ends == [64, 128, 130, 146, 150]
    assert due == [64, 128, 130, 146]


def test_ordinary_memory_is_never_cut_for_checkpoints():
    scheduler = make_scheduler(n_ctx_slot=256, n_batch=256, checkpoints=POLICY)
    scheduler.submit(make_sequence(150))
    plan, _ = step(scheduler)
    assert plan.n_tokens == 150
    assert scheduler.due_checkpoints(plan) == []


def test_prompt_pauses_where_another_waits_for_its_beginning():
    scheduler = make_scheduler(
        n_ctx_slot=256, n_batch=256, memory=RECURRENT, checkpoints=CheckpointPolicy()
    )
    first = make_sequence(100)
    scheduler.submit(first)
    scheduler.submit(make_sequence(tokens=(*range(100, 160), 7, 8, 9)))
    plan, _ = step(scheduler)
    assert [chunk.n_tokens for chunk in plan.chunks] == [60]
    (admission,) = scheduler.begin()
    assert (admission.n_cached, admission.n_sure) == (60, 60)


def test_shifted_sequence_has_no_checkpoints():
    scheduler = make_scheduler(
        n_ctx_slot=64,
        n_batch=64,
        context_shift=True,
        memory=RECURRENT,
        checkpoints=POLICY,
    )
    sequence = make_sequence(50, max_tokens=100)
    scheduler.submit(sequence)
    step(scheduler)
    scheduler.add_checkpoint(sequence, b"")
    while not sequence.truncated:
        step(scheduler)
    assert sequence.checkpoints == ()


class Driver:
    """A core over a memory that checks every token, driven move by move."""

    def __init__(self, traits: MemoryTraits, *, unified: bool, n_checkpoints: int):
        n_cells = 320 if unified else None
        model = MemoryModel(traits, n_ctx_slot=320, n_cells=n_cells)
        config = EngineConfig(
            "fake",
            n_parallel=3,
            kv_unified=unified,
            n_ubatch=16,
            n_ctx_checkpoints=n_checkpoints,
            checkpoint_min_step=40,
        )
        loaded = model.load(config, lambda part: True)
        self.model = model
        self.ended = 0
        self.core = Core(config, loaded, Meter(), self._on_end)
        self.generations: list[Generation] = []

    def _on_end(self) -> None:
        self.ended += 1

    def submit(self, tokens: list[int], n_answer: int, n_cache_reuse: int = 0) -> None:
        request = make_request(
            tokens=tuple(tokens), max_tokens=n_answer, n_cache_reuse=n_cache_reuse
        )
        number = len(self.generations)
        generation = Generation(number, request, lambda one: None)
        self.generations.append(generation)
        self.core.add(Sequence(number, request), generation, FakeSampler([]))

    def step(self) -> None:
        if self.core.has_work:
            self.core.step()
            self.core.scheduler.check_integrity()

    def finish(self) -> None:
        for _ in range(5000):
            if not self.core.has_work:
                break
            self.core.step()
        self.core.rest()


def prompt(parts: list[int]) -> list[int]:
    """Return a prompt of pieces, so that prompts often begin alike."""
    return [1000 * part + i for part in parts for i in range(18)]


@settings(max_examples=80, deadline=None)
@given(
    traits=st.sampled_from([PLAIN, RECURRENT, WINDOW]),
    unified=st.booleans(),
    n_cache_reuse=st.sampled_from([0, 9]),
    n_checkpoints=st.sampled_from([0, 2, 8]),
    moves=st.lists(
        st.one_of(
            st.tuples(
                st.just("submit"),
                st.lists(st.integers(1, 2), min_size=1, max_size=7),
                st.integers(0, 40),
            ),
            st.tuples(st.just("step"), st.integers(1, 12), st.none()),
            st.tuples(st.just("cancel"), st.integers(0, 9), st.none()),
            st.tuples(st.just("abort"), st.none(), st.none()),
        ),
        max_size=40,
    ),
)
def test_no_memory_is_ever_continued_from_the_wrong_past(
    traits, unified, n_cache_reuse, n_checkpoints, moves
):
    driver = Driver(traits, unified=unified, n_checkpoints=n_checkpoints)
    for move, value, n_answer in moves:
        if move == "submit":
            driver.submit(prompt(value), n_answer, n_cache_reuse)
        elif move == "step":
            for _ in range(value):
                driver.step()
        elif move == "cancel" and driver.generations:
            driver.core.cancel(driver.generations[value % len(driver.generations)])
        elif move == "abort":
            driver.model.runner.abort_next = True
    driver.finish()
    assert driver.ended == len(driver.generations)
    for generation in driver.generations:
        result = generation.result
        if result.finish.value == "limit":
            n_known = result.n_cached + result.timings.prompt_n
            assert n_known == result.n_prompt


@pytest.mark.parametrize("traits", [RECURRENT, WINDOW])
def test_checkpoints_save_computation(traits):
    computed = []
    for n_checkpoints in (0, 8):
        driver = Driver(traits, unified=False, n_checkpoints=n_checkpoints)
        for last in (3, 4, 5, 6):
            driver.submit(prompt([1, 2, 1, 2, 1, last]), 4)
            driver.finish()
        computed.append(driver.model.runner.n_computed_total)
    assert computed[1] < computed[0] * 0.75
