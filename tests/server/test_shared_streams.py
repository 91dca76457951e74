"""Two servers with one Redis, as a balancer would use them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.server.conftest import EIGHT_SLOTS
from tests.support.redis_server import RedisServer
from tests.support.server_process import ServerProcess
from tests.support.streams import ENDLESS, StreamReader
from tests.support.waiting import eventually

CHAT: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Tell me a story"}],
    "max_tokens": 200,
    "temperature": 0,
    "stream": True,
}


class Pair:
    """Two servers and their Redis."""

    def __init__(self, one: ServerProcess, two: ServerProcess) -> None:
        self.one, self.two = one, two


@pytest.fixture(scope="module")
def pair(
    tmp_path_factory: pytest.TempPathFactory, stories_model_path: Path
) -> Iterator[Pair]:
    folders = [tmp_path_factory.mktemp(name) for name in ("redis", "one", "two")]
    with RedisServer(folders[0]) as redis:
        flags = ("-m", str(stories_model_path), "--port", "0", *EIGHT_SLOTS)
        store = ("--stream-store", redis.url)
        with (
            ServerProcess(folders[1], (*flags, *store)) as one,
            ServerProcess(folders[2], (*flags, *store)) as two,
        ):
            one.wait_ready()
            two.wait_ready()
            yield Pair(one, two)


def named(id: str, **more: str) -> dict[str, str]:
    return {"X-Conversation-Id": id, **more}


def test_a_stream_of_one_server_is_resumed_through_the_other(pair: Pair) -> None:
    with requests.post(
        pair.one.url + "/v1/chat/completions",
        json=CHAT,
        headers=named("resume"),
        stream=True,
        timeout=60,
    ) as reply:
        got = next(reply.iter_content(500))
        reply.raw.close()
    rest = pair.two.get(f"/v1/stream/resume?from={len(got)}").content
    whole = pair.one.get("/v1/stream/resume").content
    assert got + rest == whole
    assert whole.count(b"[DONE]") == 1
    late = pair.two.get("/v1/stream/resume", headers={"Last-Event-ID": str(len(got))})
    assert late.content == rest
    (status,) = pair.two.post(
        "/v1/streams/lookup", {"conversation_ids": ["resume"]}
    ).json()
    assert (status["is_done"], status["total_bytes"]) == (True, len(whole))


def test_a_delete_through_the_other_server_frees_the_slot_within_a_second(
    pair: Pair,
) -> None:
    reader = StreamReader(pair.one.url + "/completion", ENDLESS, named("delete"))
    eventually(lambda: len(reader.events) > 3, 20)
    began = time.monotonic()
    requests.delete(pair.two.url + "/v1/stream/delete", timeout=20).raise_for_status()
    eventually(lambda: pair.one.n_busy_slots() == 0, 2)
    assert time.monotonic() - began < 1.5  # a second, and the time of looking
    reader.join(5)
    assert reader.has_error
    for server in (pair.one, pair.two):
        assert server.get("/v1/stream/delete").status_code == 404


def test_a_post_to_the_other_server_replaces_the_session(pair: Pair) -> None:
    first = StreamReader(pair.one.url + "/completion", ENDLESS, named("same"))
    eventually(lambda: len(first.events) > 3, 20)
    second = pair.two.post("/v1/chat/completions", CHAT, headers=named("same"))
    first.join(5)
    assert first.has_error
    eventually(lambda: pair.one.n_busy_slots() == 0, 2)
    assert pair.one.get("/v1/stream/same").content == second.content


def test_one_request_is_answered_once_through_both_servers(pair: Pair) -> None:
    headers = named("once", **{"Idempotency-Key": "k"})
    replies: list[bytes] = []

    def post(server: ServerProcess) -> None:
        path = "/v1/chat/completions"
        replies.append(server.post(path, CHAT, headers=headers).content)

    posts = [
        threading.Thread(target=post, args=(server,))
        for server in (pair.one, pair.two, pair.one, pair.two)
    ]
    for each in posts:
        each.start()
    for each in posts:
        each.join(60)
    assert len(replies) == 4
    assert len(set(replies)) == 1
    other = {**CHAT, "max_tokens": 3}
    refused = pair.two.post("/v1/chat/completions", other, headers=headers)
    assert refused.status_code == 422
