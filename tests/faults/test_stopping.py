"""Ending at any moment: status 0, in time, in order, without a traceback."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import requests

from tests.server.conftest import EIGHT_SLOTS, StartServer
from tests.support.raw_http import raw_request
from tests.support.server_process import (
    ROOT,
    ServerProcess,
    clean_environment,
    elapsed_s,
    free_port,
)
from tests.support.streams import ENDLESS, StreamReader
from tests.support.waiting import eventually

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def assert_clean_end(server: ServerProcess) -> None:
    assert "Traceback" not in server.err
    assert "Traceback" not in server.out
    freed = [
        server.err.find(f"{what} freed") for what in ("context", "model", "backend")
    ]
    assert freed == sorted(freed)
    assert freed[0] >= 0, server.err


@pytest.mark.parametrize("number", SIGNALS)
def test_stop_ends_at_once_when_idle(
    start_server: StartServer, tiny_model_path: Path, number: int
) -> None:
    server = start_server("-m", str(tiny_model_path), "--port", "0")
    server.wait_ready()
    since = time.monotonic()
    assert server.stop(number) == 0
    assert elapsed_s(since) < 2
    assert_clean_end(server)


def test_stop_ends_when_not_listening_yet(
    start_server: StartServer, tiny_model_path: Path
) -> None:
    server = start_server("-m", str(tiny_model_path), "--port", "0")
    server.wait_handlers()
    assert server.stop() == 0
    assert "Traceback" not in server.err


def test_stop_ends_while_loading(start_server: StartServer, smollm2_path: Path) -> None:
    server = start_server("-m", str(smollm2_path), "--port", "0", "--load-mode", "none")
    server.wait_listening()
    assert server.stop(signal.SIGINT) == 0
    assert "ready on" not in server.out
    assert "Traceback" not in server.err


def test_stop_is_not_delayed_by_idle_connections(
    start_server: StartServer, tiny_model_path: Path
) -> None:
    server = start_server("-m", str(tiny_model_path), "--port", "0")
    server.wait_ready()
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as idle:
        idle.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert idle.recv(12) == b"HTTP/1.1 200"
        since = time.monotonic()
        assert server.stop() == 0
        assert elapsed_s(since) < 2


def test_stop_ends_eight_endless_streams_with_an_error_event(
    start_server: StartServer, stories_model_path: Path
) -> None:
    server = start_server(
        "-m",
        str(stories_model_path),
        "--port",
        "0",
        *EIGHT_SLOTS,
        "--shutdown-timeout",
        "0.5",
    )
    server.wait_ready()
    readers = [StreamReader(server.url + "/completion", ENDLESS) for _ in range(8)]
    eventually(lambda: all(len(reader.events) > 3 for reader in readers), within_s=20)
    assert server.stop(within_s=6) == 0
    for reader in readers:
        reader.join()
        assert reader.has_error
        assert reader.failure is None
    assert_clean_end(server)


def test_stop_lets_a_stream_finish_within_the_drain_time(
    start_server: StartServer, stories_model_path: Path
) -> None:
    server = start_server(
        "-m", str(stories_model_path), "--port", "0", "--shutdown-timeout", "20"
    )
    server.wait_ready()
    body = ENDLESS | {"n_predict": 500}
    reader = StreamReader(server.url + "/completion", body)
    eventually(lambda: len(reader.events) > 3)
    assert server.stop(within_s=20) == 0
    reader.join()
    assert reader.has_finish
    assert not reader.has_error
    assert_clean_end(server)


def test_stop_ends_readiness_at_once_and_lets_streams_go_on(
    start_server: StartServer, stories_model_path: Path
) -> None:
    server = start_server(
        "-m",
        str(stories_model_path),
        "--port",
        "0",
        *EIGHT_SLOTS,
        "--shutdown-timeout",
        "2",
    )
    server.wait_ready()
    reader = StreamReader(server.url + "/completion", ENDLESS)
    eventually(lambda: len(reader.events) > 3)
    server.send()
    eventually(lambda: server.status("/readyz") == 503)
    for path in ("/health", "/readyz"):
        assert_refused(server.get(path))
    assert_refused(server.post("/v1/chat/completions", {"messages": []}))
    alive = server.get("/livez")
    assert alive.status_code == 200
    assert alive.headers["Connection"] == "close"
    n_events = len(reader.events)
    eventually(lambda: len(reader.events) > n_events)
    assert server.wait_exit(within_s=8) == 0
    assert server.status("/livez") == 0
    reader.join()
    assert reader.has_error


def assert_refused(reply: requests.Response) -> None:
    assert reply.status_code == 503
    assert int(reply.headers["Retry-After"]) > 0
    assert reply.headers["Connection"] == "close"
    assert reply.json()["error"]["type"] == "unavailable_error"


def test_stop_can_be_hastened_by_who_waits_for_the_stream(
    start_server: StartServer, stories_model_path: Path
) -> None:
    server = start_server("-m", str(stories_model_path), "--port", "0", *EIGHT_SLOTS)
    server.wait_ready()
    named = {"X-Conversation-Id": "trip"}
    reader = StreamReader(server.url + "/completion", ENDLESS, named)
    body = {"input": "Once", "ignore_eos": True, "background": True}
    later = server.post("/v1/responses", body).json()["id"]
    eventually(lambda: len(reader.events) > 3)
    server.send()
    eventually(lambda: server.status("/readyz") == 503)
    known = server.post("/v1/streams/lookup", {"conversation_ids": ["trip"]})
    assert known.json()[0]["is_done"] is False
    assert server.post(f"/v1/responses/{later}/cancel", {}).status_code == 200
    url = server.url + "/v1/stream/trip"
    assert requests.delete(url, timeout=5).status_code == 204
    assert server.wait_exit(within_s=5) == 0
    reader.join()
    assert reader.has_error


def test_stop_does_not_wait_for_a_long_prompt(
    start_server: StartServer, smollm2_path: Path
) -> None:
    server = start_server(
        "-m", str(smollm2_path), "--port", "0", "--shutdown-timeout", "0.2"
    )
    server.wait_ready()
    body = {"prompt": "word " * 7000, "stream": True, "n_predict": 1}
    reader = StreamReader(server.url + "/completion", body)
    eventually(lambda: server.n_busy_slots() == 1)
    since = time.monotonic()
    assert server.stop() == 0
    assert elapsed_s(since) < 3
    reader.join()
    assert not reader.has_finish
    assert_clean_end(server)


def test_stop_does_not_wait_for_a_client_that_never_reads(
    start_server: StartServer, stories_model_path: Path
) -> None:
    server = start_server(
        "-m", str(stories_model_path), "--port", "0", *EIGHT_SLOTS,
        "--shutdown-timeout", "0.5",
    )  # fmt: skip
    server.wait_ready()
    with raw_request(server.url, "/completion", ENDLESS | {"n_probs": 20}) as client:
        eventually(lambda: _unsent_bytes(client) > 64 << 10, within_s=30)
        assert server.stop(within_s=6) == 0
    assert "Traceback" not in server.err
    assert "backend freed" in server.err


def _unsent_bytes(client: socket.socket) -> int:
    """Return what the server's kernel holds for `client` (/proc/net/tcp, tx_queue)."""
    port = f":{client.getsockname()[1]:04X}"
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[2].endswith(port):
            return int(fields[4].partition(":")[0], 16)
    return 0


def test_second_signal_ends_at_once(
    start_server: StartServer, stories_model_path: Path
) -> None:
    server = start_server(
        "-m",
        str(stories_model_path),
        "--port",
        "0",
        *EIGHT_SLOTS,
        "--shutdown-timeout",
        "60",
    )
    server.wait_ready()
    reader = StreamReader(server.url + "/completion", ENDLESS)
    eventually(lambda: len(reader.events) > 3)
    server.send()
    eventually(lambda: "stopping" in server.err)
    since = time.monotonic()
    eventually(lambda: server.send() or server.process.poll() is not None)
    assert server.wait_exit(1) == 1
    assert elapsed_s(since) < 2
    reader.join()


def test_second_signal_leaves_no_socket_file(
    start_server: StartServer, stories_model_path: Path, tmp_path: Path
) -> None:
    path = tmp_path / "llm.sock"
    flags = ("--host", f"127.0.0.1,{path}", "--port", str(free_port()))
    server = start_server("-m", str(stories_model_path), *flags, *EIGHT_SLOTS)
    server.wait_ready()
    reader = StreamReader(server.url + "/completion", ENDLESS)
    eventually(lambda: len(reader.events) > 3)
    assert path.exists()
    server.send()
    eventually(lambda: "stopping" in server.err)
    eventually(lambda: server.send() or server.process.poll() is not None)
    assert server.wait_exit(1) == 1
    assert not path.exists()
    reader.join()


def test_a_start_that_fails_half_way_leaves_nothing(
    start_server: StartServer, tiny_model_path: Path, tmp_path: Path
) -> None:
    path = tmp_path / "llm.sock"
    server = start_server(
        "-m",
        str(tiny_model_path),
        "--host",
        str(path),
        environment={"AIP_MODE": "PREDICTION", "AIP_PREDICT_ROUTE": "/health"},
    )
    assert server.wait_exit(20) == 2
    assert "AIP_PREDICT_ROUTE" in server.err
    assert not path.exists()


def test_signal_that_comes_twice_at_once_is_one(
    start_server: StartServer, tiny_model_path: Path
) -> None:
    server = start_server("-m", str(tiny_model_path), "--port", "0")
    server.wait_ready()
    server.send(signal.SIGINT)
    assert server.stop(signal.SIGINT) == 0
    assert_clean_end(server)


def test_server_starts_and_stops_again_on_the_same_port(
    start_server: StartServer, tiny_model_path: Path
) -> None:
    server = start_server("-m", str(tiny_model_path), "--port", "0")
    server.wait_ready()
    port = server.url.rpartition(":")[2]
    assert server.stop() == 0
    again = start_server("-m", str(tiny_model_path), "--port", port)
    again.wait_ready()
    assert again.stop() == 0


def test_process_1_of_a_container_ends_by_the_signal(
    tmp_path: Path, tiny_model_path: Path
) -> None:
    """In a namespace of its own, where nothing but our handlers would end it."""
    inside = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]
    refused = subprocess.run([*inside, "true"], capture_output=True, check=False)
    if refused.returncode:
        pytest.skip(f"no namespaces here: {refused.stderr.decode().strip()}")
    flags = ("-m", "api", "serve", "-m", str(tiny_model_path), "--port", "0")
    log = tmp_path / "log"
    with log.open("wb") as out:
        outer = subprocess.Popen(
            [*inside, sys.executable, *flags],
            cwd=ROOT,
            env=clean_environment(),
            stdout=out,
            stderr=out,
        )
    try:
        eventually(lambda: "ready on" in log.read_text(), within_s=20)
        (server,) = psutil.Process(outer.pid).children()
        status = Path(f"/proc/{server.pid}/status").read_text()
        assert re.search(r"NSpid:\t\d+\t1\n", status)
        server.terminate()
        assert outer.wait(10) == 0
    finally:
        outer.kill()
        outer.wait(10)
    assert "backend freed" in log.read_text()
