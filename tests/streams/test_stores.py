"""What every store of streams does: one suite over all of them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.streams.client import Client
from api.streams.limits import StreamLimits
from api.streams.log_body import LogBody
from api.streams.ring import OffsetLost
from api.streams.sessions import StreamSessions
from api.streams.stores.file import FileStore
from api.streams.stores.memory import MemoryStore
from api.streams.stores.reading import ReadableLog
from api.streams.stores.store import Claim, Claimed, StreamStore
from api.streams.tally import Tally, read_end_line
from tests.support.productions import open_session, start
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually

KEEP_S = 30.0


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(params=["memory", "file", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> StreamStore:
    return make_store(request.param, request, tmp_path)


def make_store(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> StreamStore:
    if kind == "memory":
        return MemoryStore()
    if kind == "file":
        return FileStore(tmp_path / "streams", KEEP_S)
    server: RedisServer = request.getfixturevalue("redis")
    from api.streams.stores.redis import RedisStore

    return RedisStore(server.url, KEEP_S)


@pytest.fixture
def sessions(store: StreamStore) -> Iterator[StreamSessions]:
    made = StreamSessions(StreamLimits(ring_bytes=20_000, keep_s=KEEP_S), store)
    yield made
    for key, _ in made.store.entries():
        made.stop(*key)
    assert made.close(5)


def found(sessions: StreamSessions, id: str = "c") -> ReadableLog:
    log = sessions.find(None, id)
    assert log is not None
    return log


def read(log: ReadableLog, offset: int = 0) -> bytes:
    return b"".join(LogBody(log, Client({}), offset))


def test_bytes_are_read_from_any_offset_while_they_come_and_afterwards(
    sessions: StreamSessions,
) -> None:
    story = start(sessions)
    log, got = found(sessions), []
    reader = threading.Thread(target=lambda: got.append(read(log)), daemon=True)
    reader.start()
    for word in ("Once", " upon", " a"):
        story.write(word)
    eventually(lambda: log.n_total > 100)
    story.end()
    reader.join(10)
    whole = read(found(sessions))
    assert got == [whole]
    assert whole.count(b"data: ") == 4
    for offset in range(0, len(whole), 37):
        assert read(found(sessions), offset) == whole[offset:]


def test_the_last_line_counts_everything_before_it(sessions: StreamSessions) -> None:
    story = start(sessions)
    story.write("Once")
    story.end()
    log = found(sessions)
    assert log.wait_done(5)
    *lines, last = read(log).splitlines(keepends=True)
    tally = Tally()
    tally.add(b"".join(lines))
    told = read_end_line(last)
    assert told is not None
    assert (told.n_bytes, told.n_events, told.crc) == (
        tally.n_bytes,
        tally.n_events,
        tally.crc,
    )
    assert tally.n_events == 2
    assert log.n_total == tally.n_bytes + len(last)


def test_dropped_bytes_are_lost_or_in_the_snapshot(sessions: StreamSessions) -> None:
    story = start(sessions)
    for number in range(600):
        story.write(f"{number} ")
    story.end()
    log = found(sessions)
    assert log.wait_done(5)
    eventually(lambda: found(sessions).first > 0)
    log = found(sessions)
    with pytest.raises(OffsetLost) as lost:
        log.read(0, 0.0)
    assert lost.value.first == log.first
    body = b"".join(LogBody(log, Client({}), 0, has_snapshots=True))
    text = "".join(re.findall(r'"content":\s?"([^"]*)"', body.decode()))
    assert text == "".join(f"{number} " for number in range(600))


def test_a_whole_body_is_held_whole(sessions: StreamSessions) -> None:
    story = start(sessions, whole=True)
    assert not found(sessions).wait_done(0.0)
    story.write("x" * 50_000)
    story.end()
    log = found(sessions)
    assert log.wait_done(5)
    assert len(log.read_all()) == 50_012
    assert log.content_type == "application/json"


def test_a_cancelled_stream_ends_with_an_error_event(sessions: StreamSessions) -> None:
    story = start(sessions)
    story.write("Once")
    log = found(sessions)
    eventually(lambda: log.n_total)
    sessions.stop(None, "c")
    assert log.wait_done(5)
    assert story.is_cancelled
    assert b"the conversation was stopped" in read(log)
    assert sessions.find(None, "c") is None


def test_a_new_session_replaces_the_one_before(sessions: StreamSessions) -> None:
    first = start(sessions)
    second = start(sessions)
    second.write("new")
    second.end()
    log = found(sessions)
    assert log.wait_done(5)
    assert first.is_cancelled
    assert b"new" in read(log)


def test_lookup_tells_of_an_owners_streams_and_of_no_others(
    sessions: StreamSessions,
) -> None:
    for id, owner in (("a::m", None), ("ab", None), ("a", "other")):
        start(sessions, id, owner).end()
    assert [id for id, _ in sessions.lookup(None, ["a"])] == ["a::m"]
    assert [id for id, _ in sessions.lookup("other", ["a"])] == ["a"]
    for id, owner in (("a::m", None), ("ab", None), ("a", "other")):
        sessions.stop(owner, id)


def test_a_claim_leads_to_its_log_until_that_is_forgotten(
    sessions: StreamSessions,
) -> None:
    claim = Claim("key", "body")
    story = start(sessions, claim=claim)
    with pytest.raises(Claimed) as claimed:
        open_session(sessions, "another", claim=claim)
    assert claimed.value.conversation_id == "c"
    story.end()
    sessions.stop(None, "c")
    start(sessions, "c", claim=Claim("key", "another body")).end()


def test_silence_is_broken_by_how_far_the_prompt_is(sessions: StreamSessions) -> None:
    story = start(sessions)
    log = found(sessions)
    log.greet()
    assert log.read(0, 0.0)[0] == b":\n"
    story.end()


def test_hundreds_come_and_go_and_leave_nothing(
    sessions: StreamSessions, tmp_path: Path
) -> None:
    for number in range(100):
        start(sessions, f"c{number}").end()
        sessions.stop(None, f"c{number}")
    eventually(lambda: sessions.n_live == 0)
    assert sessions.store.entries() == []
    folder = tmp_path / "streams"
    assert [path.name for path in folder.glob("*.log")] == []
