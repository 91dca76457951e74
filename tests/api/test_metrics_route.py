from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from api.serving.bootstrap import check_extras
from api.settings import SettingsError
from llamactypes.engine import EngineMetrics, HistogramSnapshot
from tests.api.conftest import Api
from tests.support.fake_engine import FakeEngine, make_settings

ROOT = Path(__file__).resolve().parents[2]
LLAMA_SERVER_COUNTERS = (
    "prompt_tokens_total",
    "prompt_tokens_cached_total",
    "prompt_seconds_total",
    "tokens_predicted_total",
    "tokens_predicted_seconds_total",
    "n_decode_total",
    "n_tokens_max",
    "spec_decode_num_draft_tokens_total",
    "spec_decode_num_accepted_tokens_total",
    "spec_decode_num_drafts_total",
)
LLAMA_SERVER_GAUGES = (
    "prompt_tokens_seconds",
    "predicted_tokens_seconds",
    "requests_processing",
    "requests_deferred",
    "n_busy_slots_per_decode",
)


@pytest.fixture
def api(make_api: Callable[..., Api]) -> Api:
    engine = FakeEngine()
    engine.engine_metrics = EngineMetrics(
        n_decode=10,
        prompt_tokens=30,
        prompt_seconds=1.5,
        busy_slots_total=25,
        n_tokens_max=77,
        n_slots=4,
        requests_cancelled=2,
        requests_waiting=5,
        inter_token_s=HistogramSnapshot((0.1, 1.0), (3, 0, 1), 2.0),
    )
    return make_api(engine=engine, metrics=True)


def scrape(api: Api) -> str:
    reply = api.get("/metrics")
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "text/plain; version=0.0.4"
    return reply.text


def samples(text: str) -> dict[str, float]:
    """Return values by name and labels as they are written."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f"{k}={v}" for k, v in sample.labels.items())
            name = f"{sample.name}{{{labels}}}" if labels else sample.name
            assert name not in found
            found[name] = sample.value
    return found


@pytest.mark.parametrize(
    ("names", "kind"),
    [(LLAMA_SERVER_COUNTERS, "counter"), (LLAMA_SERVER_GAUGES, "gauge")],
)
def test_names_and_types_are_llama_servers(
    api: Api, names: tuple[str, ...], kind: str
) -> None:
    text = scrape(api)
    for name in names:
        assert f"# HELP llamacpp:{name} " in text
        assert f"# TYPE llamacpp:{name} {kind}\n" in text
        assert f"\nllamacpp:{name} " in text


def test_values_are_the_engines(api: Api) -> None:
    found = samples(scrape(api))
    assert found["llamacpp:prompt_tokens_total"] == 30
    assert found["llamacpp:prompt_tokens_seconds"] == 20
    assert found["llamacpp:predicted_tokens_seconds"] == 2
    assert found["llamacpp:tokens_predicted_seconds_total"] == 2
    assert found["llamacpp:n_busy_slots_per_decode"] == 2.5
    assert found["llamacpp:requests_deferred"] == 5
    assert found["llamacpp:n_tokens_max_total"] == 77  # the parser's idea of a counter
    assert found["llamactypes:slots"] == 4
    assert found["llamactypes:requests_total{outcome=cancelled}"] == 2


def test_histograms_are_cumulative_and_end_with_their_count(api: Api) -> None:
    found = samples(scrape(api))
    name = "llamactypes:inter_token_seconds"
    assert [found[f"{name}_bucket{{le={le}}}"] for le in ("0.1", "1.0", "+Inf")] == [
        3,
        3,
        4,
    ]
    assert (found[f"{name}_count"], found[f"{name}_sum"]) == (4, 2)


def test_every_family_has_its_help_and_type_once(api: Api) -> None:
    text = scrape(api)
    families = list(text_string_to_metric_families(text))
    assert len({family.name for family in families}) == len(families) == 36
    assert all(family.documentation for family in families)
    assert text.count("# TYPE ") == text.count("# HELP ") == len(families)


def test_a_scrape_changes_nothing(api: Api) -> None:
    assert scrape(api) == scrape(api)


def test_answers_are_counted_by_route_and_status(make_api: Callable[..., Api]) -> None:
    api = make_api(metrics=True, api_prefix="/p", api_keys=("k",))
    given = {"Authorization": "Bearer k"}
    body = {"prompt": "a", "stream": True}
    assert api.post("/p/v1/completions", body, headers=given).status_code == 200
    assert api.post("/p/v1/completions", {"prompt": 1.5}, headers=given)
    assert api.post("/p/v1/completions/", body).status_code == 401
    assert api.get("/p/secret/path", headers=given).status_code == 404
    assert api.get("/p/health").status_code == 200
    for _ in range(2):
        text = api.get("/p/metrics", headers=given).text
        name = "llamactypes:http_requests_total"
        found = {k: v for k, v in samples(text).items() if k.startswith(name)}
        assert found == {
            f"{name}{{method=POST,route=/v1/completions,status={status}}}": 1
            for status in (200, 400, 401)
        } | {
            f"{name}{{method=GET,route=other,status=404}}": 1,
            f"{name}{{method=GET,route=/health,status=200}}": 1,
        }


def test_metrics_tell_when_the_server_started(api: Api) -> None:
    started_at = int(api.get("/metrics").headers["Process-Start-Time-Unix"])
    assert abs(started_at - time.time()) < 60


def test_metrics_need_their_flag(make_api: Callable[..., Api]) -> None:
    reply = make_api().get("/metrics")
    assert reply.status_code == 501
    assert reply.json["error"]["type"] == "not_supported_error"
    assert "--metrics" in reply.json["error"]["message"]


def test_metrics_need_the_key(make_api: Callable[..., Api]) -> None:
    api = make_api(metrics=True, api_keys=("secret",))
    assert api.get("/metrics").status_code == 401
    given = {"Authorization": "Bearer secret"}
    assert api.get("/metrics", headers=given).status_code == 200


def test_props_say_whether_there_are_metrics(api: Api) -> None:
    assert api.get("/props").json["endpoint_metrics"] is True


def test_missing_package_is_named_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    check_extras(make_settings())
    with pytest.raises(SettingsError, match="pip install prometheus-client"):
        check_extras(make_settings(metrics=True))


def test_every_metric_is_documented(api: Api) -> None:
    page = (ROOT / "docs" / "metrics.md").read_text()
    for family in text_string_to_metric_families(scrape(api)):
        name = family.name.partition(":")[2]
        assert re.search(rf"`{name}(_total)?({{[\w,]+}})?`", page), family.name
