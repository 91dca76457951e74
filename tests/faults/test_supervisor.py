"""systemd's protocol: what it is told, when, and when it is told nothing any more."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from api.serving.supervisor import Supervisor
from tests.faults.conftest import StartServer
from tests.support.server_process import free_port
from tests.support.waiting import eventually


class Systemd:
    """Listens where NOTIFY_SOCKET points to."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.lines: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(address.replace("@", "\0", 1))
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.start()

    def _receive(self) -> None:
        while data := self._socket.recv(4096):
            self.lines += data.decode().split("\n")

    def count(self, line: str) -> int:
        return self.lines.count(line)

    def close(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b"", self.address.replace("@", "\0", 1))
        self._thread.join(5)
        self._socket.close()


@pytest.fixture(params=["path", "abstract"])
def systemd(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Systemd]:
    is_path = request.param == "path"
    listener = Systemd(
        str(tmp_path / "n") if is_path else f"@llamactypes-{os.getpid()}"
    )
    yield listener
    listener.close()


def test_it_hears_of_loading_readiness_life_and_the_end(
    systemd: Systemd, start_server: StartServer, tiny_model_path: Path
) -> None:
    server = start_server(
        *("-m", str(tiny_model_path), "--port", "0", "--shutdown-timeout", "7"),
        environment={"NOTIFY_SOCKET": systemd.address, "WATCHDOG_USEC": "300000"},
    )
    eventually(lambda: systemd.count("READY=1") == 1, 20)
    assert server.status("/health") == 200  # at this moment, not later
    assert f"STATUS=ready on {server.url}" in systemd.lines
    assert any(line.startswith("EXTEND_TIMEOUT_USEC=") for line in systemd.lines)
    eventually(lambda: systemd.count("WATCHDOG=1") >= 3)
    assert systemd.count("STOPPING=1") == 0
    assert server.stop() == 0
    eventually(lambda: systemd.count("STOPPING=1") == 1)
    assert "EXTEND_TIMEOUT_USEC=17000000" in systemd.lines


def test_a_failed_engine_gives_no_sign_of_life(
    start_server: StartServer, tiny_model_path: Path, tmp_path: Path
) -> None:
    systemd = Systemd(str(tmp_path / "n"))
    switch = tmp_path / "strike"
    server = start_server(
        *("-m", str(tiny_model_path), "--port", "0"),
        module=("tests.faults.broken_server", "dies", str(switch), "serve"),
        environment={"NOTIFY_SOCKET": systemd.address, "WATCHDOG_USEC": "300000"},
    )
    server.wait_ready()
    switch.touch()
    server.post("/completion", {"prompt": "a", "n_predict": 2})
    eventually(lambda: server.status("/livez") == 503)
    before, since = systemd.count("WATCHDOG=1"), time.monotonic()
    while time.monotonic() - since < 0.6:  # in which six were due
        assert server.status("/livez") == 503
    assert systemd.count("WATCHDOG=1") <= before + 1
    systemd.close()


def test_under_waitress_serve_it_hears_the_same(
    start_server: StartServer, tiny_model_path: Path, tmp_path: Path
) -> None:
    systemd = Systemd(str(tmp_path / "n"))
    server = start_server(
        f"--listen=127.0.0.1:{free_port()}",
        *("--channel-request-lookahead=1", "--call", "api:create_app"),
        module=("waitress",),
        environment={
            "LLAMA_ARG_MODEL": str(tiny_model_path),
            "NOTIFY_SOCKET": systemd.address,
            "WATCHDOG_USEC": "300000",
        },
    )
    server.wait_ready()
    eventually(lambda: systemd.count("READY=1") == 1)
    eventually(lambda: systemd.count("WATCHDOG=1") >= 2)
    assert server.stop(signal.SIGTERM) == 0
    eventually(lambda: systemd.count("STOPPING=1") == 1)
    systemd.close()


def test_nobody_is_told_where_nobody_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    monkeypatch.setattr(socket, "socket", _no_socket)
    told = Supervisor.from_environment()
    told.note_loading(0.5)
    told.note_ready("here")
    told.note_alive(lambda: True)
    told.note_stopping(1)


def _no_socket(*_: object) -> None:
    raise AssertionError("nothing should be opened")


@pytest.mark.parametrize(
    ("pid", "turn_s"), [(str(os.getpid()), 2.0), ("1", float("inf"))]
)
def test_a_watchdog_is_for_the_process_that_it_names(pid: str, turn_s: float) -> None:
    environment = {"WATCHDOG_USEC": "6000000", "WATCHDOG_PID": pid}
    assert Supervisor.from_environment(environment).turn_s == turn_s


def test_a_supervisor_that_went_away_is_said_once(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    gone = Supervisor(str(tmp_path / "nothing"))
    gone.note_ready("one")
    gone.note_ready("two")
    assert len(caplog.records) == 1
    assert "the supervisor cannot be told" in caplog.text


def test_a_supervisor_that_is_behind_hears_what_comes_later(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    address = str(tmp_path / "n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as slow:
        slow.bind(address)
        told = Supervisor(address)
        for _ in range(5000):  # more than any queue of datagrams takes
            told.note_ready("x" * 4096)
        slow.setblocking(False)
        with suppress(BlockingIOError):
            while slow.recv(8192):
                pass
        told.note_ready("here")
        assert slow.recv(8192) == b"READY=1\nSTATUS=ready on here"
    assert not caplog.records
