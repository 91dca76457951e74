"""Conversations over HTTP, without sockets: names, failures, what is left out."""

from __future__ import annotations

import threading

import pytest
from falcon import testing

from tests.api.conftest import Api
from tests.support.fake_engine import FakeEngine, result
from tests.support.waiting import eventually

PLAIN = {"prompt": "a"}


def named(id: str) -> dict[str, str]:
    return {"X-Conversation-Id": id}


@pytest.mark.parametrize("name", ["X-Conversation-Id", "x-conversation-ID"])
def test_header_of_any_case_names_the_conversation(api: Api, name: str) -> None:
    reply = api.post("/completion", PLAIN, headers={name: "c"})
    assert api.get("/v1/stream/c").content == reply.content


def test_ids_are_the_same_in_header_path_and_query(api: Api) -> None:
    on_the_wire = "größe::m/ä".encode().decode("latin-1")
    api.post("/completion", PLAIN, headers=named(on_the_wire))
    assert api.get("/v1/stream/größe::m/ä").status_code == 200
    params = {"conv_id": "größe::m/ä"}
    assert api.get("/v1/stream", params=params).status_code == 200


def test_an_empty_id_is_none_and_a_very_long_one_is_refused(api: Api) -> None:
    assert api.post("/completion", PLAIN, headers=named("")).status_code == 200
    reply = api.post("/completion", PLAIN, headers=named("x" * 1025))
    assert reply.status_code == 400
    assert "1024" in reply.json["error"]["message"]


@pytest.mark.parametrize("is_stream", [False, True])
def test_failure_before_the_begin_is_a_status_for_who_asked(is_stream: bool) -> None:
    failed = result(error=ValueError("no memory"))
    api = Api(FakeEngine(script=lambda request: ((), failed)))
    body = {**PLAIN, "stream": is_stream}
    assert api.post("/completion", body, headers=named("c")).status_code == 500
    # A stream that never began is forgotten; whole answers are fetched as they are.
    expected = 404 if is_stream else 500
    eventually(lambda: api.get("/v1/stream/c").status_code == expected)


@pytest.mark.parametrize("is_stream", [False, True])
def test_who_waits_for_a_slot_reads_and_who_left_meanwhile_does_not(
    is_stream: bool,
) -> None:
    api = Api(FakeEngine(is_manual=True), stream_orphan_s=0.05)
    replies: list[testing.Result] = []
    body = {**PLAIN, "stream": is_stream}

    def wait() -> None:
        replies.append(api.post("/completion", body, headers=named("waits")))

    thread = threading.Thread(target=wait)
    thread.start()
    eventually(lambda: api.engine.generations)
    gone = {"waitress.client_disconnected": lambda: True}
    api.post("/completion", body, headers=named("left"), extras=gone)
    (waiting, left) = api.engine.generations
    # The younger one is an orphan: the older one would have been one before.
    eventually(lambda: left in api.engine.cancelled)
    assert waiting not in api.engine.cancelled
    waiting.append(None, result())
    thread.join(5)
    assert [reply.status_code for reply in replies] == [200]


def test_refused_request_ends_the_conversation_before_it(api: Api) -> None:
    api.post("/completion", PLAIN, headers=named("c"))
    api.engine.refusal = ValueError("full")
    assert api.post("/completion", PLAIN, headers=named("c")).status_code == 500
    assert api.get("/v1/stream/c").status_code == 404


def test_a_background_response_needs_no_session(api: Api) -> None:
    body = {"input": "a", "background": True}
    id = api.post("/v1/responses", body, headers=named("c")).json["id"]
    assert api.get("/v1/stream/c").status_code == 404
    body["stream"] = True
    reply = api.post("/v1/responses", body, headers=named("c"))
    assert api.get("/v1/stream/c").content == reply.content
    api.client.simulate_delete(f"/v1/responses/{id}")


def test_scrape_counts_sessions_and_those_who_come_back() -> None:
    api = Api(FakeEngine(), metrics=True)
    reply = api.post("/completion", PLAIN, headers=named("c"))
    api.get("/v1/stream/c?from=9")
    lines = api.get("/metrics").text.splitlines()
    assert "llamactypes:streams_opened_total 1.0" in lines
    assert "llamactypes:streams_resumed_total 1.0" in lines
    n_replayed = len(reply.content) - 9
    assert f"llamactypes:streams_bytes_replayed_total {n_replayed}.0" in lines


def test_head_tells_whether_there_is_a_stream(api: Api) -> None:
    api.post("/completion", {**PLAIN, "stream": True}, headers=named("c"))
    found = api.client.simulate_head("/v1/stream/c")
    assert (found.status_code, found.content) == (200, b"")
    assert found.headers["content-type"] == "text/event-stream"
    assert api.client.simulate_head("/v1/stream/d").status_code == 404


@pytest.mark.parametrize(
    ("body", "expected"), [({}, 0), ({"conversation_ids": [1, "", None, "c"]}, 1)]
)
def test_lookup_skips_what_is_no_id(api: Api, body: dict, expected: int) -> None:
    api.post("/completion", PLAIN, headers=named("c"))
    assert len(api.post("/v1/streams/lookup", body).json) == expected
