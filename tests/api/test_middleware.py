import pytest
from falcon import testing

from llamactypes.engine import EngineState
from tests.support.fake_engine import FakeEngine

ORIGIN = {"Origin": "http://page.example"}


def loading_engine():
    engine = FakeEngine()
    engine.state = EngineState.LOADING
    return engine


@pytest.mark.parametrize("path", ["/health", "/v1/models", "/nope", "/"])
def test_loading_answers_503_on_every_path_before_the_key(make_api, path):
    api = make_api(engine=loading_engine(), api_keys=("secret",))
    reply = api.get(path)
    assert reply.status_code == 503
    assert reply.json["error"] == {
        "code": 503,
        "message": "Loading model",
        "type": "unavailable_error",
    }
    assert reply.headers["retry-after"] == "1"


def test_preflight_is_answered_while_loading_and_without_a_key(make_api):
    api = make_api(engine=loading_engine(), api_keys=("secret",))
    reply = api.client.simulate_options(
        "/v1/chat/completions",
        headers={**ORIGIN, "Access-Control-Request-Method": "POST"},
    )
    assert reply.status_code == 200
    assert reply.content == b""
    assert reply.headers["access-control-allow-origin"]
    assert reply.headers["access-control-allow-methods"] == "GET, POST, DELETE, OPTIONS"
    assert reply.headers["access-control-allow-headers"] == "*"


LIST = "https://one.example, http://two.example:8080, localhost"


@pytest.mark.parametrize(
    ("origins", "origin", "expected"),
    [
        ("*", "http://a.b", "http://a.b"),
        ("*", None, "*"),
        ("localhost", "http://localhost:3000", "http://localhost:3000"),
        ("localhost", "http://[::1]:3000", "http://[::1]:3000"),
        ("localhost", "http://localhost.evil.com", None),
        ("localhost", "http://[", None),
        ("localhost", None, None),
        ("https://mine", "http://a.b", None),
        (LIST, "https://one.example", "https://one.example"),
        (LIST, "https://ONE.example", "https://ONE.example"),
        (LIST, "http://two.example:8080", "http://two.example:8080"),
        (LIST, "http://127.0.0.1:1", "http://127.0.0.1:1"),
        (LIST, "http://two.example", None),
        (LIST, "https://one.example.evil.com", None),
        (LIST, LIST, None),
        ("", "http://a.b", None),
    ],
)
def test_each_origin_is_matched_with_the_list(make_api, origins, origin, expected):
    api = make_api(cors_origins=origins)
    reply = api.get("/health", headers={"Origin": origin} if origin else {})
    assert reply.headers.get("access-control-allow-origin") == expected
    assert reply.headers["vary"] == "Origin"


@pytest.mark.parametrize(
    ("origins", "is_asked_for", "expected"),
    [("*", False, None), (ORIGIN["Origin"], False, None), ("*", True, "true"),
     (ORIGIN["Origin"], True, "true"), ("https://other.example", True, None)],
)  # fmt: skip
def test_credentials_are_allowed_only_by_the_flag_and_to_allowed_origins(
    make_api, origins, is_asked_for, expected
):
    api = make_api(cors_origins=origins, cors_credentials=is_asked_for)
    for reply in (
        api.get("/health", headers=ORIGIN),
        api.client.simulate_options("/completion", headers=ORIGIN),
    ):
        assert reply.headers.get("access-control-allow-credentials") == expected


@pytest.mark.parametrize(
    ("path", "key", "status"),
    [
        ("/completion", "", 401),
        ("/nope", "secret", 404),
        ("/health", "secret", 405),
        ("/completion", "secret", 413),
        ("/tokenize", "secret", 400),
        ("/v1/messages", "", 401),
    ],
)
def test_every_refusal_has_cors_headers_and_an_id(make_api, path, key, status):
    api = make_api(api_keys=("secret",), max_body_bytes=10)
    body = b"x" * (20 if status == 413 else 5)
    headers = {**ORIGIN, "X-Api-Key": key, "X-Request-Id": "r-7"}
    reply = api.post(path, body, headers=headers)
    assert reply.status_code == status
    assert reply.headers["access-control-allow-origin"] == ORIGIN["Origin"]
    assert "X-Request-Id" in reply.headers["access-control-expose-headers"]
    assert reply.headers["x-request-id"] == "r-7"


def test_streams_carry_the_allowed_origin(api):
    body = {"prompt": "a", "stream": True}
    stream = api.post("/v1/completions", body, headers=ORIGIN)
    assert stream.status_code == 200
    assert stream.headers["access-control-allow-origin"] == ORIGIN["Origin"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer two"},
        {"Authorization": "two"},
        {"Authorization": "bearer two"},
        {"X-Api-Key": "two"},
    ],
)
def test_a_key_is_taken_from_either_header(make_api, headers):
    api = make_api(api_keys=("one", "two"))
    assert api.get("/v1/models", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer three"},
        {"Authorization": "Bearer x", "X-Api-Key": "one"},
        {"X-Api-Key": "onee"},
    ],
)
def test_a_missing_or_wrong_key_is_401(make_api, headers):
    api = make_api(api_keys=("one",))
    reply = api.get("/v1/models", headers=headers)
    assert reply.status_code == 401
    assert reply.json["error"]["type"] == "authentication_error"
    assert reply.json["error"]["message"] == "Invalid API Key"


def test_a_key_may_hold_any_character(make_api):
    api = make_api(api_keys=("schl\u00fcssel",))
    as_sent = "schl\u00fcssel".encode().decode("latin-1")
    reply = api.get("/v1/models", extras={"HTTP_AUTHORIZATION": f"Bearer {as_sent}"})
    assert reply.status_code == 200


def test_health_and_the_front_page_need_no_key_below_a_prefix_too(make_api):
    api = make_api(api_keys=("one",), api_prefix="/llm")
    for path in ("/llm/health", "/llm/v1/health/", "/llm", "/llm/"):
        assert api.get(path).status_code == 200, path
    assert api.get("/llm/v1/models").status_code == 401
    assert api.get("/llm/nope").status_code == 401


def test_an_unknown_path_is_404_below_the_key(make_api):
    reply = make_api().get("/nope")
    assert reply.status_code == 404
    assert reply.json["error"] == {
        "code": 404,
        "message": "File Not Found",
        "type": "not_found_error",
    }


def test_request_id_is_echoed_or_made(api):
    assert api.get("/health", headers={"X-Request-Id": "r-1"}).headers[
        "x-request-id"
    ] == ("r-1")
    made = {api.get("/nope").headers["x-request-id"] for _ in range(2)}
    assert len(made) == 2


def test_a_request_id_with_odd_characters_is_replaced(api):
    reply = api.get("/health", headers={"X-Request-Id": "a b" * 90})
    assert "a b" not in reply.headers["x-request-id"]


@pytest.mark.parametrize("path", ["/health/", "/v1/models/", "/props/"])
def test_a_trailing_slash_does_not_matter(api, path):
    assert api.get(path).status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/health", "/v1/health", "/v1/models", "/models", "/props", "/slots"]
)
def test_head_is_answered_on_get_routes(api, path):
    reply = api.client.simulate_head(path)
    assert reply.status_code == 200
    assert reply.content == b""


def test_head_never_starts_a_stream(api):
    reply = api.client.simulate_head("/v1/chat/completions")
    assert reply.status_code == 405
    assert api.engine.requests == []


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/v1/chat/completions", "POST"),
        ("DELETE", "/health", "GET"),
        ("PUT", "/tokenize", "POST"),
    ],
)
def test_a_wrong_method_is_405_with_allow(api, method, path, allow):
    reply = api.client.simulate_request(method, path)
    assert reply.status_code == 405
    assert reply.json["error"]["code"] == 405
    assert allow in reply.headers["allow"]


def test_health_is_503_when_the_engine_failed(make_api):
    engine = FakeEngine()
    engine.state, engine.failure = EngineState.FAILED, RuntimeError("boom")
    api = make_api(engine=engine)
    health = api.get("/health")
    assert health.status_code == 503
    assert "log has the reason" in health.json["error"]["message"]
    assert "boom" not in health.text
    assert api.get("/livez").status_code == 503
    other = api.post("/completion", {"prompt": "a"})
    assert other.status_code == 500
    assert other.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("state", [EngineState.STOPPING, EngineState.STOPPED])
def test_a_stopping_server_refuses_with_retry_after(make_api, state):
    engine = FakeEngine()
    engine.state = state
    api = make_api(engine=engine)
    for reply in (api.get("/health"), api.post("/completion", {"prompt": "a"})):
        assert reply.status_code == 503
        assert int(reply.headers["retry-after"]) > 0


def test_an_unexpected_error_names_its_request_in_the_log_alone(make_api, caplog):
    api = make_api()
    api.engine.refusal = RuntimeError("secret detail")
    reply = api.post("/completion", {"prompt": "a"}, headers={"X-Request-Id": "r-5"})
    assert reply.status_code == 500
    assert "secret" not in reply.text
    assert "unexpected RuntimeError in request r-5" in caplog.text


def test_a_method_that_falcon_keeps_for_itself_is_400_with_an_id(api):
    env = testing.create_environ("/health", method="GET")
    env["REQUEST_METHOD"] = "WEBSOCKET"
    told = []
    list(api.app(env, lambda status, headers, *more: told.append((status, headers))))
    ((status, headers),) = told
    assert status.startswith("400")
    assert "x-request-id" in dict(headers)
