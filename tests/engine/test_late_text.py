"""Text that is read late is the text that is read token by token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llamactypes.engine.planning.plan import Sampled
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.request import FinishReason, TokenProbs
from tests.support.builders import PIECES, make_request, make_scheduler, step, taken

N_STREAMS = 20
"""More than go unspaced."""
BYTES = "a\n 歪🏋️é".encode()
END = PIECES.eog_tokens[0]


@dataclass
class Run:
    """A scheduler with many streams, and all that their readers got."""

    is_late: bool
    n_ctx_slot: int = 64
    n_kv: int | None = None

    def __post_init__(self) -> None:
        self.scheduler = make_scheduler(
            N_STREAMS, self.n_ctx_slot, 2048, n_kv=self.n_kv
        )
        self.log: list[Any] = []
        self.sequences = [self._submit(i) for i in range(N_STREAMS)]

    def _submit(self, i: int) -> Sequence:
        limit = 5 + i if i % 3 else -1
        request = make_request(2, first=100 + 10 * i, max_tokens=limit)
        sequence = Sequence(i, request)
        if not self.is_late:
            sequence.is_watched = True  # read after each token, as a stop would need
        self.scheduler.submit(sequence)
        return sequence

    def note(self, events: list[Any]) -> None:
        self.log += [
            (event.sequence.id, event.delta, event.result)
            for event in events
            if event is not None and (event.delta or event.result)
        ]

    def step(self, now: float, tokens: list[int]) -> None:
        scheduler = self.scheduler
        scheduler.admit()
        starts = [
            scheduler.start(admission, admission.n_cached, now)
            for admission in scheduler.begin()
        ]
        plan = scheduler.plan()
        wanting = [c.sequence for c in plan.chunks if c.wants_logits]
        chosen = [tokens[one.id % len(tokens)] for one in wanting]
        probs = {one.id: TokenProbs(7, b"x", -1.0, ()) for one in wanting if one.id % 2}
        self.note(starts)
        sampled = Sampled(wanting, chosen, probs)
        self.note([taken(one) for one in scheduler.apply(plan, sampled, now)])
        scheduler.check_integrity()

    def new_lines(self) -> list[bool]:
        return [state.has_new_line for state in self.scheduler.slot_states()]


def piece_token(draw: Any) -> int:
    if draw(st.integers(0, 60)) == 0:
        return END
    start = draw(st.integers(0, len(BYTES) - 1))
    return PIECES.token(BYTES[start : start + draw(st.integers(1, 4))])


@st.composite
def moves(draw: Any) -> list[Any]:
    """Steps with their time and tokens, cancels, and memory that runs out."""
    found: list[Any] = []
    for _ in range(draw(st.integers(1, 25))):
        kind = draw(st.sampled_from(("step",) * 8 + ("cancel", "room", "resync")))
        if kind == "step":
            tokens = [piece_token(draw) for _ in range(7)]
            found.append((kind, draw(st.sampled_from((1e-4, 1e-3, 0.02))), tokens))
        else:
            found.append((kind, draw(st.integers(0, N_STREAMS - 1)), None))
    return found


@given(moves(), st.booleans())
@settings(max_examples=40, deadline=None)
def test_late_text_gives_the_deltas_of_text_read_token_by_token(what, is_unified):
    n_kv = 600 if is_unified else None
    late, early = Run(True, n_kv=n_kv), Run(False, n_kv=n_kv)
    for run in (late, early):
        now = 1.0
        for kind, value, tokens in what:
            if kind == "step":
                now += value
                run.step(now, tokens)
            elif kind == "cancel":
                run.note([run.scheduler.cancel(run.sequences[value])])
            elif kind == "room" and run.scheduler.running:
                run.note([run.scheduler.make_room()[1]])
            elif kind == "resync" and run.scheduler.running:
                run.scheduler.resync(run.scheduler.running[0], value)
        run.seen = run.new_lines()
        for sequence in run.sequences:
            error = FinishReason.CANCELLED
            run.note([run.scheduler.end(sequence, error)])
    assert late.log == early.log
    assert late.seen == early.seen
    for sequence in late.sequences:
        sent = [delta for id, delta, _ in late.log if id == sequence.id and delta]
        tokens = [token for delta in sent for token in delta.tokens]
        assert len(tokens) == sequence.n_decoded


def test_slot_shows_a_new_line_that_nobody_has_read_yet():
    run = Run(True)
    run.step(1.0, [7])
    run.step(1.0 + 1e-5, [7])  # from here on all but a few must wait for their turn
    run.step(1.0 + 2e-5, [PIECES.token(b"x\ny")])
    unread = [s for s in run.sequences if not s.text.has_new_line]
    assert unread
    assert all(run.new_lines())


def test_text_is_not_read_before_it_is_due():
    run = Run(True)
    for number in range(4):
        run.step(1.0 + number * 1e-6, [7])
    held = [s for s in run.sequences if s.t_due > 1.001 - 1e-3]
    assert any("x" * 2 not in delta.text for _, delta, _ in run.log if delta)
    assert held


@pytest.mark.parametrize("stop", [(), ("xx",)])
def test_a_stop_ends_at_the_token_that_completes_it(stop):
    scheduler = make_scheduler(N_STREAMS, n_batch=512)
    sequences = [
        Sequence(i, make_request(2, first=100 + 10 * i, stop=stop))
        for i in range(N_STREAMS)
    ]
    for sequence in sequences:
        scheduler.submit(sequence)
    for number in range(4):
        if scheduler.has_work:
            step(scheduler, 1.0 + number * 1e-6)
    n_decoded = {sequence.n_decoded for sequence in sequences}
    assert n_decoded == ({2} if stop else {4})


# -- the plan that stays -------------------------------------------------------------


def steady_scheduler():
    scheduler = make_scheduler(n_slots=3, n_batch=64)
    sequences = [Sequence(i, make_request(3, first=100 * i + 100)) for i in (1, 2)]
    for sequence in sequences:
        scheduler.submit(sequence)
    step(scheduler)
    step(scheduler)
    return scheduler, sequences


def test_one_plan_serves_steps_in_which_nothing_changes():
    scheduler, sequences = steady_scheduler()
    plan = scheduler.plan()
    starts = [chunk.start for chunk in plan.chunks]
    step(scheduler)
    assert scheduler.plan() is plan
    assert [chunk.start for chunk in plan.chunks] == [start + 1 for start in starts]
    assert plan.generating == tuple(sequences)


@pytest.mark.parametrize("change", ["submit", "cancel", "make_room", "resync"])
def test_plan_is_made_anew_when_sequences_come_go_or_lose_tokens(change):
    scheduler, (first, second) = steady_scheduler()
    plan = scheduler.plan()
    match change:
        case "submit":
            scheduler.submit(Sequence(3, make_request(3, first=900)))
            assert step(scheduler)[0].n_tokens == 5
        case "cancel":
            scheduler.cancel(first)
            assert scheduler.plan().generating == (second,)
        case "make_room":
            scheduler.make_room()
            assert scheduler.plan().generating == (first,)
        case "resync":
            scheduler.resync(first, 2)
            assert [c.n_tokens for c in scheduler.plan().chunks] == [1, 3]
    assert scheduler.plan() is not plan
