"""``/v1/embeddings`` and ``/embedding``, with an engine that only pretends."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from typing import Any

import pytest

from llamactypes.engine import EngineConfig
from llamactypes.errors import EngineOverloaded
from tests.support.fake_engine import BOS, FakeEngine, make_info

N_INPUT = 16


@pytest.fixture
def make_embedder(make_api: Callable[..., Any]) -> Callable[..., Any]:
    def make(pooling: str | None = "mean", **settings: Any) -> Any:
        facts = {"n_embd_out": 4, "n_tokens_input": N_INPUT} if pooling else {}
        engine = FakeEngine(info=make_info(pooling=pooling, **facts))
        return make_api(engine=engine, **settings)

    return make


@pytest.fixture
def api(make_embedder: Callable[..., Any]) -> Any:
    return make_embedder()


def post(api: Any, path: str = "/v1/embeddings", **body: Any) -> Any:
    return api.post(path, body)


def inputs_of(api: Any) -> tuple[tuple[int, ...], ...]:
    return api.engine.embedded[-1].inputs


def test_openai_reply_has_its_shape(api):
    reply = post(api, input="ab", model="any", user="me", embd_normalize=-1)
    assert reply.status_code == 200
    assert reply.json == {
        "model": "any",
        "object": "list",
        "usage": {"prompt_tokens": 3, "total_tokens": 3},
        "data": [{"object": "embedding", "index": 0, "embedding": [3, BOS, 0, 0]}],
    }


def test_the_model_is_named_when_the_request_names_none(api):
    assert post(api, input="ab").json["model"] == "tiny.gguf"


def test_rows_have_length_one_unless_told_otherwise(api, make_embedder):
    (row,) = (each["embedding"] for each in post(api, input="ab").json["data"])
    assert sum(x * x for x in row) == pytest.approx(1)
    api = make_embedder(embd_normalize=1)
    (row,) = (each["embedding"] for each in post(api, input="ab").json["data"])
    assert sum(row) == pytest.approx(1)


def test_base64_is_little_endian_float32(api):
    reply = post(api, input="ab", encoding_format="base64", embd_normalize=-1)
    (item,) = reply.json["data"]
    assert item["encoding_format"] == "base64"
    numbers = struct.unpack("<4f", base64.b64decode(item["embedding"]))
    assert numbers == (3, BOS, 0, 0)


@pytest.mark.parametrize(
    ("given", "inputs"),
    [
        ("a", [[BOS, 97]]),
        ("", [[BOS]]),
        ([1, 2], [[1, 2]]),
        ([1, "a", 2], [[1, 97, 2]]),
        (["a", "b"], [[BOS, 97], [BOS, 98]]),
        (["a", [7]], [[BOS, 97], [7]]),
        ([[7], [8, "b"]], [[7], [8, 98]]),
        ({"prompt_string": "a"}, [[BOS, 97]]),
        ({"content": [{"type": "text", "text": "a"}]}, [[BOS, 97]]),
        (
            [
                {"content": [{"type": "text", "text": t} for t in "ab"]},
                {"prompt_string": "c"},
            ],
            [[BOS, 97, 98], [BOS, 99]],
        ),
    ],
)
def test_an_input_may_have_many_shapes(api, given, inputs):
    reply = post(api, input=given)
    assert reply.status_code == 200, reply.text
    assert [list(each) for each in inputs_of(api)] == inputs
    assert [item["index"] for item in reply.json["data"]] == list(range(len(inputs)))


@pytest.mark.parametrize(
    ("body", "param", "words"),
    [
        ({}, "input", '"input" or "content" must be provided'),
        ({"input": []}, "input", '"input" must not be empty'),
        ({"input": True}, "input", "must be a string"),
        ({"input": [None]}, "input", "must be a string"),
        ({"input": [[]]}, "input", "cannot be empty"),
        ({"input": [258]}, "input", "invalid tokens"),
        ({"input": {"content": "a"}}, "input", "array of parts"),
        ({"input": {"content": ["a"]}}, "input", "unsupported"),
        ({"input": {"content": [{"type": "odd"}]}}, "input", "unsupported"),
        ({"input": {"content": [{"type": "image_url"}]}}, "input", "not supported"),
        ({"input": "a", "encoding_format": 1}, "encoding_format", "float or base64"),
        ({"input": "a", "encoding_format": "hex"}, "encoding_format", "float or"),
        ({"input": "a", "dimensions": 0}, "dimensions", "between 1 <= value <= 4"),
        ({"input": "a", "dimensions": 5}, "dimensions", "between 1 <= value <= 4"),
        ({"input": "a", "dimensions": "2"}, "dimensions", "integer"),
        ({"input": "a", "embd_normalize": -2}, "embd_normalize", "between"),
        ({"input": "a", "user": 1}, "user", "string"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(api, body, param, words):
    reply = post(api, **body)
    assert reply.status_code == 400
    error = reply.json["error"]
    assert (error["param"], error["type"]) == (param, "invalid_request_error")
    assert words in error["message"]
    assert not api.engine.embedded


def test_dimensions_keep_the_first_numbers(api):
    assert len(post(api, input="a", dimensions=2).json["data"][0]["embedding"]) == 2
    assert api.engine.embedded[-1].dimensions == 2


@pytest.mark.parametrize(
    ("n_ubatch", "words"),
    [(N_INPUT, "too large to process"), (512, "exceeds the available context size")],
)
def test_a_text_that_no_batch_holds_is_refused_unread(make_embedder, n_ubatch, words):
    api = make_embedder(config=EngineConfig("tiny.gguf", n_ubatch=n_ubatch))
    reply = post(api, input="a" * N_INPUT * 100)
    assert reply.status_code == 400
    assert words in reply.json["error"]["message"]


@pytest.mark.parametrize("path", ["/embedding", "/embeddings"])
def test_native_reply_is_a_list_of_rows(api, path):
    reply = post(api, path, input=["a", "b"], embd_normalize=-1)
    assert reply.json == [
        {"index": 0, "embedding": [[2, BOS, 0, 0]]},
        {"index": 1, "embedding": [[2, BOS, 0, 0]]},
    ]


def test_content_asks_for_the_native_reply_on_any_route(api):
    assert post(api, content="a", embd_normalize=-1).json == [
        {"index": 0, "embedding": [[2, BOS, 0, 0]]}
    ]


def test_native_rows_may_be_base64(api):
    reply = post(api, "/embedding", input="a", encoding_format="base64")
    assert isinstance(reply.json[0]["embedding"][0], str)


def test_without_pooling_there_is_a_row_for_each_token(make_embedder):
    api = make_embedder("none")
    reply = post(api, "/embedding", input="ab", embd_normalize=-1)
    assert len(reply.json[0]["embedding"]) == 3


def test_without_pooling_openais_route_is_refused(make_embedder):
    reply = post(make_embedder("none"), input="ab")
    assert reply.status_code == 400
    assert "Pooling type 'none'" in reply.json["error"]["message"]


def test_without_pooling_dimensions_are_refused(make_embedder):
    reply = post(make_embedder("none"), "/embedding", input="ab", dimensions=2)
    assert reply.status_code == 400


@pytest.mark.parametrize("path", ["/v1/embeddings", "/embedding", "/embeddings"])
def test_a_server_that_generates_answers_501(make_embedder, path):
    reply = post(make_embedder(None), path, input="ab")
    assert reply.status_code == 501
    error = reply.json["error"]
    assert error["type"] == "not_supported_error"
    assert "Start it with `--embeddings`" in error["message"]


def test_the_model_is_listed_as_one_for_embeddings(api):
    (model,) = api.get("/v1/models").json["models"]
    assert model["capabilities"] == ["embedding"]


def test_a_full_queue_is_429(api):
    api.engine.refusal = EngineOverloaded("full", 3.0)
    reply = post(api, input="ab")
    assert (reply.status_code, reply.headers["retry-after"]) == (429, "3")


def test_a_client_that_leaves_cancels(make_api):
    info = make_info(pooling="mean", n_embd_out=4, n_tokens_input=N_INPUT)
    engine = FakeEngine(info=info, is_manual=True)
    api = make_api(engine=engine)
    environ = {"waitress.client_disconnected": lambda: True}
    api.post("/v1/embeddings", {"input": "a"}, extras=environ)
    assert engine.cancelled_jobs


def test_keys_have_a_limit_here_too(make_api):
    info = make_info(pooling="mean", n_embd_out=4, n_tokens_input=N_INPUT)
    api = make_api(engine=FakeEngine(info=info), api_keys=("k",), key_concurrency=1)
    for _ in range(3):  # what has ended does not count
        reply = api.post(
            "/v1/embeddings", {"input": "a"}, headers={"Authorization": "Bearer k"}
        )
        assert reply.status_code == 200
