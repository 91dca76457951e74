"""Vertex AI's prediction route: requests inside a request."""

from __future__ import annotations

import pytest

from api.app import _ROUTES, create_app
from api.resources.vertex import request_formats
from api.settings import Settings, SettingsError
from api.settings.vertex import Vertex, read_vertex
from tests.api.conftest import Api
from tests.support.fake_engine import FakeEngine, make_settings

CHAT = {
    "@requestFormat": "chatCompletions",
    "messages": [{"role": "user", "content": "hi"}],
}


@pytest.fixture
def api(make_api):
    return make_api(vertex=Vertex(health_route="/alive"))


def predict(api: Api, *instances, **options):
    reply = api.post("/predict", {"instances": list(instances)}, **options)
    assert reply.status_code == 200, reply.text
    return reply.json["predictions"]


def test_instances_are_answered_in_order(api):
    native = {"@requestFormat": "/completion", "prompt": "x", "n_predict": 2}
    first, second, third = predict(api, CHAT, native, CHAT)
    assert first["object"] == third["object"] == "chat.completion"
    assert first["choices"][0]["message"]["content"] == "abc"
    assert second["content"] == "ab"


def test_no_instances_have_no_predictions(api):
    assert predict(api) == []


def test_streams_are_answered_whole(api):
    (answer,) = predict(api, {**CHAT, "stream": True})
    assert answer["object"] == "chat.completion"


@pytest.mark.parametrize(
    ("instance", "message"),
    [
        (5, "each instance must be a JSON object"),
        ({}, "must include a string @requestFormat"),
        ({"@requestFormat": 1}, "must include a string @requestFormat"),
        ({"@requestFormat": "predict"}, "no handler registered"),
        ({"@requestFormat": "/predict"}, "no handler registered"),
        ({"@requestFormat": "/health"}, "no handler registered"),
        ({"@requestFormat": "chatCompletions"}, "messages"),
    ],
)
def test_an_instance_that_fails_leaves_the_others(api, instance, message):
    bad, good = predict(api, instance, CHAT)
    assert bad["error"]["code"] == 400
    assert message in bad["error"]["message"]
    assert good["object"] == "chat.completion"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "array field named instances"),
        ({"instances": {}}, "array field named instances"),
        ({"instances": [1] * 129}, "maximum size of 128"),
        ([], "must be a JSON object"),
        (b"{", "JSON"),
    ],
)
def test_a_malformed_request_is_refused(api, body, message):
    reply = api.post("/predict", body)
    assert reply.status_code == 400
    assert message in reply.json["error"]["message"]


def test_many_instances_never_overload_the_server_by_themselves(api):
    answers = predict(api, *[CHAT] * 50)
    assert all("choices" in answer for answer in answers)


def test_the_key_is_asked_for_once_and_passed_on(make_api):
    api = make_api(vertex=Vertex(health_route="/alive"), api_keys=("k",))
    assert api.post("/predict", {"instances": [CHAT]}).status_code == 401
    (answer,) = predict(api, CHAT, headers={"Authorization": "Bearer k"})
    assert "choices" in answer
    assert api.get("/alive").json == {"status": "ok"}


def test_a_prefix_stands_before_vertex_routes_too(make_api):
    api = make_api(vertex=Vertex(), api_prefix="/llm")
    reply = api.post("/llm/predict", {"instances": [CHAT]})
    assert "choices" in reply.json["predictions"][0]
    assert api.post("/predict", {}).status_code == 404


def test_without_the_mode_there_is_no_such_route(make_api):
    assert make_api().post("/predict", {"instances": []}).status_code == 404


def test_formats_are_paths_and_their_names():
    formats = request_formats(path for _, paths in _ROUTES for path in paths)
    assert formats["chatCompletions"] == "/v1/chat/completions"
    assert formats["completions"] == "/v1/completions"
    assert formats["completion"] == "/completion"
    assert formats["applyTemplate"] == "/apply-template"
    assert formats["messages"] == "/v1/messages"
    assert formats["/completions"] == "/completions"
    assert not any("{" in name for name in formats)


# -- settings --------------------------------------------------------------------------


def test_variables_choose_routes_and_port():
    assert read_vertex({}) is None
    assert read_vertex({"AIP_MODE": "TRAINING"}) is None
    given = {"AIP_MODE": "PREDICTION"}
    assert read_vertex(given) == Vertex("/predict", "", 8080)
    route = "/v1/endpoints/1/deployedModels/2:predict"
    more = {
        "AIP_PREDICT_ROUTE": route,
        "AIP_HEALTH_ROUTE": "alive/",
        "AIP_HTTP_PORT": "9000",
    }
    assert read_vertex(given | more) == Vertex(route, "/alive", 9000)


@pytest.mark.parametrize("port", ["x", "70000", "-1"])
def test_a_port_that_is_none_is_refused(port):
    with pytest.raises(SettingsError, match="AIP_HTTP_PORT"):
        read_vertex({"AIP_MODE": "PREDICTION", "AIP_HTTP_PORT": port})


def test_the_port_of_vertex_wins_and_says_so():
    environment = {"AIP_MODE": "PREDICTION", "AIP_HTTP_PORT": "9000"}
    settings = Settings.from_arguments(["--port", "7000"], environment)
    assert settings.port == 9000
    assert "AIP_HTTP_PORT 9000" in settings.notices[-1]
    assert Settings.from_environment(environment).port == 9000


@pytest.mark.parametrize(
    "vertex",
    [
        Vertex(predict_route="/completion"),
        Vertex(predict_route="/p", health_route="/p"),
        Vertex(health_route="/props"),
    ],
)
def test_a_route_that_is_taken_is_refused(vertex):
    with pytest.raises(SettingsError, match="another route already"):
        create_app(make_settings(vertex=vertex), FakeEngine())


def test_vertex_may_name_the_usual_health_route_and_one_with_a_colon(make_api):
    route = "/v1/endpoints/1/deployedModels/2:predict"
    api = make_api(vertex=Vertex(route, "/health"))
    assert api.get("/health").status_code == 200
    assert api.post(route, {"instances": []}).json == {"predictions": []}
