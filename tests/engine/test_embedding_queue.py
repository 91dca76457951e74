"""Which inputs of which requests are computed together."""

from __future__ import annotations

import pytest

from llamactypes.engine.embedding.queue import EmbeddingQueue, Pending, Piece
from llamactypes.engine.embedding.request import EmbeddingRequest


def make_pending(id: int, *lengths: int) -> Pending:
    return Pending(id, EmbeddingRequest(tuple((7,) * n for n in lengths)))


def make_queue(
    *pending: Pending, n_tokens: int = 10, n_sequences: int = 8
) -> EmbeddingQueue:
    queue = EmbeddingQueue(n_tokens, n_sequences)
    for each in pending:
        queue.add(each)
    return queue


def names(batch: list[Piece]) -> list[tuple[int, int]]:
    return [(piece.pending.id, piece.place) for piece in batch]


def test_inputs_are_taken_whole_while_they_fit():
    queue = make_queue(make_pending(1, 4, 4, 4))
    assert names(queue.take()) == [(1, 0), (1, 1)]
    assert names(queue.take()) == [(1, 2)]
    assert queue.take() == []


def test_an_input_that_is_longer_than_a_batch_is_alone_in_one():
    queue = make_queue(make_pending(1, 25), make_pending(2, 1))
    assert names(queue.take()) == [(1, 0)]
    assert names(queue.take()) == [(2, 0)]


def test_requests_take_turns():
    queue = make_queue(make_pending(1, *[3] * 9), make_pending(2, 3))
    assert names(queue.take()) == [(1, 0), (2, 0), (1, 1)]


def test_a_batch_has_no_more_inputs_than_sequences():
    queue = make_queue(make_pending(1, 1, 1, 1), n_sequences=2)
    assert len(queue.take()) == 2
    assert len(queue.take()) == 1


def test_a_batch_may_be_smaller_for_once():
    queue = make_queue(make_pending(1, 1, 1, 1))
    assert len(queue.take(1)) == 1
    assert len(queue.take()) == 2


def test_who_was_passed_over_begins_the_next_batch():
    small = make_pending(1, *[4] * 6)
    queue = make_queue(small, make_pending(2, 9))
    assert names(queue.take()) == [(1, 0), (1, 1)]
    assert names(queue.take()) == [(2, 0)]


def test_those_passed_over_keep_their_order():
    queue = make_queue(make_pending(1, 8), make_pending(2, 9), make_pending(3, 7))
    assert names(queue.take()) == [(1, 0)]
    assert names(queue.take()) == [(2, 0)]
    assert names(queue.take()) == [(3, 0)]


def test_what_was_put_back_comes_first_and_in_the_same_order():
    queue = make_queue(make_pending(1, 2, 2, 2, 2, 2, 2), make_pending(2, 2))
    batch = queue.take()
    queue.put_back(batch)
    assert set(names(queue.take())) == set(names(batch))


def test_a_removed_request_is_not_taken():
    gone, other = make_pending(1, 1, 1), make_pending(2, 1)
    queue = make_queue(gone, other)
    queue.remove(gone)
    queue.remove(gone)
    assert names(queue.take()) == [(2, 0)]


@pytest.mark.parametrize("n_requests", [1, 2, 5])
def test_every_input_is_taken_once(n_requests):
    lengths = [1, 9, 3, 12, 2, 5, 10, 1]
    waiting = [make_pending(id, *lengths) for id in range(n_requests)]
    queue = make_queue(*waiting, n_sequences=3)
    taken = []
    while len(queue):
        batch = queue.take()
        assert len(batch) == 1 or sum(len(p.tokens) for p in batch) <= 10
        taken += names(batch)
    assert sorted(taken) == [(i, k) for i in range(n_requests) for k in range(8)]
