from __future__ import annotations

import pytest

from llamactypes import Batch, ClosedError, InvalidBatch


def rows(batch: Batch) -> list[tuple[int, int, list[int], int]]:
    raw = batch.raw
    return [
        (
            raw.token[i],
            raw.pos[i],
            [raw.seq_id[i][j] for j in range(raw.n_seq_id[i])],
            raw.logits[i],
        )
        for i in range(raw.n_tokens)
    ]


def test_add_returns_row_indices_that_c_sees() -> None:
    batch = Batch(4)
    assert [batch.add(7, 0, 2, False), batch.add(8, 1, 2, True)] == [0, 1]
    assert rows(batch) == [(7, 0, [2], 0), (8, 1, [2], 1)]


def test_extend_wants_logits_of_the_last_token_only() -> None:
    batch = Batch(8)
    batch.add(1, 0, 0, True)
    assert batch.extend([5, 6, 7], 10, 3, last_logits=True) == 3
    assert rows(batch)[1:] == [(5, 10, [3], 0), (6, 11, [3], 0), (7, 12, [3], 1)]
    assert batch.extend([9], 0, 4, last_logits=False) == 4
    assert rows(batch)[4] == (9, 0, [4], 0)


def test_a_token_may_belong_to_several_sequences() -> None:
    batch = Batch(2, n_seq_max=3)
    batch.add(1, 0, [0, 2, 5], True)
    batch.add(2, 1, 1, True)
    assert [row[2] for row in rows(batch)] == [[0, 2, 5], [1]]
    batch.clear()
    for wrong in ([], [0, 1, 2, 3]):
        with pytest.raises(InvalidBatch, match="1 … 3 sequences"):
            batch.add(1, 0, wrong, True)


def test_clear_leaves_nothing_of_the_last_use() -> None:
    batch = Batch(2, n_seq_max=2)
    batch.add(1, 0, [0, 1], True)
    batch.clear()
    batch.add(2, 0, 3, False)
    assert rows(batch) == [(2, 0, [3], 0)]


def test_more_than_fits_is_refused_and_changes_nothing() -> None:
    batch = Batch(3)
    batch.extend([1, 2], 0, 0, last_logits=False)
    with pytest.raises(InvalidBatch, match=r"2 of 3 tokens; 2 more"):
        batch.extend([3, 4], 2, 0, last_logits=True)
    assert batch.n_tokens == 2
    batch.add(3, 2, 0, True)
    with pytest.raises(InvalidBatch):
        batch.add(4, 3, 0, True)


def test_nothing_to_add_and_no_room_at_all_are_errors() -> None:
    with pytest.raises(InvalidBatch):
        Batch(0)
    with pytest.raises(InvalidBatch):
        Batch(4).extend([], 0, 0, last_logits=True)


def test_a_closed_batch_says_so() -> None:
    with Batch(2) as batch:
        batch.add(1, 0, 0, True)
    batch.close()
    with pytest.raises(ClosedError):
        batch.add(1, 0, 0, True)
    with pytest.raises(ClosedError):
        _ = batch.raw


def test_add_each_gives_one_token_to_each_sequence() -> None:
    batch = Batch(4)
    batch.add(1, 0, 0, False)
    assert batch.add_each([5, 6], [10, 20], [3, 1]) == 1
    assert rows(batch)[1:] == [(5, 10, [3], 1), (6, 20, [1], 1)]
    with pytest.raises(InvalidBatch, match="do not fit"):
        batch.add_each([1, 2], [0, 0], [0, 1])
    with pytest.raises(InvalidBatch, match="no tokens"):
        batch.add_each([], [], [])
