"""An engine thread that is lost while streams are open: by dying, or in a decode.

Whoever reads gets an error event, health turns bad at once, and what a client or the
log is told holds no secret of the failure.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from tests.faults.broken_server import SECRET
from tests.faults.conftest import StartServer
from tests.support.server_process import ServerProcess
from tests.support.streams import ENDLESS, StreamReader
from tests.support.waiting import eventually

SLOTS = ("-np", "4", "-c", "1024", "--context-shift")


class Broken:
    """A server whose next decode fails once `strike` was called."""

    def __init__(self, server: ServerProcess, switch: Path) -> None:
        self.server = server
        self._switch = switch
        self.readers: list[StreamReader] = []
        self.later = ""
        """Id of a response in background."""

    def open_streams(self) -> None:
        """Open a plain stream, one that can be resumed, and one in background."""
        url = self.server.url + "/completion"
        named = {"X-Conversation-Id": "kept"}
        self.readers = [StreamReader(url, ENDLESS), StreamReader(url, ENDLESS, named)]
        asked = {"input": "Once", "background": True, "ignore_eos": True}
        self.later = self.server.post("/v1/responses", asked).json()["id"]
        eventually(lambda: all(len(reader.events) > 2 for reader in self.readers), 20)
        eventually(lambda: self.server.n_busy_slots() == 3)

    def strike(self) -> None:
        self._switch.touch()


Break = Callable[..., Broken]


@pytest.fixture
def break_server(
    start_server: StartServer, tiny_model_path: Path, tmp_path: Path
) -> Break:
    def start(fault: str, *flags: str) -> Broken:
        switch = tmp_path / "strike"
        server = start_server(
            *("-m", str(tiny_model_path), "--port", "0", *SLOTS, *flags),
            module=("tests.faults.broken_server", fault, str(switch), "serve"),
        )
        server.wait_ready()
        return Broken(server, switch)

    return start


def assert_everybody_was_told(broken: Broken) -> None:
    server = broken.server
    for reader in broken.readers:
        reader.join(10)
        assert reader.failure is None
        assert reader.has_error
        assert not reader.has_finish
        assert SECRET not in str(reader.events[-1])
    for path in ("/health", "/readyz", "/livez"):
        reply = server.get(path)
        assert reply.status_code == 503
        assert SECRET not in reply.text
    refused = server.post("/completion", {"prompt": "a"})
    assert refused.status_code == 500
    assert refused.headers["x-should-retry"] == "false"
    assert SECRET not in refused.text
    # What was written before the failure is still there to be read.
    kept = server.get("/v1/stream/kept").text
    assert "error" in kept.split("\n\n")[-2]
    assert len(kept) > 200
    later = server.get(f"/v1/responses/{broken.later}")
    assert later.json()["status"] == "failed"
    assert SECRET not in later.text


@pytest.mark.parametrize("fault", ["dies", "raises"])
def test_an_engine_thread_that_ends_fails_every_stream_and_health(
    break_server: Break, fault: str
) -> None:
    broken = break_server(fault)
    broken.open_streams()
    broken.strike()
    assert_everybody_was_told(broken)
    assert "the engine failed" in broken.server.err
    assert SECRET not in broken.server.err
    assert "Traceback" not in broken.server.err
    assert broken.server.stop(within_s=5) == 0


def test_the_watchdog_notices_a_decode_that_never_returns(break_server: Break) -> None:
    broken = break_server("hangs", "--watchdog-seconds", "1")
    broken.open_streams()
    broken.strike()
    eventually(lambda: "--watchdog-seconds" in broken.server.err, 10)
    assert_everybody_was_told(broken)
    assert broken.server.stop(within_s=8) == 0


def test_without_a_watchdog_a_stop_ends_streams_of_a_decode_that_hangs(
    break_server: Break,
) -> None:
    broken = break_server("hangs", "--shutdown-timeout", "0.5")
    broken.open_streams()
    broken.strike()
    assert broken.server.stop(within_s=10) == 0
    for reader in broken.readers:
        reader.join(5)
        assert reader.has_error


def test_a_server_that_shall_not_outlive_its_engine_ends_with_status_1(
    break_server: Break,
) -> None:
    broken = break_server("hangs", "--exit-on-failure", "--watchdog-seconds", "1")
    broken.open_streams()
    broken.strike()
    assert broken.server.wait_exit(10) == 1
    for reader in broken.readers:
        reader.join(5)
        assert reader.has_error
    with pytest.raises(requests.ConnectionError):
        broken.server.get("/livez")
