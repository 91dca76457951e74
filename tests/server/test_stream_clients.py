"""Clients that come back by themselves, through a proxy that keeps cutting them off."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import openai
import pytest

from tests.server.conftest import EIGHT_SLOTS
from tests.support.cutting_proxy import CuttingProxy
from tests.support.server_process import ServerProcess
from tests.support.waiting import eventually

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "resume_stream.py"
BODY: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Tell me a story"}],
    "max_tokens": 120,
    "temperature": 0,
    "ignore_eos": True,
}


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("resume_stream", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(
        choice["delta"].get("content") or ""
        for event in events
        for choice in event["choices"]
    )


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stories_model_path: Path
) -> Iterator[ServerProcess]:
    flags = ("-m", str(stories_model_path), "--port", "0", "--metrics", *EIGHT_SLOTS)
    with ServerProcess(tmp_path_factory.mktemp("server"), flags) as process:
        process.wait_ready()
        yield process


@pytest.mark.parametrize("seed", range(2))
def test_the_example_gets_every_event_once_over_many_connections(
    example: ModuleType, server: ServerProcess, seed: int
) -> None:
    before = _n_generated(server)
    with CuttingProxy(server.url, seed=seed) as proxy:
        stream = example.ResumingStream(proxy.url, "/v1/chat/completions", BODY)
        text = text_of(list(stream))
        assert proxy.n_cuts > 3
        assert stream.n_connections > 3
    expected = server.post("/v1/chat/completions", BODY).json()
    assert text == expected["choices"][0]["message"]["content"]
    # One by the example, however often it came back, and one by us.
    assert _n_generated(server) - before == 2 * 120


def _n_generated(server: ServerProcess) -> int:
    """Return how many tokens were ever generated."""
    lines = server.get("/metrics").text.splitlines()
    name = "llamacpp:tokens_predicted_total"
    return next(int(float(each.split()[1])) for each in lines if each.startswith(name))


def test_the_example_tells_of_missing_bytes_and_of_errors(
    example: ModuleType, server: ServerProcess
) -> None:
    stream = example.ResumingStream(server.url, "/v1/chat/completions", BODY)
    stream._crc = 1
    with pytest.raises(example.StreamError, match="missing"):
        list(stream)
    refused = example.ResumingStream(server.url, "/v1/chat/completions", {})
    with pytest.raises(example.StreamError, match="messages"):
        list(refused)


def test_the_example_stops_its_generation(
    example: ModuleType, server: ServerProcess
) -> None:
    body = {**BODY, "max_tokens": -1}
    stream = example.ResumingStream(server.url, "/v1/chat/completions", body)
    events = iter(stream)
    next(events)
    stream.stop()
    eventually(lambda: server.n_busy_slots() == 0)
    with pytest.raises(example.StreamError, match="cancelled"):
        list(events)


@pytest.mark.parametrize("route", ["chat", "completions", "responses"])
def test_official_clients_read_resumable_streams_to_their_ends(
    server: ServerProcess, route: str
) -> None:
    client = openai.OpenAI(
        base_url=server.url + "/v1",
        api_key="none",
        default_headers={"X-Conversation-Id": f"sdk {route}", "Idempotency-Key": route},
        max_retries=0,
    )
    with client:
        for _ in range(2):
            if route == "chat":
                stream: Any = client.chat.completions.create(
                    model="any", messages=BODY["messages"], max_tokens=5, stream=True
                )
            elif route == "completions":
                stream = client.completions.create(
                    model="any", prompt="Once", max_tokens=5, stream=True
                )
            else:
                stream = client.responses.create(
                    model="any", input="Once", max_output_tokens=5, stream=True
                )
            with stream:
                events = list(stream)
            assert len(events) >= 5
    found = server.get(f"/v1/stream/sdk {route}").content
    assert found.splitlines()[-1].startswith(b": end bytes=")
