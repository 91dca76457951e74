from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamactypes.engine.text.stop_strings import StopStrings
from llamactypes.engine.text.text_stream import TextStream


def feed_all(stream: TextStream, pieces: list[bytes]) -> list[str]:
    texts = []
    for piece in pieces:
        texts.append(stream.feed(piece))
        if stream.is_stopped:
            break
    return texts


def test_feed_joins_a_character_split_over_tokens():
    pieces = [bytes([byte]) for byte in "🏋️‍♀️💪🏼".encode()]
    assert "".join(feed_all(TextStream(), pieces)) == "🏋️‍♀️💪🏼"


def test_feed_sends_nothing_of_an_incomplete_character():
    stream = TextStream()
    assert stream.feed("歪".encode()[:2]) == ""
    assert stream.finish() == ""


def test_feed_replaces_bytes_that_are_no_utf8():
    assert TextStream().feed(b"a\xffb") == "a�b"


def test_feed_holds_back_a_stop_across_tokens():
    stream = TextStream(["ta gam"])
    pieces = [b"alpha ", b"beta", b" gam", b"ma delta"]
    assert feed_all(stream, pieces) == ["alpha ", "be", ""]
    assert stream.stopping_word == "ta gam"
    assert stream.finish() == ""


def test_finish_returns_what_looked_like_a_stop():
    stream = TextStream(["zzz"])
    assert feed_all(stream, [b"the tail z", b"z"]) == ["the tail ", ""]
    assert stream.finish() == "zz"


def test_feed_cuts_at_the_stop_that_begins_first():
    stream = TextStream(["world", "lo w"])
    assert stream.feed(b"hello world") == "hel"
    assert stream.stopping_word == "lo w"


def test_empty_stop_stops_nothing():
    stream = TextStream([""])
    assert stream.feed(b"text") == "text"
    assert not stream.is_stopped


def test_stop_that_ends_inside_a_character_waits_for_the_character():
    stream = TextStream(["歪"])
    assert feed_all(stream, [b"a", "歪".encode()[:1], "歪".encode()[1:]]) == [
        "a",
        "",
        "",
    ]
    assert stream.stopping_word == "歪"


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("if x:\n    return 1\n    pass", "if x:\n    return 1\n    pass"),
        ("if x:\n    return 1\ny = 2", "if x:\n    return 1\n"),
        ("if x:\n  y", "if x:\n  "),
        ("a\n\n    b", "a\n"),
    ],
)
def test_indentation_below_the_limit_ends_the_text(text: str, sent: str):
    stream = TextStream(n_indent=4)
    pieces = [character.encode() for character in text]
    assert "".join(feed_all(stream, pieces)) + stream.finish() == sent
    assert stream.was_cut == (sent != text)


def test_blanks_of_an_undecided_line_are_held_back():
    stream = TextStream(n_indent=4)
    assert stream.feed(b"a\n  ") == "a\n"


@given(
    text=st.text(alphabet="ab歪🏼", max_size=30),
    stops=st.lists(st.text(alphabet="ab歪", min_size=1, max_size=3), max_size=3),
    cuts=st.lists(st.integers(0, 90), max_size=8),
)
def test_streamed_text_equals_the_text_before_the_first_stop(text, stops, cuts):
    data = text.encode()
    edges = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    pieces = [data[a:b] for a, b in pairwise(edges)]
    stream = TextStream(stops)
    sent = "".join(feed_all(stream, pieces)) + stream.finish()
    # Token by token a later but shorter stop may complete first: compare by prefix.
    found = StopStrings(stops).find(text)
    if found is None:
        assert sent == text
    else:
        assert text.startswith(sent)
        assert stream.stopping_word in stops
        assert text[len(sent) :].startswith(stream.stopping_word)
        assert len(sent) >= found[0]


def test_ascii_behind_half_a_character_does_not_overtake_it():
    text = TextStream()
    assert [text.feed(piece) for piece in (b"a", b"\xc3", b"b", b"c")] == [
        "a",
        "",
        "\ufffdb",
        "c",
    ]
