"""Chunks of an older prompt that are moved to where a new one has them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llamactypes.engine.prefixes.chunk_reuse import Move, find_moves
from tests.engine.test_prefix_equality import ask, running, words
from tests.support.builders import make_scheduler, make_sequence, step

WAIT_S = 60.0


def test_chunk_behind_a_gap_moves_down():
    computed, prompt = [1, 2, 9, 9, 9, 3, 4, 5, 6], [1, 2, 3, 4, 5, 7]
    assert find_moves(computed, prompt, 2, 3, 5) == (Move(5, 2, 3),)


def test_chunk_shorter_than_the_limit_stays():
    assert find_moves([1, 9, 2, 3], [1, 2, 3, 4], 1, 3, 3) == ()


def test_last_token_of_the_prompt_is_left_to_be_computed():
    assert find_moves([9, 1, 2, 3], [1, 2, 3], 0, 2, 2) == (Move(1, 0, 2),)


@given(
    computed=st.lists(st.integers(0, 2), max_size=40),
    prompt=st.lists(st.integers(0, 2), min_size=1, max_size=40),
    least=st.integers(1, 4),
)
def test_moved_chunks_are_the_prompt_without_a_gap(computed, prompt, least):
    cells, end = list(computed), 0
    for move in find_moves(computed, prompt, 0, least, len(prompt) - 1):
        assert move.to == end <= move.start
        assert move.n_tokens >= least
        cells[move.to : move.end] = computed[move.start : move.start + move.n_tokens]
        end = move.end
    assert cells[:end] == prompt[:end]
    assert end < len(prompt)


def test_what_was_moved_is_not_lent_to_others():
    scheduler = make_scheduler(n_slots=2, n_ctx_slot=256, n_batch=256)
    scheduler.submit(make_sequence(100, max_tokens=1))
    step(scheduler)
    shorter = (*range(100, 140), *range(160, 200), 7)
    moved = make_sequence(tokens=shorter, max_tokens=1, n_cache_reuse=16)
    scheduler.submit(moved)
    step(scheduler)
    assert moved.n_cached == 80
    scheduler.submit(make_sequence(tokens=shorter, max_tokens=1))
    scheduler.admit()
    (admission,) = scheduler.begin()
    assert admission.n_cached == 40


def test_model_goes_on_after_chunks_were_moved():
    first = words(200)
    shorter = first[:60] + first[100:] + [300]
    for unified in (False, True):
        with running("tiny", unified=unified) as engine:
            assert engine.submit(ask(first)).wait(WAIT_S).n_cached == 0
            moved = engine.submit(ask(shorter, n_cache_reuse=32)).wait(WAIT_S)
            assert (moved.n_cached, moved.timings.prompt_n) == (160, 1)
            # Nobody who did not ask for it gets what was moved.
            again = engine.submit(ask(shorter))
            assert again.wait(WAIT_S).n_cached == 60
        with running("tiny", unified=unified) as engine:
            alone = engine.submit(ask(shorter, cache_prompt=False))
            alone.wait(WAIT_S)
        assert again.text == alone.text
