"""Errors below ``/v1/messages`` are Anthropic's, whatever goes wrong."""

import pytest

from api.errors import KeyBusy
from llamactypes.engine import EngineState
from llamactypes.errors import (
    EngineFailed,
    EngineLoading,
    EngineOverloaded,
    EngineStopped,
    KVCacheFull,
    SamplingError,
)
from tests.api.test_chat_route import engine_with_template

PATH = "/v1/messages"
COUNT = "/v1/messages/count_tokens"
HI = {"max_tokens": 16, "messages": [{"role": "user", "content": "Hi"}]}
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://127.0.0.1:1/a.png"}}


def error_of(reply, status, kind):
    """Return the message of an error, whose shape is checked."""
    assert reply.status_code == status, reply.text
    body = reply.json
    assert body.keys() == {"type", "error", "request_id"}
    assert body["type"] == "error"
    assert body["error"].keys() == {"type", "message"}
    assert body["error"]["type"] == kind
    assert body["request_id"] == reply.headers["request-id"]
    return body["error"]["message"]


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (SamplingError("odd"), 400, "invalid_request_error"),
        (EngineOverloaded("busy", 2.5), 529, "overloaded_error"),
        (KeyBusy("busy", 2.5), 429, "rate_limit_error"),
        (EngineLoading("x"), 503, "overloaded_error"),
        (EngineStopped("x"), 503, "overloaded_error"),
        (EngineFailed("x"), 500, "api_error"),
        (KVCacheFull("x", 1), 500, "api_error"),
        (RuntimeError("secret detail"), 500, "api_error"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_errors_are_anthropics(make_api, error, status, kind, stream):
    api = make_api()
    api.engine.refusal = error
    reply = api.post(PATH, {**HI, "stream": stream})
    assert "secret" not in error_of(reply, status, kind)
    if status in (429, 503, 529):
        assert int(reply.headers["retry-after"]) >= 1
    if isinstance(error, EngineFailed | RuntimeError):
        assert reply.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("path", [PATH, COUNT])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"max_tokens": NaN}',
        b'{"max_tokens": 1, "max_tokens": 2}',
        b'{"max_tokens":1,"messages":[{"role":"user","content":"\xb0\xa1"}]}',
        b'{"max_tokens":1,"messages":[{"role":"user","content":"\\ud83d"}]}',
        b"[" * 20_000,
    ],
)
def test_a_body_that_is_no_json_object_is_400(api, path, body):
    error_of(api.post(path, body), 400, "invalid_request_error")
    assert api.post(PATH, HI).status_code == 200


def test_a_body_that_is_too_large_is_413(make_api):
    api = make_api(max_body_bytes=1000)
    reply = api.post(PATH, {**HI, "system": "a" * 1000})
    assert "1000 bytes" in error_of(reply, 413, "request_too_large")


def test_a_missing_or_wrong_key_is_401(make_api):
    api = make_api(api_keys=("one",))
    for headers in ({}, {"X-Api-Key": "two"}, {"Authorization": "Bearer two"}):
        reply = api.post(PATH, HI, headers=headers)
        error_of(reply, 401, "authentication_error")
    for headers in ({"X-Api-Key": "one"}, {"Authorization": "Bearer one"}):
        assert api.post(PATH, HI, headers=headers).status_code == 200


def test_loading_is_told_before_the_key(make_api):
    api = make_api(api_keys=("one",))
    api.engine.state = EngineState.LOADING
    message = error_of(api.post(PATH, HI), 503, "overloaded_error")
    assert message == "Loading model"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("length", [300, 100_000])  # refused by the engine; unread
def test_a_prompt_that_is_too_long_is_told_in_anthropics_words(api, stream, length):
    messages = [{"role": "user", "content": "a" * length}]
    reply = api.post(PATH, {**HI, "messages": messages, "stream": stream})
    message = error_of(reply, 400, "invalid_request_error")
    assert message.startswith("prompt is too long: ")
    assert "> 255 maximum" in message
    assert "exceeds the available context size" in message


def test_an_image_is_a_clear_400(api):
    messages = [{"role": "user", "content": [IMAGE]}]
    for path in (PATH, COUNT):
        reply = api.post(path, {**HI, "messages": messages})
        message = error_of(reply, 400, "invalid_request_error")
        assert message.startswith("messages.0.content.0: image input is not supported")
    assert api.post(PATH, HI).status_code == 200


def test_what_a_template_refuses_names_the_messages(make_api):
    template = "{{ raise_exception('roles must alternate') }}"
    api = make_api(engine=engine_with_template(template))
    message = error_of(api.post(PATH, HI), 400, "invalid_request_error")
    assert message.startswith("messages: ")
    assert "roles must alternate" in message


@pytest.mark.parametrize("path", [PATH, COUNT])
def test_other_methods_are_405(api, path):
    for method in ("GET", "PUT", "DELETE", "HEAD"):
        reply = api.client.simulate_request(method, path)
        assert reply.status_code == 405, method
        assert "POST" in reply.headers["allow"]
        if method != "HEAD":
            error_of(reply, 405, "invalid_request_error")


@pytest.mark.parametrize("path", ["/v1/messages/batches", "/v1/messages/m_1"])
def test_what_is_not_offered_below_messages_is_404(api, path):
    error_of(api.post(path, {}), 404, "not_found_error")


def test_a_prefix_does_not_change_the_shape(make_api):
    api = make_api(api_prefix="/llm")
    assert api.post("/llm" + PATH, HI).status_code == 200
    error_of(api.post("/llm" + PATH, {}), 400, "invalid_request_error")


def test_other_routes_keep_their_shape(api):
    for path in ("/v1/chat/completions", "/v1/messagesx", "/v1/models/messages"):
        body = api.post(path, {}).json
        assert body.keys() == {"error"}


def test_a_browser_may_ask_first(make_api):
    api = make_api(api_keys=("one",))
    headers = {
        "Origin": "http://localhost:3000",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-api-key,anthropic-version,content-type",
    }
    asked = api.client.simulate_options(PATH, headers=headers)
    assert asked.status_code == 200
    assert "POST" in asked.headers["access-control-allow-methods"]
    refused = api.post(PATH, HI, headers=headers)
    assert refused.status_code == 401
    stream = api.post(
        PATH, {**HI, "stream": True}, headers={**headers, "X-Api-Key": "one"}
    )
    for reply in (asked, refused, stream):
        allowed = reply.headers["access-control-allow-origin"]
        assert allowed in ("*", headers["Origin"])
    assert "Request-Id" in stream.headers["access-control-expose-headers"]


def test_a_prompt_that_does_not_fit_is_counted_while_that_is_cheap(api):
    def count(length):
        messages = [{"role": "user", "content": "a" * length}]
        return api.post(COUNT, {"messages": messages})

    assert count(1000).json["input_tokens"] > 1000
    message = error_of(count(100_000), 400, "invalid_request_error")
    assert message.startswith("prompt is too long: ")


@pytest.mark.parametrize("field", ["grammar", "json_schema", "response_format"])
def test_constraints_are_refused_not_dropped(api, field):
    value = {"type": "sound"} if field == "response_format" else "root ::= 'a'"
    reply = api.post(PATH, {**HI, field: value})
    assert field in error_of(reply, 400, "invalid_request_error")
