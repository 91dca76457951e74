"""A model fetched from a hub by the real commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.conftest import StartServer
from tests.server.test_commands import call
from tests.support.fake_hub import FakeHub

REPO = "someone/tiny"


@pytest.fixture
def fake(tiny_model_path: Path) -> Iterator[FakeHub]:
    pytest.importorskip("huggingface_hub", reason="the extra llamactypes[hub]")
    files = {"tiny-Q8_0.gguf": tiny_model_path.read_bytes(), "README.md": b"tiny"}
    with FakeHub({REPO: files}) as fake:
        yield fake


@pytest.fixture
def hub_environment(fake: FakeHub, tmp_path: Path) -> dict[str, str]:
    return {"HF_ENDPOINT": fake.url, "HF_HOME": str(tmp_path / "hub"), "HF_TOKEN": ""}


def test_serve_fetches_a_model_and_info_finds_it_offline(
    start_server: StartServer, fake: FakeHub, hub_environment: dict[str, str]
):
    server = start_server("-hf", REPO, "--port", "0", environment=hub_environment)
    server.wait_ready()
    reply = server.post("/v1/completions", {"prompt": "a", "max_tokens": 2})
    assert reply.json()["usage"]["completion_tokens"] == 2
    (model,) = server.get("/v1/models").json()["data"]
    assert model["id"] == REPO
    assert "downloaded tiny-Q8_0.gguf" in server.err
    assert server.stop() == 0
    fake.requests.clear()
    told = call("info", "-hf", REPO, "--offline", environment=hub_environment)
    assert "llamactypes tiny test model" in told.stdout
    assert fake.requests == []


def test_health_is_503_while_a_model_is_fetched_and_a_signal_ends_that(
    start_server: StartServer, fake: FakeHub, hub_environment: dict[str, str]
):
    with fake.held():
        words = ("-hf", REPO, "--port", "0", "--shutdown-timeout", "0")
        server = start_server(*words, environment=hub_environment)
        server.wait_listening()
        assert server.status("/health") == 503
        assert server.stop(within_s=15) == 0
    assert "Traceback" not in server.err
