"""Streams that outlive their connections, through a real server."""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.server.conftest import StartServer
from tests.support.server_process import ServerProcess
from tests.support.streams import ENDLESS, StreamReader
from tests.support.waiting import eventually

CHAT = {
    "messages": [{"role": "user", "content": "Tell me a story"}],
    "max_tokens": 60,
    "temperature": 0,
    "stream": True,
}
ROUTES: list[tuple[str, dict[str, Any]]] = [
    ("/v1/chat/completions", CHAT),
    ("/v1/completions", {"prompt": "Once", "max_tokens": 40, "stream": True}),
    ("/completion", {"prompt": "Once", "n_predict": 40, "stream": True}),
    ("/v1/responses", {"input": "Once", "max_output_tokens": 40, "stream": True}),
    ("/v1/messages", CHAT),
]


@pytest.fixture(scope="module", autouse=True)
def quiet(server: ServerProcess) -> Iterator[None]:
    yield
    eventually(lambda: server.n_busy_slots() == 0)


def named(id: str) -> dict[str, str]:
    return {"X-Conversation-Id": id}


def read(server: ServerProcess, id: str, offset: int = 0) -> bytes:
    reply = server.get(f"/v1/stream/{id}?from={offset}")
    assert reply.status_code == 200, reply.text
    return reply.content


def lookup(server: ServerProcess, id: str) -> dict[str, Any]:
    (found,) = server.post("/v1/streams/lookup", {"conversation_ids": [id]}).json()
    return dict(found)


def stop(server: ServerProcess, id: str) -> None:
    reply = requests.delete(f"{server.url}/v1/stream/{id}", timeout=20)
    assert (reply.status_code, reply.content) == (204, b"")


def drop_early(
    server: ServerProcess, path: str, body: Any, id: str, n_bytes: int = 200
) -> bytes:
    """Send a request and leave after some bytes of its stream; return them."""
    with requests.post(
        server.url + path, json=body, headers=named(id), stream=True, timeout=60
    ) as reply:
        assert reply.status_code == 200
        got = b""
        for piece in reply.iter_content(64):
            got += piece
            if len(got) >= n_bytes:
                break
        reply.raw.close()
    return got


@pytest.mark.parametrize(("path", "body"), ROUTES, ids=[path for path, _ in ROUTES])
def test_dropped_stream_goes_on_where_it_was_left(
    server: ServerProcess, path: str, body: dict[str, Any]
) -> None:
    got = drop_early(server, path, body, "drop")
    rest = read(server, "drop", len(got))
    whole = read(server, "drop")
    assert got + rest == whole
    assert lookup(server, "drop")["total_bytes"] == len(whole)
    assert lookup(server, "drop")["is_done"]
    again = server.post(path, body, headers=named("uncut")).content
    assert len(re.findall(rb"data: ", again)) == len(re.findall(rb"data: ", whole))


def test_last_event_id_is_where_to_go_on(server: ServerProcess) -> None:
    whole = server.post("/v1/chat/completions", CHAT, headers=named("ids")).content
    ids = [int(each) for each in re.findall(rb"^id: (\d+)$", whole, re.M)]
    assert ids[-1] == whole.index(b": end bytes=")
    for number in ids[:: len(ids) // 5]:
        reply = server.get("/v1/stream/ids", headers={"Last-Event-ID": str(number)})
        assert reply.content == whole[number:]


def test_without_the_header_there_are_no_ids_and_leaving_cancels(
    server: ServerProcess,
) -> None:
    plain = server.post("/v1/chat/completions", CHAT)
    assert b"\nid: " not in plain.content
    reader = StreamReader(server.url + "/completion", ENDLESS)
    eventually(lambda: len(reader.events) > 3, 20)
    reader.close()
    eventually(lambda: server.n_busy_slots() == 0)


def test_random_cuts_by_several_readers_give_the_bytes_of_an_uncut_one(
    server: ServerProcess,
) -> None:
    first = threading.Thread(
        target=server.post,
        args=("/completion", {**ENDLESS, "n_predict": 300}),
        kwargs={"headers": named("cuts")},
    )
    first.start()
    eventually(
        lambda: server.post("/v1/streams/lookup", {"conversation_ids": ["cuts"]}).json()
    )
    got: list[bytes] = []

    def follow(seed: int) -> None:
        chance = random.Random(seed)
        mine = b""
        while not (lookup(server, "cuts")["is_done"] and mine.endswith(b"\n\n")):
            with requests.get(
                f"{server.url}/v1/stream?conv_id=cuts&from={len(mine)}",
                stream=True,
                timeout=60,
            ) as reply:
                wanted = chance.randrange(1, 20_000)
                for piece in reply.iter_content(chance.randrange(1, 999)):
                    mine += piece
                    wanted -= len(piece)
                    if wanted < 0:
                        break
                reply.raw.close()
            if lookup(server, "cuts")["total_bytes"] == len(mine):
                break
        got.append(mine + read(server, "cuts", len(mine)))

    readers = [threading.Thread(target=follow, args=(seed,)) for seed in range(4)]
    for reader in readers:
        reader.start()
    for reader in (*readers, first):
        reader.join(60)
        assert not reader.is_alive()
    assert set(got) == {read(server, "cuts")}


def test_delete_frees_the_slot_and_ends_readers_with_an_error_event(
    server: ServerProcess,
) -> None:
    reader = StreamReader(server.url + "/completion", ENDLESS, named("a::x/y z"))
    eventually(lambda: len(reader.events) > 3, 20)
    requests.delete(
        server.url + "/v1/stream?conv_id=a%3A%3Ax%2Fy%20z", timeout=20
    ).raise_for_status()
    eventually(lambda: server.n_busy_slots() == 0, 1)
    reader.join(2)
    assert reader.has_error
    assert not reader.has_finish
    assert server.get("/v1/stream/a::x/y%20z").status_code == 404
    stop(server, "a::x/y z")


def test_second_request_of_a_conversation_takes_the_place_of_the_first(
    server: ServerProcess,
) -> None:
    first = StreamReader(server.url + "/completion", ENDLESS, named("same"))
    eventually(lambda: len(first.events) > 3, 20)
    second = server.post("/v1/chat/completions", CHAT, headers=named("same"))
    first.join(2)
    assert first.has_error
    assert read(server, "same") == second.content
    assert second.content.count(b"[DONE]") == 1


def test_whole_answer_can_be_fetched_by_a_client_that_left(
    server: ServerProcess,
) -> None:
    body = {**CHAT, "stream": False, "max_tokens": 200, "ignore_eos": True}
    with pytest.raises(requests.ReadTimeout):
        requests.post(
            server.url + "/v1/chat/completions",
            json=body,
            headers=named("whole"),
            timeout=0.02,
        )
    eventually(lambda: server.get("/v1/stream/whole").status_code == 200, 20)
    reply = server.get("/v1/stream/whole")
    assert reply.headers["content-type"].startswith("application/json")
    assert reply.json()["usage"]["completion_tokens"] == 200
    assert json.loads(read(server, "whole", 0)) == reply.json()


def test_client_that_leaves_the_queue_finds_its_answer_later(
    server: ServerProcess,
) -> None:
    fillers = [StreamReader(server.url + "/completion", ENDLESS) for _ in range(8)]
    eventually(lambda: server.n_busy_slots() == 8, 20)
    with pytest.raises(requests.ReadTimeout):
        requests.post(
            server.url + "/v1/chat/completions",
            json=CHAT,
            headers=named("queued"),
            timeout=0.3,
        )
    with requests.get(
        server.url + "/v1/stream/queued", stream=True, timeout=20
    ) as reply:
        assert reply.status_code == 200  # at once, though nothing was generated
        assert not lookup(server, "queued")["is_done"]
        for filler in fillers:
            filler.close()
        assert reply.content.startswith(b': {"object":"stream.progress"')
        assert b"\n\n: end bytes=" in reply.content
    assert b"[DONE]" in read(server, "queued")


def test_stop_in_the_queue_answers_the_request_that_waits(
    server: ServerProcess,
) -> None:
    fillers = [StreamReader(server.url + "/completion", ENDLESS) for _ in range(8)]
    eventually(lambda: server.n_busy_slots() == 8, 20)
    replies: list[requests.Response] = []
    waiting = threading.Thread(
        target=lambda: replies.append(
            server.post("/v1/chat/completions", CHAT, headers=named("stopped"))
        )
    )
    waiting.start()
    try:
        eventually(
            lambda: server.post(
                "/v1/streams/lookup", {"conversation_ids": ["stopped"]}
            ).json()
        )
        stop(server, "stopped")
        waiting.join(5)
        assert [reply.status_code for reply in replies] == [400]
        assert "cancelled" in replies[0].json()["error"]["message"]
    finally:
        for filler in fillers:
            filler.close()


def test_slow_reader_does_not_slow_the_generation_nor_other_readers(
    server: ServerProcess,
) -> None:
    body = {**ENDLESS, "n_predict": 400}
    with requests.post(
        server.url + "/completion",
        json=body,
        headers=named("slow"),
        stream=True,
        timeout=60,
    ) as slow:
        fast = read(server, "slow")
        assert lookup(server, "slow")["is_done"]
        assert slow.content == fast


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("/v1/stream", 400, "Missing conversation id"),
        ("/v1/stream?conv_id=", 400, "Missing conversation id"),
        ("/v1/stream/unknown", 404, "not found or expired"),
        ("/v1/stream/known?from=-1", 400, "Invalid 'from' offset"),
        ("/v1/stream/known?from=x", 400, "Invalid 'from' offset"),
        ("/v1/streams/lookup", 405, "Not Allowed"),
        ("/v1/streams", 404, "File Not Found"),
    ],
)
def test_wrong_questions_have_a_status(
    server: ServerProcess, path: str, status: int, message: str
) -> None:
    known = {**CHAT, "stream": False, "max_tokens": 1}
    server.post("/v1/chat/completions", known, headers=named("known"))
    reply = server.get(path)
    assert (reply.status_code, message in reply.text) == (status, True)


def test_refused_request_leaves_nothing_behind(server: ServerProcess) -> None:
    body = {**CHAT, "max_tokens": "many"}
    reply = server.post("/v1/chat/completions", body, headers=named("bad"))
    assert reply.status_code == 400
    assert server.get("/v1/stream/bad").status_code == 404


@pytest.fixture
def small(start_server: StartServer, stories_model_path: Any) -> ServerProcess:
    flags = ("-np", "2", "-c", "1024", "--context-shift", "--stream-ring-kib", "96")
    times = ("--stream-ttl-seconds", "1", "--stream-orphan-seconds", "0.5")
    more = ("--stream-sessions", "1", "--api-key", "one,two")
    stop = ("--shutdown-timeout", "0.3")
    made = start_server(
        "-m", str(stories_model_path), "--port", "0", *flags, *times, *more, *stop
    )
    made.wait_ready()
    return made


def test_ring_expiry_orphans_caps_keys_and_shutdown_work_with_small_limits(
    small: ServerProcess,
) -> None:
    one, two = ({"Authorization": f"Bearer {key}"} for key in ("one", "two"))
    url = small.url + "/completion"
    reader = StreamReader(url, ENDLESS, {**one, **named("c")})
    stream = "/v1/stream/c"
    ids = {"conversation_ids": ["c"]}

    def n_bytes() -> int:
        found = small.post("/v1/streams/lookup", ids, headers=one).json()
        return sum(each["total_bytes"] for each in found)

    eventually(lambda: n_bytes() > 100 << 10, 20)
    lost = small.get(stream, headers=one)
    assert lost.status_code == 400
    assert lost.json()["error"]["type"] == "offset_lost_error"
    assert lost.json()["error"]["first_offset"] > 0
    with small.get(stream + "?snapshot=1", headers=one, stream=True) as snapshot:
        lines = [line for line, _ in zip(snapshot.iter_lines(), range(9), strict=False)]
    assert lines[0] == b"event: snapshot"
    text = json.loads(lines[1].removeprefix(b"data: "))["choices"][0]["content"]
    assert text[:20] == "".join(event["content"] for event in reader.events)[:20]
    assert small.get(stream, headers=two).status_code == 404
    busy = small.post("/completion", {"prompt": "a"}, headers={**one, **named("d")})
    assert busy.status_code == 429
    assert "--stream-sessions" in busy.json()["error"]["message"]
    short = {"prompt": "a", "n_predict": 1}
    other = {**two, **named("c")}
    assert small.post("/completion", short, headers=other).status_code == 200
    assert not is_idle(small, one)
    reader.close()  # nobody reads it any more
    eventually(lambda: is_idle(small, one))
    for headers in (one, two):
        eventually(
            lambda headers=headers: (
                small.get(stream, headers=headers).status_code == 404
            )
        )

    # At the end, for the same server: shutdown ends sessions with an error event.
    reader = StreamReader(url, ENDLESS, {**one, **named("c")})
    eventually(lambda: len(reader.events) > 3, 20)
    assert small.stop(within_s=10) == 0
    reader.join(5)
    assert reader.failure is None
    assert reader.has_error


def is_idle(small: ServerProcess, headers: dict[str, str]) -> bool:
    slots = small.get("/slots", headers=headers).json()
    return not any(slot["is_processing"] for slot in slots)
