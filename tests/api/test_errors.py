import gzip

import pytest

from llamactypes.errors import (
    ConstraintError,
    ConstraintUnavailable,
    DecodeFatal,
    EngineFailed,
    EngineLoading,
    EngineOverloaded,
    EngineStopped,
    KVCacheFull,
    PromptTooLong,
    SamplingError,
    TokenizeError,
)


def refused(make_api, error, **body):
    api = make_api()
    api.engine.refusal = error
    return api.post("/completion", {"prompt": "a", **body})


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (PromptTooLong(900, 256), 400, "exceed_context_size_error"),
        (SamplingError("odd"), 400, "invalid_request_error"),
        (TokenizeError("odd"), 400, "invalid_request_error"),
        (ConstraintError("odd", "$.type"), 400, "invalid_request_error"),
        (ConstraintUnavailable("missing"), 501, "not_supported_error"),
        (EngineOverloaded("busy", 2.5), 429, "rate_limit_error"),
        (EngineLoading("x"), 503, "unavailable_error"),
        (EngineStopped("x"), 503, "unavailable_error"),
        (EngineFailed("x"), 500, "server_error"),
        (KVCacheFull("x", 1), 500, "server_error"),
        (DecodeFatal("x", -3), 500, "server_error"),
        (RuntimeError("secret detail"), 500, "server_error"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_an_exception_becomes_an_error_object(make_api, error, status, kind, stream):
    reply = refused(make_api, error, stream=stream)
    assert reply.status_code == status
    assert reply.headers["content-type"] == "application/json; charset=utf-8"
    assert reply.json["error"]["code"] == status
    assert reply.json["error"]["type"] == kind


def test_an_unexpected_exception_does_not_show_itself(make_api):
    assert "secret" not in refused(make_api, RuntimeError("secret detail")).text


def test_a_too_long_prompt_names_both_numbers(make_api):
    error = refused(make_api, PromptTooLong(900, 256)).json["error"]
    assert (error["n_prompt_tokens"], error["n_ctx"]) == (900, 256)
    assert "exceeds the available context size" in error["message"]
    assert error["param"] == "prompt"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/completion", 400),
        ("/v1/completions", "context_length_exceeded"),
        ("/v1/chat/completions", "context_length_exceeded"),
        ("/chat/completions", "context_length_exceeded"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("length", [300, 100_000])  # refused by the engine; unread
def test_a_too_long_prompt_has_openais_code_on_openais_routes(
    api, path, code, stream, length
):
    text = "a" * length
    prompt = (
        {"messages": [{"role": "user", "content": text}]}
        if "chat" in path
        else {"prompt": text}
    )
    reply = api.post(path, {**prompt, "stream": stream})
    error = reply.json["error"]
    assert (reply.status_code, error["code"]) == (400, code)
    assert error["type"] == "exceed_context_size_error"
    assert error["n_prompt_tokens"] >= error["n_ctx"] == 256
    assert api.engine.generations == []


def test_an_overloaded_server_says_when_to_come_back(make_api):
    reply = refused(make_api, EngineOverloaded("busy", 2.5))
    assert reply.headers["retry-after"] == "3"


def test_a_full_cache_says_what_llama_server_says(make_api):
    error = refused(make_api, KVCacheFull("x", 1)).json["error"]
    assert "Context size has been exceeded" in error["message"]


def test_a_compressed_body_is_415(api):
    body = gzip.compress(b'{"content": "x"}')
    reply = api.post("/tokenize", body, headers={"Content-Encoding": "gzip"})
    assert reply.status_code == 415
    assert "gzip" in reply.json["error"]["message"]


@pytest.mark.parametrize("path", ["/completion", "/v1/chat/completions", "/tokenize"])
def test_a_too_large_body_is_413(make_api, path):
    api = make_api(max_body_bytes=20)
    reply = api.post(path, {"prompt": "a" * 100})
    assert reply.status_code == 413
    assert reply.json["error"]["code"] == 413
    assert "20 bytes" in reply.json["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[1]",
        b'{"prompt":"\xb0\xa1"}',
        b'{"prompt":"\\ud83d"}',
        b'{"prompt":NaN}',
        b"[" * 20000,
        b'{"prompt":' + b"[" * 20000 + b"]" * 20000 + b"}",
    ],
)
def test_a_broken_body_is_400_on_every_json_route(api, body):
    for path in (
        "/completion",
        "/v1/completions",
        "/v1/chat/completions",
        "/tokenize",
        "/detokenize",
        "/apply-template",
    ):
        reply = api.post(path, body)
        assert reply.status_code == 400, path
        assert reply.json["error"]["type"] == "invalid_request_error"
    assert api.post("/completion", {"prompt": "a"}).status_code == 200


@pytest.mark.parametrize(
    "content_type",
    [None, "text/plain", "application/x-www-form-urlencoded", "application/json"],
)
def test_the_content_type_does_not_matter(api, content_type):
    headers = {"Content-Type": content_type} if content_type else {}
    reply = api.post("/completion", {"prompt": "a"}, headers=headers)
    assert reply.status_code == 200
