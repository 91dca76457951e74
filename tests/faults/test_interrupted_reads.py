"""Reads that are cut anywhere and resumed: the bytes are those of an uncut one.

A real server over an engine that the test plays, so that the moments of cuts do not
depend on a model. LLAMACTYPES_FAULT_RUNS=500 makes as many runs, and 10,000 sessions.
"""

from __future__ import annotations

import os
import random
import re
import socket
import threading
import zlib
from collections.abc import Iterator

import psutil
import pytest

from tests.api.conftest import Api
from tests.support.app_server import AppServer
from tests.support.fake_engine import FakeEngine, delta, result
from tests.support.raw_http import raw_connection, read_to_end, request_bytes, status_of
from tests.support.waiting import eventually

RUNS = int(os.environ.get("LLAMACTYPES_FAULT_RUNS", "40"))
SESSIONS = 20 * RUNS
N_READERS = 3
TEXTS = (
    "Once",
    " upon",
    " a",
    " time",
    " größe",
    " 🙂",
    "\n\n",
    '"',
    " data: x\n\nid: 3",
)
MIB = 1 << 20
END = re.compile(rb"\n: end bytes=(\d+) events=\d+ crc32=([0-9a-f]{8})\n$")
"""What a complete stream ends with: a client can prove that nothing was lost."""


@pytest.fixture(scope="module")
def server() -> Iterator[AppServer]:
    engine = FakeEngine(is_manual=True)
    with AppServer(engine, threads_http=24, stream_keep_s=60.0) as server:
        yield server


class Run:
    """One generation, written by one thread and read by others that are cut."""

    def __init__(self, server: AppServer, number: int) -> None:
        self._server = server
        self._name = f"run-{number}"
        self._chance = random.Random(number)
        self.failures: list[BaseException] = []
        self.parts: dict[int, bytes] = {}

    def write(self) -> None:
        generation = self._server.engine.generations[-1]
        chance = random.Random(self._name)
        for n in range(chance.randrange(1, 60)):
            generation.append(delta(chance.choice(TEXTS), [n], n_decoded=n), None)
            if chance.random() < 0.3:
                threading.Event().wait(chance.random() * 0.004)
        generation.append(None, result())

    def start(self) -> None:
        """Ask for the stream; leave at once, or after a part, or never."""
        headers = (f"X-Conversation-Id: {self._name}",)
        body = {"prompt": self._name, "stream": True}
        known = len(self._server.engine.requests)
        with raw_connection(self._server.url) as client:
            client.sendall(request_bytes("/completion", body, *headers))
            eventually(lambda: len(self._server.engine.requests) > known)
            threading.Thread(target=self._guard, args=(self.write,)).start()
            for _ in range(self._chance.randrange(3)):
                client.recv(self._chance.randrange(1, 400))

    def follow(self, reader: int) -> None:
        """Read to the end, however often the connection is cut meanwhile."""
        chance = random.Random(f"{self._name}/{reader}")
        data = b""
        while not END.search(data):
            data += self._read(len(data), chance.choice((1, 30, 300, 3000)), chance)
        self.parts[reader] = data + self._read(len(data), None, chance)

    def _read(self, offset: int, most: int | None, chance: random.Random) -> bytes:
        if chance.random() < 0.5:
            where, cursor = f"?from={offset}", "X: y"
        else:
            where, cursor = "", f"Last-Event-ID: {offset}"
        head = f"GET /v1/stream/{self._name}{where} HTTP/1.0\r\n{cursor}\r\n\r\n"
        with raw_connection(self._server.url) as client:
            client.sendall(head.encode())
            raw = read_to_end(client) if most is None else read_part(client, most)
        status, _, body = raw.partition(b"\r\n\r\n")
        assert status_of(status) == 200, raw
        return body

    def whole(self) -> bytes:
        return self._read(0, None, self._chance)

    def in_thread(self, reader: int) -> threading.Thread:
        thread = threading.Thread(
            target=self._guard, args=(self.follow, reader), daemon=True
        )
        thread.start()
        return thread

    def _guard(self, work: object, *arguments: int) -> None:
        try:
            work(*arguments)  # type: ignore[operator]
        except BaseException as error:  # shown by the test's own thread
            self.failures.append(error)


def read_part(client: socket.socket, most: int) -> bytes:
    """Return the head and so many bytes of the body, or less at the end."""
    raw = b""
    while len(raw.partition(b"\r\n\r\n")[2]) < most:
        piece = client.recv(4096)
        if not piece:
            break
        raw += piece
    return raw[: raw.index(b"\r\n\r\n") + 4 + most]


@pytest.mark.parametrize("number", range(RUNS))
def test_cut_and_resumed_reads_are_the_bytes_of_an_uncut_one(
    server: AppServer, number: int
) -> None:
    run = Run(server, number)
    n_before = len(server.engine.requests)
    run.start()
    threads = [run.in_thread(reader) for reader in range(N_READERS)]
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    assert not run.failures
    whole = run.whole()
    assert set(run.parts.values()) == {whole}
    assert len(run.parts) == N_READERS
    told = END.search(whole)
    assert told
    n_bytes = int(told[1])
    assert f"{zlib.crc32(whole[:n_bytes]):08x}".encode() == told[2]
    assert whole[n_bytes:] == told[0].removeprefix(b"\n")
    # No resume has started a second generation.
    assert len(server.engine.requests) == n_before + 1


def test_sessions_come_and_go_with_flat_memory() -> None:
    limits = {"stream_keep_s": 0.0, "stream_gc_s": 0.05, "stream_memory_mib": 4096}
    others = set(threading.enumerate())  # applications of other tests have streams, too
    api = Api(FakeEngine("abc" * 20), **limits)
    body = {"prompt": "a", "stream": True}

    def come_and_go(first: int, n: int) -> int:
        for number in range(first, first + n):
            headers = {"X-Conversation-Id": f"c{number}"}
            assert api.post("/completion", body, headers=headers).status_code == 200
            api.engine.generations.clear()  # the fake remembers everything
            api.engine.requests.clear()
        eventually(lambda: api.get("/v1/stream/c0").status_code == 404)
        return psutil.Process().memory_info().rss

    warm = come_and_go(0, 200)
    assert come_and_go(200, SESSIONS) - warm < 16 * MIB
    eventually(lambda: not _stream_threads() - others)


def _stream_threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if "llamactypes-stream" in each.name}
