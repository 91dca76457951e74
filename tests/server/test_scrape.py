"""GET /metrics of a real server, against what its replies said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.server_process import ServerProcess
from tests.support.streams import ENDLESS, StreamReader
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stories_model_path: Path
) -> Iterator[ServerProcess]:
    flags = (
        *("-m", str(stories_model_path), "--port", "0", "-np", "2", "-c", "1024"),
        *("--metrics", "--context-shift", "--queue-size", "1"),
        *("--api-key", "secret-one", "--key-concurrency", "2"),
    )
    with ServerProcess(tmp_path_factory.mktemp("server"), flags) as process:
        process.wait_ready()
        yield process


def key(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {name}"}


def scrape(server: ServerProcess) -> dict[str, float]:
    reply = server.get("/metrics", headers=key("secret-one"))
    assert reply.status_code == 200
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(reply.text)
        for sample in family.samples
        if not sample.labels
    }


def complete(server: ServerProcess, n_predict: int) -> dict:
    body = {"prompt": "Once upon a time", "n_predict": n_predict, "ignore_eos": True}
    reply = server.post("/completion", body, headers=key("secret-one"))
    assert reply.status_code == 200
    return reply.json()["timings"]


def test_metrics_are_the_sums_of_what_replies_said(server: ServerProcess) -> None:
    timings = [complete(server, n) for n in (1, 8, 30)]
    seen = scrape(server)
    assert seen["llamacpp:prompt_tokens_total"] == sum(t["prompt_n"] for t in timings)
    assert seen["llamacpp:prompt_tokens_cached_total"] > 0
    assert seen["llamacpp:tokens_predicted_total"] == 39
    total_ms = sum(t["predicted_ms"] for t in timings[1:])
    assert seen["llamactypes:inter_token_seconds_sum"] * 1e3 == pytest.approx(total_ms)
    assert seen["llamactypes:inter_token_seconds_count"] == 7 + 29
    for name in ("queue", "time_to_first_token", "request"):
        assert seen[f"llamactypes:{name}_seconds_count"] == 3
    assert seen["llamactypes:generation_tokens_per_second_count"] == 2
    assert scrape(server) == seen


def test_a_key_at_its_limit_is_refused_until_its_clients_leave(
    server: ServerProcess,
) -> None:
    url = server.url + "/completion"
    readers = [StreamReader(url, ENDLESS, key("secret-one")) for _ in range(2)]
    eventually(lambda: all(reader.events for reader in readers))
    assert scrape(server)["llamacpp:requests_processing"] == 2
    busy = server.post("/completion", ENDLESS, headers=key("secret-one"))
    assert busy.status_code == 429
    assert "--key-concurrency" in busy.json()["error"]["message"]
    assert 1 <= int(busy.headers["Retry-After"]) <= 60
    for reader in readers:
        reader.close()
    eventually(lambda: scrape(server)["llamacpp:requests_processing"] == 0)
    assert complete(server, 1)["predicted_n"] == 1
    assert "secret-one" not in server.err
