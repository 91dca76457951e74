"""Responses of a server that stops: none hangs, each says what became of it."""

from __future__ import annotations

from pathlib import Path

from tests.server.conftest import StartServer
from tests.support.streams import StreamReader
from tests.support.waiting import eventually

ENDLESS = {"input": "Once upon a time", "ignore_eos": True}


def test_a_stopping_server_ends_streams_failed_and_does_not_hang(
    start_server: StartServer, stories_model_path: Path
) -> None:
    flags = ("-np", "4", "-c", "2048", "--context-shift", "--shutdown-timeout", "0.5")
    server = start_server("-m", str(stories_model_path), "--port", "0", *flags)
    server.wait_ready()
    readers = [
        StreamReader(
            f"{server.url}/v1/responses",
            {**ENDLESS, "stream": True, "background": each},
        )
        for each in (False, True)
    ]
    later = server.post("/v1/responses", {**ENDLESS, "background": True})
    assert later.status_code == 200, later.text
    assert later.json()["status"] in ("queued", "in_progress")
    eventually(lambda: server.n_busy_slots() == 3)
    assert server.stop(within_s=5) == 0
    for reader in readers:
        reader.join(5)
        assert reader.failure is None
        last = reader.events[-1]
        assert last["type"] == "response.failed"
        assert "shutting down" in last["response"]["error"]["message"]
        assert last["response"]["output"][0]["content"][0]["text"]
