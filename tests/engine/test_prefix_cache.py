from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llamactypes.engine.prefixes.length import common_prefix_length
from llamactypes.engine.prefixes.slots import SlotTable
from tests.support.builders import make_sequence


@given(
    common=st.lists(st.integers(0, 3), max_size=300),
    a=st.lists(st.integers(0, 3), max_size=50),
    b=st.lists(st.integers(0, 3), max_size=50),
)
def test_common_prefix_length_equals_the_plain_count(common, a, b):
    left, right = common + a, common + b
    expected = 0
    while expected < min(len(left), len(right)) and left[expected] == right[expected]:
        expected += 1
    assert common_prefix_length(left, right) == expected


def hold(table: SlotTable, id: int, tokens: list[int], used: int) -> None:
    table[id].tokens, table[id].last_used = tokens, used


def test_choose_takes_the_most_similar_idle_slot():
    table = SlotTable(3)
    hold(table, 0, [100, 101], 5)
    hold(table, 1, [100, 101, 102], 6)
    assert table.choose(make_sequence(4)) is table[1]


def test_choose_takes_the_least_recently_used_when_nothing_is_similar():
    table = SlotTable(3)
    hold(table, 0, [1, 2], 7)
    hold(table, 1, [3, 4], 5)
    hold(table, 2, [5, 6], 6)
    assert table.choose(make_sequence(4)) is table[1]


def test_choose_ignores_a_similarity_at_the_limit():
    table = SlotTable(2, similarity=0.5)
    hold(table, 0, [100, 101], 9)
    hold(table, 1, [7], 1)
    assert table.choose(make_sequence(4)) is table[1]


def test_choose_returns_none_when_every_slot_is_taken():
    table = SlotTable(1)
    table[0].sequence = make_sequence()
    assert table.choose(make_sequence()) is None


def test_evict_forgets_the_least_recently_used_and_then_nothing():
    table = SlotTable(2)
    hold(table, 0, [1], 9)
    hold(table, 1, [2], 3)
    assert table.evict() is table[1]
    assert table.evict() is table[0]
    assert table.evict() is None
