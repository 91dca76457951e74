"""Several servers with one Redis: any of them reads, stops and replaces streams."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.errors import StreamInterrupted
from api.streams.client import Client
from api.streams.limits import StreamLimits
from api.streams.log_body import LogBody
from api.streams.sessions import StreamSessions
from api.streams.stores import redis_log, redis_mirror
from api.streams.stores.reading import ReadableLog
from api.streams.stores.store import Claim, Claimed
from api.streams.tally import Tally, read_end_line
from tests.support.productions import Story, open_session, start
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually

RING = 20_000
FREEZE_S = float(os.environ.get("LLAMACTYPES_REDIS_FREEZE_S", "0"))
"""How much longer Redis is frozen than until somebody has noticed."""


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path) as server:
        yield server


def make(redis: RedisServer, keep_s: float = 30, **limits: float) -> StreamSessions:
    from api.streams.stores.redis import RedisStore

    chosen = StreamLimits(ring_bytes=RING, keep_s=keep_s, **limits)  # type: ignore[arg-type]
    return StreamSessions(chosen, RedisStore(redis.url, keep_s))


class Pair:
    """Two servers."""

    def __init__(self, redis: RedisServer) -> None:
        self.one, self.two = make(redis), make(redis)

    def close(self) -> None:
        for each in (self.one, self.two):
            for key, _ in each.store.entries():
                each.stop(*key)
            assert each.close(5)


@pytest.fixture
def pair(redis: RedisServer) -> Iterator[Pair]:
    made = Pair(redis)
    yield made
    made.close()


def find(sessions: StreamSessions, id: str = "c") -> ReadableLog:
    log = sessions.find(None, id)
    assert log is not None
    return log


def read(log: ReadableLog, offset: int = 0) -> bytes:
    return b"".join(LogBody(log, Client({}), offset))


def follow(log: ReadableLog, offset: int = 0) -> tuple[threading.Thread, list[bytes]]:
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(read(log, offset)), daemon=True)
    reader.start()
    return reader, got


def tell(sessions: StreamSessions, *words: str, id: str = "c") -> Story:
    story = start(sessions, id)
    log = find(sessions, id)
    for number, word in enumerate(words, start=1):
        story.write(word)
        eventually(lambda number=number: log.n_events == number)
    return story


def test_a_stream_of_one_server_is_followed_through_the_other(pair: Pair) -> None:
    story = tell(pair.one, "Once", " upon")
    log = find(pair.two)
    eventually(lambda: log.read(0, 0.1)[0].count(b"\n\n") == 2)
    reader, got = follow(find(pair.two), 10)
    late, rest = follow(find(pair.two))
    story.write(" a time")
    story.end()
    for each in (reader, late):
        each.join(10)
        assert not each.is_alive()
    whole = read(find(pair.one))
    assert got == [whole[10:]]
    assert rest == [whole]
    assert find(pair.two).crc == find(pair.one).crc


def test_a_stop_through_the_other_server_ends_it_within_a_second(pair: Pair) -> None:
    story = tell(pair.one, "Once")
    reader, got = follow(find(pair.two))
    began = time.monotonic()
    pair.two.stop(None, "c")
    eventually(lambda: story.is_cancelled, 1)
    assert time.monotonic() - began < 1
    reader.join(5)
    assert b"the conversation was stopped" in got[0]
    assert pair.two.find(None, "c") is None
    eventually(lambda: pair.one.find(None, "c") is None)


def test_a_conversation_has_one_session_on_all_servers(pair: Pair) -> None:
    first = tell(pair.one, "old")
    second = tell(pair.two, "new")
    eventually(lambda: first.is_cancelled, 1)
    second.end()
    assert find(pair.two).wait_done(5)
    eventually(lambda: b"new" in read(find(pair.one)))
    assert not second.is_cancelled


def test_lookup_and_claims_reach_over_servers(pair: Pair) -> None:
    claim = Claim("key", "body")
    story = start(pair.one, "a::m", claim=claim)
    story.write("Once")
    eventually(lambda: [id for id, _ in pair.two.lookup(None, ["a"])] == ["a::m"])
    assert pair.two.lookup("other", ["a"]) == []
    with pytest.raises(Claimed) as claimed:
        open_session(pair.two, "b", claim=claim)
    assert claimed.value.conversation_id == "a::m"
    story.end()
    assert claimed.value.log.wait_done(5)
    assert b"Once" in read(claimed.value.log)


def test_a_whole_body_is_fetched_through_the_other_server(pair: Pair) -> None:
    story = start(pair.one, whole=True)
    log = find(pair.two)
    assert not log.wait_done(0.0)
    story.write("x" * 300_000)
    story.end()
    assert log.wait_done(5)
    assert len(log.read_all()) == 300_012


def test_dropped_bytes_are_in_the_snapshot_of_the_other_server(pair: Pair) -> None:
    story = start(pair.one)
    for number in range(600):
        story.write(f"{number} ")
    story.end()
    assert find(pair.one).wait_done(5)
    eventually(lambda: find(pair.two).is_done)
    both = [
        b"".join(LogBody(find(each), Client({}), 0, has_snapshots=True))
        for each in (pair.one, pair.two)
    ]
    assert both[0] == both[1]


def test_a_reader_elsewhere_keeps_a_stream_from_being_an_orphan(
    redis: RedisServer,
) -> None:
    one, two = make(redis, orphan_s=1.0), make(redis)
    story = tell(one, "Once")
    reader, got = follow(find(two))
    late = time.monotonic() + 1.6
    eventually(lambda: story.is_cancelled or time.monotonic() > late)
    assert not story.is_cancelled
    story.end()
    reader.join(5)
    assert b"[DONE]" in got[0]
    two.stop(None, "c")
    assert one.close(5)
    assert two.close(5)


def test_a_dead_servers_stream_ends_with_an_error_event(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_mirror, "_LEASE_MS", 400)
    monkeypatch.setattr(redis_log, "_GRACE_S", 0.2)
    one, two = make(redis), make(redis)
    tell(one, "Once")
    log = find(two)
    eventually(lambda: log.read(0, 0.1)[0])
    one.store._mirror._work = list  # type: ignore[attr-defined]
    body = read(log)
    assert b"Once" in body
    assert b"stream_interrupted" in body
    assert isinstance(log.error, StreamInterrupted)
    *lines, last = body.splitlines(keepends=True)
    tally, told = Tally(), read_end_line(last)
    tally.add(b"".join(lines))
    assert told is not None
    assert (told.n_bytes, told.crc) == (tally.n_bytes, tally.crc)
    two.stop(None, "c")
    one.close(1)
    assert two.close(5)


def test_a_frozen_redis_stops_nothing_and_misses_nothing_afterwards(
    own_redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    pair = Pair(own_redis)
    story = tell(pair.one, "Once")
    log = find(pair.one)
    reader, got = follow(find(pair.two))
    own_redis.freeze()
    try:
        for number, word in enumerate(("b", "c", "d"), start=2):
            story.write(word)
            eventually(lambda number=number: log.n_events == number)
        eventually(lambda: pair.one.counts().store_errors, 10)
        eventually(lambda: pair.two.counts().store_errors, 10)
        until = time.monotonic() + FREEZE_S
        eventually(lambda: time.monotonic() >= until, FREEZE_S + 5)
    finally:
        own_redis.thaw()
    story.end()
    reader.join(15)
    assert not reader.is_alive()
    assert got == [read(find(pair.one))]
    assert got[0].count(b"data: ") == 5
    eventually(lambda: caplog.text.count("works again") == 2)
    lines = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert len(lines) <= 2  # one of each server
    pair.close()


def test_a_restarted_redis_is_told_everything_again(own_redis: RedisServer) -> None:
    pair = Pair(own_redis)
    story = tell(pair.one, "Once")
    tell(pair.one, "over", id="ended").end()
    eventually(lambda: find(pair.two, "ended").is_done)
    reader, got = follow(find(pair.two))
    own_redis.stop()
    story.write(" upon")
    own_redis.start()
    story.write(" a time")
    story.end()
    reader.join(15)
    assert not reader.is_alive()
    assert got == [read(find(pair.one))]
    eventually(lambda: pair.two.find(None, "ended") is not None, 10)
    pair.close()


def test_without_any_redis_each_server_has_its_own_streams(
    own_redis: RedisServer,
) -> None:
    own_redis.stop()
    sessions = make(own_redis)
    tell(sessions, "Once").end()
    assert find(sessions).wait_done(5)
    assert b"Once" in read(find(sessions))
    assert sessions.counts().store_errors > 0
    assert [id for id, _ in sessions.lookup(None, ["c"])] == ["c"]
    sessions.stop(None, "c")
    assert sessions.find(None, "c") is None
    sessions.close(5)


def test_expired_streams_leave_nothing_in_redis(own_redis: RedisServer) -> None:
    sessions = make(own_redis, keep_s=0.5, sweep_s=0.1)
    for number in range(20):
        tell(sessions, "Once", id=f"c{number}").end()
    client = sessions.store._client  # type: ignore[attr-defined]
    assert client.zcard("llamactypes:owner:") > 0
    eventually(lambda: client.zcard("llamactypes:owner:") == 0, 10)
    eventually(lambda: not client.keys("llamactypes:stream:*"), 10)
    assert sessions.close(5)
