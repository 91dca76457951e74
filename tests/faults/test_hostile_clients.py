"""Clients that mean harm, or know no better: others do not notice them.

While each of them is at it, /health answers within two seconds; afterwards a normal
chat works, no slot is held and the process is about as large as before.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import re
import resource
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests

from api.http.bulk import LARGE_BYTES
from tests.faults.conftest import MIB, make_server
from tests.support.health_watch import HealthWatch
from tests.support.raw_http import (
    raw_connection,
    raw_request,
    read_to_end,
    receive_reply,
    request_bytes,
    status_of,
)
from tests.support.server_process import ServerProcess
from tests.support.streams import ENDLESS
from tests.support.waiting import eventually

CHAT = "/v1/chat/completions"
LOUD = ENDLESS | {"n_probs": 20}
"""An endless stream with a kilobyte in each event."""
N_SLOTS = 8
GROWTH_BYTES = 128 * MIB
BODY_LIMIT = 512 << 10


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tiny_model_path: Path
) -> Iterator[ServerProcess]:
    flags = (
        *("-np", str(N_SLOTS), "-c", "2048", "--context-shift"),
        *("--write-stall-seconds", "1", "--timeout", "1"),
        *("--max-body-size", str(BODY_LIMIT)),
    )
    folder = tmp_path_factory.mktemp("hostile")
    with make_server(folder, tiny_model_path, *flags) as process:
        process.wait_ready()
        assert_works(process)  # what is made on first use is there from now on
        yield process


@pytest.fixture(autouse=True)
def _harmless(server: ServerProcess) -> Iterator[None]:
    before = psutil.Process(server.process.pid).memory_info().rss
    with HealthWatch(server.url):
        yield
    assert_works(server)
    eventually(lambda: server.n_busy_slots() == 0, within_s=10)
    after = psutil.Process(server.process.pid).memory_info().rss
    assert after - before < GROWTH_BYTES
    assert "Traceback" not in server.err
    assert server.process.poll() is None


def assert_works(server: ServerProcess) -> None:
    reply = server.post(CHAT, chat("Hello"))
    assert reply.json()["usage"]["completion_tokens"] == 4


def chat(text: str) -> dict[str, Any]:
    message = {"role": "user", "content": text}
    return {"messages": [message], "max_tokens": 4, "ignore_eos": True}


def test_eight_clients_that_never_read_are_dropped(server: ServerProcess) -> None:
    before = server.err.count("read nothing")
    with contextlib.ExitStack() as clients:
        for _ in range(N_SLOTS):
            clients.enter_context(raw_request(server.url, "/completion", LOUD))
        eventually(lambda: server.err.count("read nothing") == before + N_SLOTS, 40)
        eventually(lambda: server.n_busy_slots() == 0)


def test_a_client_that_never_reads_is_known_by_little(server: ServerProcess) -> None:
    before = server.err.count("read nothing")
    with raw_request(server.url, "/completion", LOUD) as client:
        eventually(lambda: server.err.count("read nothing") == before + 1, 40)
        n_bytes = 0
        with contextlib.suppress(ConnectionError):
            while piece := client.recv(1 << 16):
                n_bytes += len(piece)
    assert n_bytes < 2 << 20


def test_two_hundred_idle_sockets_cost_nothing(server: ServerProcess) -> None:
    with contextlib.ExitStack() as clients:
        idle = [clients.enter_context(raw_connection(server.url)) for _ in range(200)]
        assert_works(server)
        # They are closed when their time is over (--timeout and a little more).
        for client in idle:
            assert client.recv(1) == b""


def test_a_client_with_slow_headers_is_told_408(server: ServerProcess) -> None:
    with raw_connection(server.url) as client:
        client.sendall(b"GET /health HTTP/1.1\r\n")
        client.settimeout(0.2)
        for number in itertools.count():
            assert number < 100
            with contextlib.suppress(TimeoutError):
                head = client.recv(1000)
                break
            client.sendall(b"X-%d: y\r\n" % number)
    assert status_of(head) == 408


def test_a_client_that_closes_its_sending_half_is_gone(server: ServerProcess) -> None:
    with raw_request(server.url, "/completion", ENDLESS) as client:
        eventually(lambda: server.n_busy_slots() == 1)
        client.shutdown(socket.SHUT_WR)
        eventually(lambda: server.n_busy_slots() == 0, within_s=2)


def test_sixty_four_streams_cut_at_random_moments(server: ServerProcess) -> None:
    def cut(seed: int) -> None:
        chance = random.Random(seed)
        path, body = chance.choice(
            [("/completion", ENDLESS), (CHAT, chat("Hi") | {"stream": True} | LONG)]
        )
        with raw_request(server.url, path, body) as client:
            left = chance.choice((0, chance.randrange(1, 5000)))
            while left > 0 and (piece := client.recv(min(left, 1000))):
                left -= len(piece)
            if chance.random() < 0.5:  # with a reset instead of a farewell
                linger = b"\1\0\0\0\0\0\0\0"
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    run_all(cut, range(64))
    eventually(lambda: server.n_busy_slots() == 0, within_s=10)


LONG = {"max_tokens": 10_000}


def test_a_hundred_posts_at_once_are_answered_or_refused(
    start_small: ServerProcess,
) -> None:
    statuses: list[int] = []

    def post(number: int) -> None:
        reply = requests.post(
            start_small.url + CHAT, json=chat(f"{number} times"), timeout=60
        )
        statuses.append(reply.status_code)
        if reply.status_code == 429:
            assert int(reply.headers["Retry-After"]) > 0
            assert reply.json()["error"]["message"]

    with HealthWatch(start_small.url):
        run_all(post, range(100))
    assert len(statuses) == 100
    assert set(statuses) == {200, 429}
    assert statuses.count(200) >= 2 + 8
    assert_works(start_small)


@pytest.fixture
def start_small(tmp_path: Path, tiny_model_path: Path) -> Iterator[ServerProcess]:
    """Two slots, and eight places to wait."""
    flags = ("-np", "2", "-c", "1024", "--queue-size", "8", "--threads-http", "120")
    with make_server(tmp_path, tiny_model_path, *flags) as process:
        process.wait_ready()
        yield process


@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_a_body_that_is_too_large_is_413_in_json(
    server: ServerProcess, framing: str
) -> None:
    size = BODY_LIMIT + 2 * MIB  # past what waitress may take beyond our own limit
    with raw_connection(server.url) as client:
        if framing == "length":
            head = f"POST {CHAT} HTTP/1.1\r\nContent-Length: {size}\r\n\r\n"
            client.sendall(head.encode())
        else:
            client.sendall(
                b"POST %b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                % CHAT.encode()
            )
        with contextlib.suppress(ConnectionError):
            send_body(client, size, is_chunked=framing == "chunks")
        head_bytes, body = receive_reply(client)
    assert status_of(head_bytes) == 413
    assert str(BODY_LIMIT) in json.loads(body)["error"]["message"]


def send_body(client: socket.socket, size: int, *, is_chunked: bool) -> None:
    piece = b" " * 65536
    for _ in range(0, size, len(piece)):
        client.sendall(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)


BROKEN_CHUNKS = {
    "no number": b"zz\r\n{}\r\n0\r\n\r\n",
    "negative": b"-2\r\n{}\r\n0\r\n\r\n",
    "endless number": b"f" * 4096,
    "endless extension": b"1;a=" + b"b" * 4096,
    "endless trailer": b"2\r\n{}\r\n0\r\n" + b"X: y\r\n" * 20_000,
    "too long": b"1\r\n{}\r\n0\r\n\r\n",
    "no line end": b"2{}0\r\n\r\n",
    "null": b"\0\r\n{}\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("body", BROKEN_CHUNKS.values(), ids=BROKEN_CHUNKS.keys())
def test_a_malformed_chunked_body_is_400_in_json(
    server: ServerProcess, body: bytes
) -> None:
    head = b"POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with raw_connection(server.url) as client:
        client.sendall(head + body)
        answer = read_to_end(client)
    status, _, rest = answer.partition(b"\r\n\r\n")
    assert status_of(status) == 400
    assert json.loads(rest)["error"]["message"]


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_body_that_is_framed_twice_is_400_and_nothing_behind_it_is_served(
    server: ServerProcess, version: str
) -> None:
    head = f"POST /tokenize HTTP/{version}\r\nHost: x\r\nConnection: keep-alive\r\n"
    framed = (
        b"Transfer-Encoding: chunked\r\nContent-Length: 7\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    )
    hidden = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    with raw_connection(server.url) as client:
        client.sendall(head.encode() + framed + hidden)
        answer = read_to_end(client)
    assert status_of(answer) == 400
    assert answer.count(b"HTTP/1.") == 1


def test_a_full_table_of_descriptors_keeps_nobody_out(server: ServerProcess) -> None:
    process = psutil.Process(server.process.pid)
    limit = process.rlimit(resource.RLIMIT_NOFILE)
    try:
        process.rlimit(resource.RLIMIT_NOFILE, (process.num_fds() + 8, limit[1]))
        with contextlib.ExitStack() as clients:
            for _ in range(30):
                clients.enter_context(raw_connection(server.url))
            assert_works(server)
            eventually(lambda: "idle ones are closed for new ones" in server.err)
    finally:
        process.rlimit(resource.RLIMIT_NOFILE, limit)


def test_large_bodies_from_many_clients_do_not_delay_others(
    server: ServerProcess,
) -> None:
    """Each large enough to wait for its turn, and with much to read and to answer."""
    body = {"content": "word " * (LARGE_BYTES // 5)}

    def post(number: int) -> None:
        with raw_connection(server.url, timeout_s=30) as client:
            client.sendall(request_bytes("/tokenize", body))
            head, tokens = receive_reply(client)
            assert status_of(head) == 200
            assert len(tokens) > LARGE_BYTES // 5

    run_all(post, range(24))


def test_requests_in_one_packet_are_answered_in_order(server: ServerProcess) -> None:
    """A pipeline of hundreds must not let one client take all workers."""
    n = 200
    with raw_connection(server.url) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n" * n)
        data = b""
        while data.count(b'{"status":"ok"}') < n:
            piece = client.recv(65536)
            assert piece
            data += piece
    assert len(re.findall(rb"HTTP/1.1 200", data)) == n


def run_all(work: Any, numbers: Any) -> None:
    """Do it for each number at once; fail with the first failure."""
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # shown below, in the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=run, args=(n,), daemon=True) for n in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    if failures:
        raise failures[0]
