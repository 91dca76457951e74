"""When thinking is too long, and what must be written then."""

from __future__ import annotations

import pytest

from llamactypes.engine.text.thinking import (
    ThinkingControl,
    ThinkingLimit,
    ThinkingWatch,
)

PIECES = {
    **{1: b"<think>", 2: b"</think>", 3: b"a", 4: b" word", 5: b"<thi", 6: b"nk>b"},
    **{7: b"\xc3", 8: b"\xa9", 9: b"</th", 10: b"ink>\n\n", 11: b"\n", 12: b"</call>"},
    **{20: b"Enough.", 21: b"</think>"},
}
FORCED = (20, 21)


def watch(budget=2, **given):
    fields = {"open": b"<think>", "close": b"</think>", "forced": FORCED, **given}
    return ThinkingWatch(ThinkingLimit(budget=budget, **fields), PIECES.__getitem__)


def forced_by(one, *tokens):
    """Return what must come after each of `tokens`."""
    found = []
    for token in tokens:
        one.accept(token)
        found.append(one.forced())
    return found


def rest_of(one):
    """Return all that must come now, accepting it."""
    found = []
    while (token := one.forced()) is not None:
        found.append(token)
        one.accept(token)
    return found


def test_thinking_ends_when_its_tokens_are_spent():
    one = watch(budget=3)
    assert one.forced() is None
    assert forced_by(one, 1, 3, 3) == [None, None, None]
    one.accept(3)
    assert rest_of(one) == list(FORCED)
    assert forced_by(one, *[3] * 9) == [None] * 9


def test_thinking_that_the_prompt_began_counts_from_the_first_token():
    one = watch(budget=2, is_thinking=True)
    assert forced_by(one, 3, 3) == [None, 20]


@pytest.mark.parametrize(("n_spent", "expected"), [(1, [None, 20]), (3, [20, 21])])
def test_what_the_prompt_has_of_the_thinking_counts(n_spent, expected):
    one = watch(budget=3, is_thinking=True, n_spent=n_spent)
    assert (one.forced() is None) is (n_spent < 3)
    if n_spent < 3:
        assert forced_by(one, 3, 3) == expected
    else:
        assert rest_of(one) == expected


@pytest.mark.parametrize("is_thinking", [False, True])
def test_budget_of_nothing_ends_thinking_at_once(is_thinking):
    one = watch(budget=0, is_thinking=is_thinking)
    if not is_thinking:
        assert one.forced() is None
        one.accept(1)
    assert rest_of(one) == list(FORCED)


def test_thinking_that_ends_by_itself_is_left_alone():
    one = watch(budget=3)
    assert forced_by(one, 1, 3, 2, 3, 3, 3, 3) == [None] * 7


def test_tags_are_found_however_they_are_tokenized():
    one = watch(budget=2)
    assert forced_by(one, 5, 6, 9, 10, 3, 3, 3) == [None] * 7
    one = watch(budget=2)
    assert forced_by(one, 5, 6, 3, 3) == [None, None, None, 20]


def test_end_waits_for_a_whole_character():
    one = watch(budget=2)
    assert forced_by(one, 1, 3, 7) == [None, None, None]
    assert forced_by(one, 8) == [20]


def test_thinking_may_end_while_the_end_waits_for_a_character():
    one = watch(budget=1, is_thinking=True)
    assert forced_by(one, 7, 2, 3) == [None, None, None]


def test_each_stretch_of_thinking_has_its_own_tokens():
    one = watch(budget=2)
    assert forced_by(one, 1, 3, 2, 4, 12, 11, 1, 3) == [None] * 8
    assert forced_by(one, 3) == [20]


def test_thinking_may_begin_again_right_behind_its_end():
    one = watch(budget=1)
    forced_by(one, 1, 3)
    assert rest_of(one) == list(FORCED)
    assert forced_by(one, 1, 3) == [None, 20]


def test_tag_within_an_answer_begins_nothing():
    one = watch(budget=1)
    assert forced_by(one, 4, 11, 11, 11, 1, 3, 3) == [None] * 7


def test_tag_may_begin_in_the_prompt():
    one = watch(budget=1, open=b"<start><think>", before=b"<start>")
    assert forced_by(one, 1, 3) == [None, 20]


def test_limit_without_a_number_never_ends_thinking():
    one = watch(budget=-1, is_thinking=True)
    assert forced_by(one, *[3] * 99) == [None] * 99


def test_nothing_to_write_ends_nothing():
    one = watch(budget=1, forced=(), is_thinking=True)
    assert forced_by(one, 3, 3, 3) == [None] * 3


def test_control_ends_thinking_that_goes_on():
    control = ThinkingControl()
    one = watch(budget=-1, is_thinking=True, control=control)
    assert forced_by(one, 3, 3) == [None, None]
    control.end()
    assert rest_of(one) == list(FORCED)
    assert forced_by(one, 3, 3) == [None, None]


def test_control_does_nothing_outside_of_thinking():
    control = ThinkingControl()
    one = watch(budget=-1, control=control)
    control.end()
    assert one.forced() is None
    assert forced_by(one, 1, 3, 3) == [None, None, None]
    control.end()
    assert one.forced() == 20
