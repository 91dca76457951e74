"""Sessions of conversations: opened, replaced, stopped, forgotten. No HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

import pytest

from api import sse
from api.errors import KeyBusy
from api.streams.client import Client
from api.streams.counts import StreamCounts
from api.streams.limits import StreamLimits
from api.streams.session import Production, Session, StreamStopped
from api.streams.sessions import StreamSessions
from llamactypes.engine import Generation
from llamactypes.engine.request import FinishReason
from tests.support.builders import make_request
from tests.support.fake_engine import result
from tests.support.waiting import eventually

KIND = "text/event-stream"


class Piece:
    """A production that writes what the test wants, until it is cancelled."""

    def __init__(self, *, is_begun: bool = True) -> None:
        self.generation = Generation(1, make_request(), self._on_cancel)
        if is_begun:
            self.generation.mark_started()
        self.is_cancelled = False

    def _on_cancel(self, generation: Generation) -> None:
        self.is_cancelled = True
        generation.append(None, result(finish=FinishReason.CANCELLED))

    def end(self) -> None:
        self.generation.append(None, result())

    def _open(self, client: Client) -> Iterable[bytes]:
        yield sse.data_event("first")
        self.generation.wait(20)
        yield sse.data_event("last")

    @property
    def production(self) -> Production:
        return Production(
            [self.generation],
            self._open,
            self.generation.cancel,
            lambda error: sse.data_event({"error": str(error)}),
        )


def start(sessions: StreamSessions, id: str = "c", owner: str | None = None) -> Piece:
    piece = Piece()
    open_session(sessions, id, owner).start(piece.production)
    return piece


def open_session(
    sessions: StreamSessions, id: str = "c", owner: str | None = None
) -> Session:
    return sessions.open(owner, id, KIND, whole=False)


@pytest.fixture
def sessions() -> Iterator[StreamSessions]:
    made = StreamSessions(StreamLimits())
    yield made
    assert made.close(5)


def test_a_new_session_ends_the_live_one_of_its_conversation(
    sessions: StreamSessions,
) -> None:
    first = start(sessions)
    log = sessions.find(None, "c")
    second = start(sessions)
    assert first.is_cancelled
    assert log is not None
    assert log.is_done
    assert sessions.find(None, "c") is not log
    assert not second.is_cancelled


def test_stopping_is_idempotent_and_forgets(sessions: StreamSessions) -> None:
    piece = start(sessions)
    log = sessions.find(None, "c")
    for _ in range(2):
        sessions.stop(None, "c")
    assert log is not None
    assert log.wait_done(5)
    assert piece.is_cancelled
    assert sessions.find(None, "c") is None


def test_a_stop_before_the_start_reaches_the_request_that_asked(
    sessions: StreamSessions,
) -> None:
    session = open_session(sessions)
    sessions.stop(None, "c")
    with pytest.raises(StreamStopped, match="request cancelled") as stopped:
        session.start(Piece().production)
    sessions.give_up(session, stopped.value)
    assert session.log.is_done


def test_what_fails_before_it_begins_is_forgotten_and_tells_its_readers(
    sessions: StreamSessions,
) -> None:
    piece = Piece(is_begun=False)
    open_session(sessions).start(piece.production)
    log = sessions.find(None, "c")
    assert log is not None
    piece.generation.append(None, result(error=ValueError("no memory")))
    assert log.wait_done(5)
    assert b"no memory" in log.read_all()
    eventually(lambda: sessions.find(None, "c") is None)


def test_sessions_belong_to_the_key_that_made_them(sessions: StreamSessions) -> None:
    mine = start(sessions, owner="0")
    assert sessions.find("1", "c") is None
    assert sessions.lookup("1", ["c"]) == []
    sessions.stop("1", "c")
    start(sessions, owner="1")
    assert sessions.find("0", "c") is not None
    assert not mine.is_cancelled


def test_lookup_finds_ids_and_their_models_and_nothing_else(
    sessions: StreamSessions,
) -> None:
    for id in ("a::m/1", "a", "ab", "b::x::y"):
        start(sessions, id)
    found = [id for id, _ in sessions.lookup(None, ["a", "b::x", "z"])]
    assert found == ["a::m/1", "a", "b::x::y"]


def test_a_key_may_have_so_many_live_sessions_and_each_end_makes_room() -> None:
    sessions = StreamSessions(StreamLimits(n_live=2))
    first = start(sessions, "a", "0")
    start(sessions, "b", "0")
    start(sessions, "c", "1")
    with pytest.raises(KeyBusy, match="--stream-sessions"):
        open_session(sessions, "d", "0")
    start(sessions, "b", "0")  # in the place of its own
    first.end()
    eventually(lambda: sessions.n_live == 2)
    start(sessions, "d", "0")
    assert sessions.close(5)


def test_a_key_may_hold_so_many_bytes_and_forgetting_makes_room() -> None:
    sessions = StreamSessions(StreamLimits(ring_bytes=1 << 20, n_bytes=5 << 19))
    for id in ("a", "b"):
        start(sessions, id)
    with pytest.raises(KeyBusy, match="--stream-memory-mib"):
        open_session(sessions, "c")
    sessions.stop(None, "a")
    start(sessions, "c")
    assert sessions.close(5)


def test_ended_streams_count_for_their_bytes_until_they_are_replaced_or_forgotten() -> (
    None
):
    limits = StreamLimits(ring_bytes=10_000, n_bytes=40_000)
    sessions = StreamSessions(limits)
    for id in ("a", "b", "c", "c"):
        start(sessions, id).end()
        eventually(lambda: sessions.n_live == 0)
    for id in ("d", "e", "f", "g"):
        start(sessions, id).end()
        eventually(lambda: sessions.n_live == 0)
    with pytest.raises(KeyBusy, match="of at most 39 "):
        open_session(sessions, "h")
    start(sessions, "a").end()
    eventually(lambda: sessions.n_live == 0)
    sessions.stop(None, "b")
    start(sessions, "h").end()
    assert sessions.close(5)


def test_an_ended_stream_expires_and_the_sweeper_goes_with_the_last() -> None:
    sessions = StreamSessions(StreamLimits(keep_s=0.05, sweep_s=0.05))
    start(sessions).end()
    eventually(lambda: sessions.find(None, "c") is None)
    eventually(lambda: not sessions.has_sweeper)
    start(sessions).end()
    eventually(lambda: not sessions.has_sweeper)


def test_what_nobody_reads_ends_and_what_somebody_reads_does_not() -> None:
    sessions = StreamSessions(StreamLimits(orphan_s=0.1))
    read = start(sessions, "read")
    log = sessions.find(None, "read")
    assert log is not None
    log.attach()
    orphan = start(sessions, "orphan")
    eventually(lambda: orphan.is_cancelled)
    assert not read.is_cancelled
    assert (sessions.counts().opened, sessions.counts().orphaned) == (2, 1)
    log.detach()
    eventually(lambda: read.is_cancelled)
    assert sessions.close(5)


def test_closing_ends_every_reader_also_of_a_thread_that_hangs() -> None:
    sessions = StreamSessions(StreamLimits())
    start(sessions)
    stuck = Piece()
    production = Production([stuck.generation], stuck._open, lambda: None, None)
    open_session(sessions, "stuck").start(production)
    logs = [sessions.find(None, id) for id in ("c", "stuck")]
    assert not sessions.close(0.2)
    assert all(log is not None and log.is_done for log in logs)
    with pytest.raises(StreamStopped, match="shutting down"):
        open_session(sessions, "new")
    stuck.end()


def test_thousands_come_and_go_in_little_time_and_leave_nothing() -> None:
    sessions = StreamSessions(StreamLimits(keep_s=0.0, sweep_s=0.05))
    began = time.monotonic()
    for number in range(2000):
        session = open_session(sessions, str(number))
        sessions.give_up(session, ValueError("never started"))
    assert time.monotonic() - began < 5
    assert sessions.n_live == 0
    eventually(lambda: not sessions.has_sweeper)


def test_only_so_many_connections_may_follow_and_each_that_leaves_makes_room() -> None:
    sessions = StreamSessions(StreamLimits(n_followers=2))
    sessions.followers.follow()
    sessions.followers.follow()
    with pytest.raises(KeyBusy, match="2 connections follow"):
        sessions.followers.follow()
    sessions.followers.unfollow(7)
    sessions.followers.follow()
    assert sessions.counts() == StreamCounts(resumed=3, bytes_replayed=7)
