"""Probes: what is answered in each state of the engine."""

from __future__ import annotations

import pytest

from llamactypes.engine import EngineState
from llamactypes.errors import ClosedError
from tests.support.fake_engine import FakeEngine, FakeVocab

READY = ("/health", "/v1/health", "/readyz")


@pytest.mark.parametrize("state", [EngineState.READY, EngineState.SLEEPING])
def test_a_server_that_answers_requests_is_ready_and_live(api, state):
    api.engine.state = state
    for path in (*READY, "/livez"):
        assert api.get(path).json == {"status": "ok"}
        assert api.client.simulate_head(path).status_code == 200
    assert api.engine.state is state


@pytest.mark.parametrize(
    "state",
    [
        *(EngineState.CREATED, EngineState.LOADING),
        *(EngineState.STOPPING, EngineState.STOPPED),
    ],
)
def test_a_server_that_loads_or_stops_is_live_only(api, state):
    api.engine.state = state
    assert [api.get(path).status_code for path in READY] == [503] * 3
    assert api.get("/livez").status_code == 200


def test_a_server_that_failed_is_neither(api):
    api.engine.state = EngineState.FAILED
    for path in (*READY, "/livez"):
        reply = api.get(path)
        assert reply.status_code == 503
        assert reply.json["error"]["type"] == "unavailable_error"


def test_probes_need_no_key(make_api):
    api = make_api(api_keys=("secret",))
    for path in (*READY, "/livez"):
        assert api.get(path).status_code == 200
    assert api.get("/props").status_code == 401


# -- asleep ----------------------------------------------------------------------------


class ClosedVocab(FakeVocab):
    """The vocabulary of a model that was unloaded: only what was read is there."""

    @property
    def special_tokens(self):
        raise ClosedError("the model of this vocabulary was closed")

    control_tokens = special_tokens

    def tokenize(self, *args, **options):
        return self.special_tokens

    piece = tokenize


def test_looks_do_not_wake_a_sleeping_server(make_api):
    api = make_api(engine=FakeEngine(vocab=ClosedVocab()), metrics=True)
    api.engine.state = EngineState.SLEEPING
    looks = ("/", "/props", "/v1/models", "/v1/models/tiny.gguf", "/slots", "/metrics")
    for path in (*looks, "/lora-adapters"):
        assert api.get(path).status_code == 200
    assert api.get("/props").json["is_sleeping"] is True
    assert api.engine.state is EngineState.SLEEPING


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/completion", {"prompt": "x"}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}),
        ("/tokenize", {"content": "x"}),
        ("/apply-template", {"messages": [{"role": "user", "content": "x"}]}),
    ],
)
def test_what_needs_the_model_wakes_it_and_lets_it_sleep_again(api, path, body):
    api.engine.state = EngineState.SLEEPING
    assert api.post(path, body).status_code == 200
    assert api.engine.state is EngineState.READY
    assert api.engine.n_inside == 0
    assert api.get("/props").json["is_sleeping"] is False


def test_a_refused_request_lets_it_sleep_again(api):
    assert api.post("/completion", {}).status_code == 400
    assert api.engine.n_inside == 0


def test_a_stream_lets_it_sleep_again(api):
    assert api.events("/completion", {"prompt": "x"})
    assert api.engine.n_inside == 0
