"""Reads that are cut and resumed, of any store: the bytes are those of an uncut one.

LLAMACTYPES_FAULT_RUNS=500 makes as many runs of each store. Through sockets the same is
in tests/faults/test_interrupted_reads.py.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.streams.limits import StreamLimits
from api.streams.sessions import StreamSessions
from api.streams.stores.file import FileStore
from api.streams.stores.memory import MemoryStore
from tests.support.productions import Story, start
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually

RUNS = int(os.environ.get("LLAMACTYPES_FAULT_RUNS", "8"))
N_READERS = 3
WORDS = ("Once", " größe", " 🙂", "\n\n", " id: 3", "x" * 300)


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(params=["memory", "file", "redis"])
def servers(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[list[StreamSessions]]:
    """Who writes, and who may be asked: with Redis another server, too."""
    limits = StreamLimits()
    if request.param == "redis":
        from api.streams.stores.redis import RedisStore

        url = request.getfixturevalue("redis").url
        made = [StreamSessions(limits, RedisStore(url, 60)) for _ in range(2)]
    elif request.param == "file":
        made = [StreamSessions(limits, FileStore(tmp_path / "streams", 60))]
    else:
        made = [StreamSessions(limits, MemoryStore())]
    yield made
    for each in made:
        assert each.close(5)


def write(story: Story, chance: random.Random) -> None:
    for _ in range(chance.randrange(1, 30)):
        story.write(chance.choice(WORDS))
        if chance.random() < 0.2:
            threading.Event().wait(0.001)
    story.end()


def read_in_cuts(
    servers: list[StreamSessions], id: str, chance: random.Random
) -> bytes:
    """Read some bytes, leave, and come back to any server, until the end."""
    got, is_end = b"", False
    while not is_end:
        log = chance.choice(servers).find(None, id)
        assert log is not None
        room = chance.randrange(1, 3000)
        log.attach()
        while room > 0 and not is_end:
            data, is_end = log.read(len(got), 1.0)
            is_end = is_end and len(data) <= room
            got, room = got + data[:room], room - len(data)
        log.detach()
    return got


def _read_into(
    found: list[bytes],
    servers: list[StreamSessions],
    id: str,
    chance: random.Random,
) -> None:
    found.append(read_in_cuts(servers, id, chance))


def test_cut_and_resumed_reads_are_the_bytes_of_an_uncut_one(
    servers: list[StreamSessions],
) -> None:
    for number in range(RUNS):
        seeds = random.Random(number)
        id = f"run {number}"
        found: list[bytes] = []
        story = start(servers[0], id)
        readers = [
            threading.Thread(
                target=_read_into,
                args=(found, servers, id, random.Random(seeds.random())),
                daemon=True,
            )
            for _ in range(N_READERS)
        ]
        for each in readers:
            each.start()
        write(story, seeds)
        for each in readers:
            each.join(20)
            assert not each.is_alive()
        log = servers[0].find(None, id)
        assert log is not None
        assert len(found) == N_READERS
        assert set(found) == {log.read_all()}
        for server in servers:
            server.stop(None, id)
        eventually(lambda: servers[0].n_live == 0)
