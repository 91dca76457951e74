"""The bytes of a resumable stream: any cut of them gives the same bytes."""

from __future__ import annotations

import re
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api import sse
from api.streams.event_ids import with_ids
from api.streams.log import StreamLog
from api.streams.ring import ByteRing, OffsetLost
from tests.support.waiting import eventually

PIECES = st.lists(st.binary(max_size=40), max_size=20)
ID = re.compile(rb"id: (\d+)\n\n")


def make_log(capacity: int | None = None) -> StreamLog:
    return StreamLog(capacity, "text/event-stream")


@settings(max_examples=200, deadline=None)
@given(PIECES, st.integers(1, 100), st.integers(0, 900), st.integers(1, 50))
def test_ring_reads_the_same_bytes_from_any_offset_or_says_which_are_lost(
    pieces: list[bytes], capacity: int, offset: int, limit: int
) -> None:
    ring = ByteRing(capacity)
    for piece in pieces:
        ring.append(piece)
    whole = b"".join(pieces)
    assert (ring.end, len(ring)) == (len(whole), min(len(whole), capacity))
    if offset < ring.first:
        with pytest.raises(OffsetLost) as lost:
            ring.read(offset, limit)
        assert (lost.value.offset, lost.value.first) == (offset, ring.first)
    else:
        assert ring.read(offset, limit) == whole[offset : offset + limit]


def test_ring_keeps_the_tail_of_a_piece_larger_than_itself() -> None:
    ring = ByteRing(4)
    ring.append(b"ab")
    ring.append(b"cdefghij")
    assert (ring.first, ring.read(6, 9)) == (6, b"ghij")


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text("ab\u2028\n", max_size=30), min_size=1, max_size=8),
    st.integers(0, 10**6),
    st.lists(st.booleans(), min_size=8, max_size=8),
)
def test_id_of_each_event_is_the_offset_behind_it(
    texts: list[str], offset: int, has_ping: list[bool]
) -> None:
    plain = b"".join(
        (sse.PING if ping else b"") + sse.data_event(text)
        for text, ping in zip(texts, has_ping, strict=False)
    )
    numbered = with_ids(plain, offset)
    found = list(ID.finditer(numbered))
    assert [int(each[1]) for each in found] == [offset + each.end() for each in found]
    assert len(found) == len(texts)
    assert re.sub(rb"id: \d+\n", b"", numbered) == plain


@pytest.mark.parametrize("offset", range(80, 102))
def test_id_counts_its_own_digits(offset: int) -> None:
    numbered = with_ids(b"x\n\n", offset)
    assert numbered == b"x\nid: %d\n\n" % (offset + len(numbered))


def test_a_comment_between_events_gets_no_id() -> None:
    assert with_ids(sse.PING, 7) == sse.PING


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.text(max_size=20), min_size=1, max_size=15),
    st.lists(st.integers(1, 400), max_size=10),
)
def test_reads_cut_anywhere_add_up_to_an_uninterrupted_one(
    texts: list[str], cuts: list[int]
) -> None:
    log = make_log(1 << 20)
    for text in texts:
        log.append_events(sse.data_event(text))
    log.finish()
    whole, is_end = log.read(0, 0.0)
    assert is_end
    offsets = sorted({0, *(cut for cut in cuts if cut < len(whole))})
    tails = [log.read(offset, 0.0)[0] for offset in offsets]
    ends = [*offsets[1:], len(whole)]
    parts = [
        tail[: end - start]
        for tail, start, end in zip(tails, offsets, ends, strict=True)
    ]
    assert b"".join(parts) == whole


def test_readers_at_their_own_speed_get_the_same_bytes_while_it_is_written() -> None:
    log, got = make_log(1 << 20), [bytearray() for _ in range(4)]

    def read(mine: bytearray, patience_s: float) -> None:
        is_end = False
        while not is_end:
            data, is_end = log.read(len(mine), patience_s)
            mine += data

    readers = [
        threading.Thread(target=read, args=(mine, 0.001 * (4**i)), daemon=True)
        for i, mine in enumerate(got)
    ]
    for reader in readers:
        reader.start()
    for number in range(2000):
        log.append_events(sse.data_event(number))
    log.finish()
    for reader in readers:
        reader.join(10)
        assert not reader.is_alive()
    assert {bytes(each) for each in got} == {log.read_all()}


def test_end_wakes_a_reader_and_nothing_follows_it() -> None:
    log, found = make_log(), []
    reader = threading.Thread(target=lambda: found.append(log.read(0, 20)), daemon=True)
    reader.start()
    log.finish(ValueError("why"))
    reader.join(5)
    assert found == [(b"", True)]
    log.append_events(sse.DONE)
    log.finish()
    assert (log.n_total, str(log.error)) == (0, "why")


def test_reader_past_the_end_waits_for_bytes_of_its_own() -> None:
    log = make_log()
    log.append(b"abc")
    assert log.read(5, 0.0) == (b"", False)
    log.append(b"defg")
    assert log.read(5, 0.0) == (b"fg", False)
    log.finish()
    assert log.read(99, 0.0) == (b"", True)


def test_only_a_log_without_readers_is_unread() -> None:
    log = make_log()
    log.attach()
    assert log.unread_s(1e12) == 0.0
    log.detach()
    assert log.unread_s(1e12) > 0
    eventually(lambda: log.n_readers == 0)


def test_greeting_comes_only_before_everything_else() -> None:
    log = make_log()
    log.greet()
    log.greet()
    assert log.read_all() == sse.PING
