"""Prefixes that others computed: copied, waited for, or loaded from RAM."""

from __future__ import annotations

from llamactypes.engine.prefixes.state_cache import SavedState, StateCache
from tests.support.builders import make_scheduler, make_sequence, step

PREFIX = tuple(range(1000, 1100))


def question(n: int, **options):
    return make_sequence(tokens=(*PREFIX, *range(n * 50, n * 50 + 5)), **options)


def begin(scheduler):
    scheduler.admit()
    return scheduler.begin()


def test_new_prompt_copies_the_prefix_of_a_live_sequence():
    scheduler = make_scheduler(n_slots=2, n_ctx_slot=256, n_batch=128)
    first, second = question(1), question(2)
    scheduler.submit(first)
    step(scheduler)
    scheduler.submit(second)
    (admission,) = begin(scheduler)
    assert admission.source is scheduler.slots[first.slot]
    assert admission.n_cached == len(PREFIX)


def test_prompts_that_share_an_uncomputed_prefix_let_one_compute_it():
    scheduler = make_scheduler(n_slots=3, n_ctx_slot=256, n_batch=64)
    first, second, third = question(1), question(2), question(3)
    for sequence in (first, second, third):
        scheduler.submit(sequence)
    plan, _ = step(scheduler)
    assert [chunk.sequence for chunk in plan.chunks] == [first]
    plan, _ = step(scheduler)
    assert [chunk.sequence for chunk in plan.chunks] == [first]
    plan, _ = step(scheduler)
    assert second.n_cached == third.n_cached == len(PREFIX)
    assert [chunk.n_tokens for chunk in plan.chunks] == [1, 5, 5]


def test_waiting_ends_when_the_other_is_cancelled_half_way():
    scheduler = make_scheduler(n_slots=2, n_ctx_slot=256, n_batch=40)
    first, second = question(1), question(2)
    scheduler.submit(first)
    scheduler.submit(second)
    step(scheduler)
    scheduler.cancel(first)
    step(scheduler)
    assert second.n_cached == 40
    assert second.n_computed == 80


def test_same_prompt_twice_is_computed_once():
    scheduler = make_scheduler(n_slots=2, n_ctx_slot=256, n_batch=256)
    first, second = question(1), question(1)
    scheduler.submit(first)
    scheduler.submit(second)
    step(scheduler)
    plan, _ = step(scheduler)
    assert second.n_cached == second.n_prompt - 1
    assert [chunk.n_tokens for chunk in plan.chunks] == [1, 1]


def test_cache_prompt_false_neither_waits_nor_copies():
    scheduler = make_scheduler(n_slots=2, n_ctx_slot=256, n_batch=256)
    scheduler.submit(question(1))
    scheduler.submit(question(2, cache_prompt=False))
    plan, _ = step(scheduler)
    assert [chunk.n_tokens for chunk in plan.chunks] == [105, 105]


def test_held_sequence_that_is_cancelled_leaves_its_slot_as_it_was():
    scheduler = make_scheduler(n_slots=2, n_ctx_slot=256, n_batch=40)
    old = make_sequence(8, max_tokens=1, id_slot=1)
    scheduler.submit(old)
    step(scheduler)
    scheduler.submit(question(1, id_slot=0))
    held = question(2, id_slot=1)
    scheduler.submit(held)
    step(scheduler)
    scheduler.cancel(held)
    assert scheduler.slots[1].tokens == list(range(100, 108))
    scheduler.check_integrity()


def test_conversation_continues_in_its_slot():
    scheduler = make_scheduler(n_slots=2, n_ctx_slot=256, n_batch=256)
    first = question(1, max_tokens=1)
    scheduler.submit(first)
    step(scheduler)
    scheduler.submit(make_sequence(tokens=(*first.request.prompt_tokens, 7, 8, 9)))
    (admission,) = begin(scheduler)
    assert (admission.slot.id, admission.source) == (first.slot, None)
    assert admission.n_cached == 105


def test_other_conversation_takes_a_free_slot_and_copies_the_prefix():
    scheduler = make_scheduler(n_slots=2, n_ctx_slot=512, n_batch=512)
    tail = tuple(range(3000, 3200))
    first = make_sequence(tokens=(*PREFIX, *tail), max_tokens=1)
    scheduler.submit(first)
    step(scheduler)
    scheduler.submit(question(2))
    (admission,) = begin(scheduler)
    assert admission.slot.id != first.slot
    assert admission.source is scheduler.slots[first.slot]


def test_shifted_context_lends_only_what_it_kept():
    scheduler = make_scheduler(
        n_slots=2, n_ctx_slot=128, n_batch=128, context_shift=True
    )
    first = question(1, n_keep=40, max_tokens=60)
    scheduler.submit(first)
    while scheduler.has_work:
        step(scheduler)
    assert first.truncated
    scheduler.submit(question(2))
    assert begin(scheduler)[0].n_cached == 40


def test_replaced_conversation_is_kept_in_ram_and_comes_back():
    scheduler = make_scheduler(n_slots=1, n_ctx_slot=256, n_batch=256, cache_bytes=1000)
    first = question(1, max_tokens=1)
    scheduler.submit(first)
    step(scheduler)
    scheduler.submit(make_sequence(80, max_tokens=1))
    (admission,) = begin(scheduler)
    assert admission.replaced == list(first.request.prompt_tokens)
    scheduler.state_cache.put(SavedState(admission.replaced, b"state"))
    step(scheduler)
    scheduler.submit(question(1))
    (admission,) = begin(scheduler)
    assert admission.saved is not None
    assert admission.n_cached == 104


def test_continued_conversation_is_not_copied_to_ram():
    scheduler = make_scheduler(n_slots=1, n_ctx_slot=256, n_batch=256, cache_bytes=1000)
    first = question(1, max_tokens=1)
    scheduler.submit(first)
    step(scheduler)
    scheduler.submit(make_sequence(tokens=(*first.request.prompt_tokens, 1, 2)))
    assert begin(scheduler)[0].replaced is None


# -- the states in RAM ---------------------------------------------------------------


def test_oldest_state_goes_when_the_limit_is_reached():
    cache = StateCache(10)
    for n in range(3):
        cache.put(SavedState([n], b"1234"))
    assert (len(cache), cache.n_bytes) == (2, 8)
    assert [state.tokens for state in cache] == [[1], [2]]


def test_state_larger_than_the_limit_is_not_kept():
    cache = StateCache(3)
    cache.put(SavedState([1], b"1234"))
    assert (len(cache), cache.n_bytes) == (0, 0)


def test_state_replaces_those_it_contains():
    cache = StateCache(-1)
    cache.put(SavedState([1, 2], b"12"))
    cache.put(SavedState([1, 2, 3], b"123"))
    assert (len(cache), cache.n_bytes) == (1, 3)


def test_loaded_state_is_that_with_the_longest_prefix():
    scheduler = make_scheduler(n_slots=1, n_ctx_slot=256, n_batch=256, cache_bytes=-1)
    for end in (20, 60, 40):
        tokens = [*PREFIX[:end], 9]
        scheduler.state_cache.put(SavedState(tokens, b""))
    scheduler.submit(question(1))
    (admission,) = begin(scheduler)
    assert admission.saved.tokens == [*PREFIX[:60], 9]
    assert admission.n_cached == 60
