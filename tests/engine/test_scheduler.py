from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llamactypes.engine.planning.sequence import SequenceState
from llamactypes.engine.request import FinishReason
from llamactypes.errors import KVCacheFull
from tests.support.builders import (
    PIECES,
    make_scheduler,
    make_sequence,
    sample_all,
    step,
)


def sizes(plan):
    return [chunk.n_tokens for chunk in plan.chunks]


def test_plan_schedules_running_sequences_before_prompts():
    scheduler = make_scheduler(n_batch=8)
    scheduler.submit(make_sequence(4))
    step(scheduler)
    scheduler.submit(make_sequence(20, first=500))
    plan, _ = step(scheduler)
    assert sizes(plan) == [1, 7]
    assert plan.n_generating == 1


def test_plan_fills_a_batch_with_prompts_in_arrival_order():
    scheduler = make_scheduler(n_batch=8)
    first, second = make_sequence(5), make_sequence(9, first=500)
    scheduler.submit(first)
    scheduler.submit(second)
    plan, _ = step(scheduler)
    assert [chunk.sequence for chunk in plan.chunks] == [first, second]
    assert sizes(plan) == [5, 3]


def test_plan_asks_for_logits_only_at_the_end_of_a_prompt():
    scheduler = make_scheduler(n_batch=8)
    scheduler.submit(make_sequence(12))
    assert [c.wants_logits for c in step(scheduler)[0].chunks] == [False]
    assert [c.wants_logits for c in step(scheduler)[0].chunks] == [True]


def test_scheduler_refuses_more_slots_than_batch_tokens():
    with pytest.raises(ValueError, match="9 slots do not fit a batch of 8"):
        make_scheduler(n_slots=9, n_batch=8)


def test_admit_keeps_arrival_order_and_the_slot_limit():
    scheduler = make_scheduler(n_slots=2)
    sequences = [make_sequence(2, first=100 * i) for i in range(1, 4)]
    for sequence in sequences:
        scheduler.submit(sequence)
    step(scheduler)
    assert [s.state for s in sequences] == [
        SequenceState.RUNNING,
        SequenceState.RUNNING,
        SequenceState.WAITING,
    ]


def test_admit_passes_by_a_sequence_that_waits_for_its_slot():
    scheduler = make_scheduler(n_slots=2)
    holder = make_sequence(2, id_slot=1)
    waiting = make_sequence(2, first=300, id_slot=1)
    other = make_sequence(2, first=600)
    for sequence in (holder, waiting, other):
        scheduler.submit(sequence)
    step(scheduler)
    assert (holder.slot, other.slot, waiting.slot) == (1, 0, None)


def test_id_slot_counts_modulo_the_slots():
    scheduler = make_scheduler(n_slots=2)
    sequence = make_sequence(2, id_slot=5)
    scheduler.submit(sequence)
    step(scheduler)
    assert sequence.slot == 1


def test_second_turn_starts_from_the_computed_prefix():
    scheduler = make_scheduler()
    first = make_sequence(6, max_tokens=1)
    scheduler.submit(first)
    step(scheduler)
    again = make_sequence(8, max_tokens=1)  # the same six tokens and two more
    scheduler.submit(again)
    plan, _ = step(scheduler)
    assert (again.slot, again.n_cached, sizes(plan)) == (first.slot, 6, [2])
    assert again.result.timings.prompt_n == 2


def test_same_prompt_again_computes_its_last_token():
    scheduler = make_scheduler()
    for _ in range(2):
        sequence = make_sequence(6, max_tokens=1)
        scheduler.submit(sequence)
        plan, _ = step(scheduler)
    assert (sequence.n_cached, sizes(plan)) == (5, [1])


def test_cache_prompt_false_computes_everything():
    scheduler = make_scheduler()
    for _ in range(2):
        sequence = make_sequence(6, max_tokens=1, cache_prompt=False)
        scheduler.submit(sequence)
        plan, _ = step(scheduler)
    assert (sequence.n_cached, sizes(plan)) == (0, [6])


def test_start_believes_a_runner_that_lost_the_prefix():
    scheduler = make_scheduler()
    scheduler.submit(make_sequence(6, max_tokens=1))
    step(scheduler)
    again = make_sequence(6, max_tokens=1)
    scheduler.submit(again)
    scheduler.admit()
    for admission in scheduler.begin():
        scheduler.start(admission, 0, 1.0)
    assert sizes(scheduler.plan()) == [6]
    assert again.n_cached == 0


@pytest.mark.parametrize("n", [1, 3])
def test_generation_ends_with_length_at_max_tokens(n):
    scheduler = make_scheduler()
    sequence = make_sequence(2, max_tokens=n)
    scheduler.submit(sequence)
    for _ in range(n):
        step(scheduler)
    assert sequence.result.finish is FinishReason.LENGTH
    assert sequence.result.n_decoded == n
    assert not scheduler.has_work


def test_max_tokens_zero_evaluates_the_prompt_and_samples_nothing():
    scheduler = make_scheduler(n_batch=4)
    sequence = make_sequence(6, max_tokens=0)
    scheduler.submit(sequence)
    step(scheduler)
    plan, _ = step(scheduler)
    assert [chunk.wants_logits for chunk in plan.chunks] == [False]
    assert sequence.result.finish is FinishReason.LENGTH
    assert (sequence.result.n_decoded, sequence.result.n_tokens_in_slot) == (0, 6)


def test_empty_prompt_ends_at_once():
    scheduler = make_scheduler()
    sequence = make_sequence(0)
    scheduler.submit(sequence)
    plan, events = step(scheduler)
    assert plan.chunks == ()
    assert [event.result for event in events] == [sequence.result]
    assert sequence.result.finish is FinishReason.LENGTH


def test_end_of_generation_token_ends_with_eos_and_is_reported():
    scheduler = make_scheduler()
    sequence = make_sequence(2)
    scheduler.submit(sequence)
    _, events = step(scheduler, is_eog=True)
    delta = events[-1][1]
    assert sequence.result.finish is FinishReason.STOP_EOS
    assert (delta.text, delta.tokens) == ("", (2,))


def test_stop_word_ends_before_it_and_beats_the_limit():
    scheduler = make_scheduler()
    sequence = make_sequence(2, stop=("b",), max_tokens=1)
    scheduler.submit(sequence)
    _, events = step(scheduler, piece=b"abc")
    assert events[-1][1].text == "a"
    assert sequence.result.finish is FinishReason.STOP_WORD
    assert sequence.result.stopping_word == "b"


def test_text_held_for_a_stop_is_sent_at_the_end():
    scheduler = make_scheduler()
    sequence = make_sequence(2, stop=("abc",), max_tokens=2)
    scheduler.submit(sequence)
    assert step(scheduler, piece=b"a")[1][-1][1] is None
    delta = step(scheduler, piece=b"b")[1][-1][1]
    assert delta.text == "ab"
    assert delta.tokens == (PIECES.token(b"a"), PIECES.token(b"b"))


def test_limit_inside_a_character_sends_nothing_of_it():
    scheduler = make_scheduler()
    sequence = make_sequence(2, max_tokens=1)
    scheduler.submit(sequence)
    piece = "歪".encode()[:2]
    delta = step(scheduler, piece=piece)[1][-1][1]
    assert (delta.text, delta.tokens) == ("", (PIECES.token(piece),))


def test_full_context_ends_with_length_and_truncated():
    scheduler = make_scheduler(n_ctx_slot=8)
    sequence = make_sequence(5)
    scheduler.submit(sequence)
    while scheduler.has_work:
        step(scheduler)
    assert sequence.result.finish is FinishReason.LENGTH
    assert sequence.result.truncated
    assert (sequence.result.n_tokens_in_slot, sequence.result.n_decoded) == (7, 3)


def test_context_shift_drops_the_middle_and_goes_on():
    scheduler = make_scheduler(n_ctx_slot=12, context_shift=True, n_keep_extra=1)
    sequence = make_sequence(8, max_tokens=20, n_keep=2)
    scheduler.submit(sequence)
    while sequence.n_computed + 1 < 12:
        step(scheduler)
    (shift,) = scheduler.shifts()
    assert (shift.keep, shift.discard, shift.end) == (3, 4, 11)
    assert sequence.tokens[:3] == [100, 101, 102]
    assert sequence.n_computed == 7
    while scheduler.has_work:
        step(scheduler)
    assert sequence.result.n_decoded == 20
    assert sequence.result.truncated


def test_time_limit_ends_at_the_next_new_line_only():
    scheduler = make_scheduler()
    sequence = make_sequence(2, t_max_predict_ms=100)
    scheduler.submit(sequence)
    step(scheduler, now=1.0)
    step(scheduler, now=2.0)
    assert sequence.result is None
    step(scheduler, now=2.1, piece=b"x\n")
    assert sequence.result.finish is FinishReason.LENGTH


def test_progress_goes_from_the_cached_part_to_the_whole_prompt():
    scheduler = make_scheduler(n_batch=4)
    sequence = make_sequence(10, return_progress=True, max_tokens=1)
    scheduler.submit(sequence)
    events = [event for _ in range(3) for event in step(scheduler)[1]]
    progress = [delta.progress for _, delta, *_ in events if delta and delta.progress]
    assert [one.processed for one in progress] == [0, 4, 8, 10]
    assert {(one.total, one.cache) for one in progress} == {(10, 0)}


def test_progress_and_the_end_in_one_step_are_two_events():
    scheduler = make_scheduler()
    sequence = make_sequence(4, return_progress=True, max_tokens=1)
    scheduler.submit(sequence)
    _, events = step(scheduler)
    assert [event.result is not None for event in events] == [False, False, True]
    assert events[-1].delta.text == "x"


def test_cancel_frees_the_slot_and_keeps_what_was_computed():
    scheduler = make_scheduler(n_batch=4)
    sequence = make_sequence(10)
    scheduler.submit(sequence)
    step(scheduler)
    scheduler.cancel(sequence)
    assert sequence.result.finish is FinishReason.CANCELLED
    assert scheduler.slots[sequence.slot].tokens == [100, 101, 102, 103]
    scheduler.check_integrity()


def test_cancel_removes_a_waiting_sequence():
    scheduler = make_scheduler()
    sequence = make_sequence()
    scheduler.submit(sequence)
    assert scheduler.cancel(sequence) is not None
    assert scheduler.cancel(sequence) is None
    assert not scheduler.has_work


def test_apply_ignores_a_token_for_a_sequence_that_ended_meanwhile():
    scheduler = make_scheduler()
    sequence = make_sequence()
    scheduler.submit(sequence)
    scheduler.admit()
    for admission in scheduler.begin():
        scheduler.start(admission, 0, 1.0)
    plan = scheduler.plan()
    sampled = sample_all(plan)
    scheduler.cancel(sequence)
    scheduler.apply(plan, sampled, 1.0)
    assert sequence.n_decoded == 0


def test_make_room_forgets_idle_slots_first():
    scheduler = make_scheduler(n_slots=2)
    done = make_sequence(4, max_tokens=1)
    scheduler.submit(done)
    step(scheduler)
    scheduler.submit(make_sequence(4, first=500))
    step(scheduler)
    slot, event = scheduler.make_room()
    assert (slot.id, slot.tokens, event) == (done.slot, [], None)


def test_make_room_preempts_the_youngest_which_is_computed_anew():
    scheduler = make_scheduler(n_slots=2, n_batch=16)
    old, young = make_sequence(4), make_sequence(4, first=500, max_tokens=3)
    scheduler.submit(old)
    scheduler.submit(young)
    step(scheduler)
    scheduler.make_room()
    assert (young.state, young.n_computed) == (SequenceState.WAITING, 0)
    assert step(scheduler)[0].n_tokens == 1  # it must not come back at once
    scheduler.cancel(old)
    plan, _ = step(scheduler)
    assert sizes(plan) == [5]  # prompt and the token it had already
    step(scheduler)
    assert young.result.n_decoded == 3


def test_make_room_fails_the_only_sequence_alone():
    scheduler = make_scheduler()
    sequence = make_sequence()
    scheduler.submit(sequence)
    step(scheduler)
    _, event = scheduler.make_room()
    assert event is not None
    assert isinstance(sequence.result.error, KVCacheFull)
    assert not scheduler.has_work


def test_shared_buffer_admits_only_what_fits_beside_the_others():
    scheduler = make_scheduler(n_slots=2, n_ctx_slot=16, n_batch=16, n_kv=16)
    first, second = make_sequence(10), make_sequence(10, first=500)
    scheduler.submit(first)
    scheduler.submit(second)
    step(scheduler)
    assert second.state is SequenceState.WAITING
    scheduler.cancel(first)
    step(scheduler)
    assert second.state is SequenceState.RUNNING


def test_resync_computes_the_last_token_again():
    scheduler = make_scheduler(n_batch=16)
    sequence = make_sequence(10)
    scheduler.submit(sequence)
    scheduler.admit()
    for admission in scheduler.begin():
        scheduler.start(admission, 0, 1.0)
    assert scheduler.resync(sequence, 10) == 9
    assert scheduler.resync(sequence, 4) == 4
    assert sizes(scheduler.plan()) == [6]


def test_slot_states_show_the_live_request_and_then_its_traces():
    scheduler = make_scheduler(n_slots=1)
    assert scheduler.slot_states()[0].request is None
    sequence = make_sequence(4, max_tokens=5)
    scheduler.submit(sequence)
    step(scheduler)
    live = scheduler.slot_states()[0]
    assert (live.is_processing, live.n_decoded, live.n_remain) == (True, 1, 4)
    scheduler.cancel(sequence)
    idle = scheduler.slot_states()[0]
    assert (idle.is_processing, idle.n_decoded, idle.n_remain) == (False, 0, -1)
    assert idle.n_prompt_tokens == 4


@settings(max_examples=60, deadline=None)
@given(
    moves=st.lists(
        st.tuples(
            st.sampled_from(["submit", "step", "cancel", "room", "resync"]),
            st.integers(0, 40),
        ),
        max_size=60,
    ),
    unified=st.booleans(),
)
def test_no_sequence_of_events_breaks_the_books(moves, unified):
    scheduler = make_scheduler(
        n_slots=3, n_ctx_slot=48, n_batch=16, n_kv=48 if unified else None
    )
    sequences = []
    for move, n in moves:
        if move == "submit":
            sequences.append(make_sequence(n, first=n % 5, max_tokens=n % 7))
            scheduler.submit(sequences[-1])
        elif move == "step":
            step(scheduler, is_eog=n == 0)
        elif move == "cancel" and sequences:
            scheduler.cancel(sequences[n % len(sequences)])
        elif move == "room" and scheduler.running:
            scheduler.make_room()
        elif move == "resync" and scheduler.running:
            scheduler.resync(scheduler.running[0], n)
        scheduler.check_integrity()
    for _ in range(1000):
        if not scheduler.has_work:
            break
        step(scheduler)
    assert all(sequence.result is not None for sequence in sequences)
    assert not scheduler.has_work


def test_progress_tells_how_long_the_prompt_has_taken():
    scheduler = make_scheduler(n_batch=2)
    scheduler.submit(make_sequence(4, return_progress=True))
    _, events = step(scheduler, now=1.0)
    assert [event.delta.timings.prompt_ms for event in events] == [0.0, 0.0]
    _, events = step(scheduler, now=3.0)
    assert [event.delta.timings.prompt_ms for event in events[:1]] == [2000.0]
