"""Idempotency keys: the same request is answered once, however often it is sent."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.api.conftest import Api
from tests.support.fake_engine import FakeEngine, result, text_deltas
from tests.support.waiting import eventually

ROUTES: list[tuple[str, dict[str, Any]]] = [
    ("/completion", {"prompt": "a"}),
    ("/v1/completions", {"prompt": "a"}),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": "a"}]}),
    ("/v1/responses", {"input": "a"}),
    (
        "/v1/messages",
        {"messages": [{"role": "user", "content": "a"}], "max_tokens": 9},
    ),
    ("/infill", {"input_prefix": "a", "input_suffix": "b"}),
]
CHATML = "{% for m in messages %}{{ m.content }}{% endfor %}"


def keyed(key: str = "k", **more: str) -> dict[str, str]:
    return {"Idempotency-Key": key, **more}


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize(("path", "body"), ROUTES, ids=[path for path, _ in ROUTES])
def test_a_repeated_request_gets_the_first_ones_answer(
    path: str, body: dict[str, Any], is_stream: bool
) -> None:
    api = Api(FakeEngine(), chat_template=CHATML)
    body = {**body, "stream": is_stream}
    first = api.post(path, body, headers=keyed())
    if path == "/infill" and first.status_code == 501:
        pytest.skip("the fake vocabulary has no infill tokens")
    again = api.post(path, body, headers=keyed())
    assert (first.status_code, again.content) == (200, first.content)
    assert again.headers["content-type"] == first.headers["content-type"]
    assert len(api.engine.requests) == 1


def test_order_of_keys_and_white_space_make_no_other_request(api: Api) -> None:
    bodies = (b'{"prompt": "a", "n_predict": 2}', b'{"n_predict":2,"prompt":"a"}')
    first, again = (api.post("/completion", b, headers=keyed()) for b in bodies)
    assert first.content == again.content
    assert len(api.engine.requests) == 1


def test_another_body_or_path_with_the_same_key_is_refused(api: Api) -> None:
    api.post("/completion", {"prompt": "a"}, headers=keyed())
    for path, prompt in (("/completion", "b"), ("/v1/completions", "a")):
        reply = api.post(path, {"prompt": prompt}, headers=keyed())
        assert reply.status_code == 422
        assert reply.json["error"]["code"] == "idempotency_key_reused"
        assert reply.json["error"]["param"] == "Idempotency-Key"
    assert len(api.engine.requests) == 1


def test_a_request_attaches_to_one_that_is_being_answered() -> None:
    engine = FakeEngine(is_manual=True)
    api, bodies = Api(engine), []

    def post() -> None:
        body = {"prompt": "a", "stream": True}
        bodies.append(api.post("/completion", body, headers=keyed()).content)

    posts = [threading.Thread(target=post) for _ in range(4)]
    for each in posts:
        each.start()
    eventually(lambda: engine.generations)
    for delta in text_deltas("once"):
        engine.generations[0].append(delta, None)
    engine.generations[0].append(None, result())
    for each in posts:
        each.join(10)
    assert len(engine.requests) == 1
    assert len(bodies) == 4
    assert len(set(bodies)) == 1


def test_keys_of_other_clients_are_other_keys() -> None:
    api = Api(FakeEngine(), api_keys=("one", "two"))
    for key in ("one", "two"):
        headers = keyed(Authorization=f"Bearer {key}")
        assert api.post("/completion", {"prompt": key}, headers=headers).status == (
            "200 OK"
        )
    assert len(api.engine.requests) == 2


def test_the_answer_tells_a_name_by_which_it_can_be_read_again(api: Api) -> None:
    reply = api.post("/completion", {"prompt": "a", "stream": True}, headers=keyed())
    name = reply.headers["x-conversation-id"]
    assert name.startswith("stream_")
    assert len(name) > 30
    assert api.get(f"/v1/stream/{name}").content == reply.content
    named = keyed("other", **{"X-Conversation-Id": "mine"})
    reply = api.post("/completion", {"prompt": "a"}, headers=named)
    assert reply.headers["x-conversation-id"] == "mine"
    again = api.post("/completion", {"prompt": "a"}, headers=keyed("other"))
    assert again.headers["x-conversation-id"] == "mine"


def test_what_was_refused_or_forgotten_is_done_anew(api: Api) -> None:
    api.engine.refusal = ValueError("full")
    assert api.post("/completion", {"prompt": "a"}, headers=keyed()).status_code == 500
    api.engine.refusal = None
    reply = api.post("/completion", {"prompt": "a"}, headers=keyed())
    assert reply.status_code == 200
    name = reply.headers["x-conversation-id"]
    api.client.simulate_delete(f"/v1/stream/{name}")
    assert api.post("/completion", {"prompt": "b"}, headers=keyed()).status_code == 200


def test_a_background_response_is_made_once(api: Api) -> None:
    body = {"input": "a", "background": True}
    first, again = (api.post("/v1/responses", body, headers=keyed()) for _ in "ab")
    assert first.json["id"] == again.json["id"]
    assert len(api.engine.requests) == 1
    api.client.simulate_delete(f"/v1/responses/{first.json['id']}")
