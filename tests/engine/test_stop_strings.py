from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamactypes.engine.text.stop_strings import StopStrings
from llamactypes.engine.text.text_stream import TextStream

WORDS = st.lists(st.text(alphabet="ab歪", max_size=4), max_size=5)
TEXT = st.text(alphabet="ab歪c", max_size=12)


@given(words=WORDS, text=TEXT)
def test_find_returns_the_first_of_all_matches(words: list[str], text: str):
    matches = [(text.find(word), word) for word in words if word and word in text]
    expected = min(matches, key=lambda pair: pair[0], default=None)
    assert StopStrings(words).find(text) == expected


@given(words=WORDS, old=TEXT, new=TEXT)
def test_find_needs_to_look_only_where_a_match_may_end(
    words: list[str], old: str, new: str
):
    stops = StopStrings(words)
    if stops.find(old) is None:
        assert stops.find(old + new, len(old)) == stops.find(old + new)


@given(words=WORDS, text=TEXT)
def test_n_open_is_the_longest_end_that_a_word_begins_with(words: list[str], text: str):
    lengths = [
        length
        for word in words
        for length in range(1, len(word))
        if text.endswith(word[:length])
    ]
    assert StopStrings(words).n_open(text) == max(lengths, default=0)


def test_stop_strings_without_a_word_are_false():
    assert not StopStrings(["", ""])
    assert StopStrings(["", "x"])


class CountingText(str):
    """Counts how often a word is looked for in it."""

    n_finds = 0

    def find(self, *args: object) -> int:  # type: ignore[override]
        self.n_finds += 1
        return super().find(*args)  # type: ignore[arg-type]


def test_find_skips_words_whose_first_character_is_not_there():
    stops = StopStrings([f"stop{i}" for i in range(1000)] + ["x"])
    text = CountingText("hello wax")
    assert stops.find(text) == (8, "x")
    assert text.n_finds == 1


@pytest.mark.parametrize("piece", [b"a", b"ab"])
def test_text_that_is_a_stop_almost_to_its_end_is_held_and_then_sent(piece: bytes):
    word = piece.decode() * 5000 + "!"
    stream = TextStream([word])
    for _ in range(5000):
        assert stream.feed(piece) == ""
    assert stream.feed(b"?") == piece.decode() * 5000 + "?"
