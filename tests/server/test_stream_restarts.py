"""Streams in files, through servers that are killed in the middle of them."""

from __future__ import annotations

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from api.streams.increments import TextPart, parts_of
from api.streams.tally import Tally, read_end_line
from tests.server.conftest import StartServer
from tests.support.server_process import ServerProcess
from tests.support.waiting import eventually

N_TOKENS = 300
PROMPT = "Once upon a time"
CHAT: dict[str, Any] = {
    "messages": [{"role": "user", "content": PROMPT}],
    "max_tokens": N_TOKENS,
    "temperature": 0,
    "ignore_eos": True,
    "stream": True,
}
TEXT: dict[str, Any] = {
    "prompt": PROMPT,
    "max_tokens": N_TOKENS,
    "temperature": 0,
    "ignore_eos": True,
    "stream": True,
}
ROUTES: list[tuple[str, dict[str, Any]]] = [
    ("/v1/chat/completions", {**CHAT, "stream_options": {"include_usage": True}}),
    ("/v1/completions", {**TEXT, "prompt": [PROMPT, "Lily"]}),
    ("/completion", TEXT),
    ("/v1/messages", CHAT),
]


def serve(
    start_server: StartServer, model: Any, folder: Path, *more: str
) -> ServerProcess:
    flags = ("-np", "5", "-c", "5120", "--stream-store", f"file:{folder}")
    # Or company would have a part in the texts that are compared here.
    alone = ("--deterministic", *more)
    made = start_server("-m", str(model), "--port", "0", *flags, *alone)
    made.wait_ready()
    return made


def named(id: str) -> dict[str, str]:
    return {"X-Conversation-Id": id}


def leave_early(
    server: ServerProcess, path: str, body: Any, id: str, n_bytes: int
) -> bytes:
    """Send a request and leave after some bytes; the generation goes on."""
    with requests.post(
        server.url + path, json=body, headers=named(id), stream=True, timeout=60
    ) as reply:
        assert reply.status_code == 200, reply.text
        got = b""
        for piece in reply.iter_content(64):
            got += piece
            if len(got) >= n_bytes:
                break
        reply.raw.close()
    return got


def texts(body: bytes) -> dict[int, str]:
    """Return the text of each choice."""
    found: dict[int, str] = {}
    for event in events(body):
        for part in parts_of(event):
            assert isinstance(part, TextPart)
            found[part.choice] = found.get(part.choice, "") + part.text
    return found


def events(body: bytes) -> list[dict[str, Any]]:
    lines = [line[6:] for line in body.split(b"\n") if line.startswith(b"data: ")]
    return [json.loads(line) for line in lines if line != b"[DONE]"]


def assert_counted(body: bytes) -> None:
    *lines, last = body.splitlines(keepends=True)
    told, tally = read_end_line(last), Tally()
    tally.add(b"".join(lines))
    assert told is not None
    assert (told.n_bytes, told.n_events, told.crc) == (
        tally.n_bytes,
        tally.n_events,
        tally.crc,
    )


def ids(body: bytes) -> set[str]:
    return {event["id"] for event in events(body) if "id" in event}


def test_killed_generations_go_on_in_the_next_server_as_if_never_interrupted(
    start_server: StartServer, stories_model_path: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "streams"
    first = serve(start_server, stories_model_path, folder, "--stream-continue")
    with ThreadPoolExecutor(len(ROUTES)) as pool:
        reading = {
            path: pool.submit(leave_early, first, path, body, path, 2000)
            for path, body in ROUTES
        }
    got = {path: each.result() for path, each in reading.items()}
    first.kill()
    second = serve(start_server, stories_model_path, folder, "--stream-continue")
    for path, request in ROUTES:
        whole = second.post(path, request).content
        reply = second.get("/v1/stream", params={"conv_id": path})
        body = reply.content
        assert body.startswith(got[path])
        assert texts(body) == texts(whole)
        assert len(events(body)) == len(events(whole))
        assert b"error" not in body
        assert b"\n: continued exact=true\n" in body
        assert len(ids(body)) <= 1
        assert_counted(body)
        if path == "/v1/chat/completions":
            assert events(body)[-1]["usage"]["completion_tokens"] == N_TOKENS
        (status,) = second.post(
            "/v1/streams/lookup", {"conversation_ids": [path]}
        ).json()
        assert status["is_done"]
        assert status["is_continued"]


def test_without_the_flag_a_killed_generation_is_interrupted_and_keeps_its_text(
    start_server: StartServer, stories_model_path: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "streams"
    first = serve(start_server, stories_model_path, folder, "--api-key", "one,two")
    one, other = ({"Authorization": f"Bearer {key}"} for key in ("one", "two"))
    body = {**TEXT, "n_predict": 900}
    with requests.post(
        first.url + "/completion",
        json=body,
        headers={**named("c"), **one},
        stream=True,
        timeout=60,
    ) as reply:
        got = next(reply.iter_content(2000))
        first.kill()
    for path in folder.glob("*.log"):
        assert b"Once upon" not in path.read_bytes()  # no request is kept
    # Keys in another order are the same keys.
    second = serve(start_server, stories_model_path, folder, "--api-key", "two,one")
    found = second.get("/v1/stream/c", headers=one)
    assert found.content.startswith(got)
    assert b'"code":"stream_interrupted"' in found.content
    assert_counted(found.content)
    assert second.get("/v1/stream/c", headers=other).status_code == 404
    assert second.stop(signal.SIGTERM) == 0


def test_whole_answers_and_queued_ones_go_on_too(
    start_server: StartServer, stories_model_path: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "streams"
    flags = ("--stream-continue", "-np", "1")
    first = serve(start_server, stories_model_path, folder, *flags)
    body = {**TEXT, "n_predict": 400, "stream": False}
    for id in ("running", "queued"):
        with pytest.raises(requests.ReadTimeout):
            requests.post(
                first.url + "/completion", json=body, headers=named(id), timeout=0.1
            )
    first.kill()
    second = serve(start_server, stories_model_path, folder, *flags)
    answers = [second.get(f"/v1/stream/{id}").json() for id in ("running", "queued")]
    assert [each["tokens_predicted"] for each in answers] == [400, 400]
    assert answers[0]["content"] == answers[1]["content"]


def test_a_generation_that_chance_had_a_part_in_says_so(
    start_server: StartServer, stories_model_path: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "streams"
    first = serve(start_server, stories_model_path, folder, "--stream-continue")
    body = {**CHAT, "temperature": 0.8, "seed": 3}
    leave_early(first, "/v1/chat/completions", body, "c", 2000)
    first.kill()
    second = serve(start_server, stories_model_path, folder, "--stream-continue")
    found = second.get("/v1/stream/c").content
    assert b"\n: continued exact=false\n" in found
    assert events(found)[-1]["choices"][0]["finish_reason"] == "length"
    eventually(lambda: second.n_busy_slots() == 0)


def test_a_server_that_is_stopped_leaves_its_streams_to_the_next(
    start_server: StartServer, stories_model_path: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "streams"
    flags = ("--stream-continue", "--shutdown-timeout", "0", "-np", "1")
    first = serve(start_server, stories_model_path, folder, *flags)
    body = {**TEXT, "max_tokens": 900}
    pieces: list[bytes] = []
    with requests.post(
        first.url + "/completion",
        json=body,
        headers=named("c"),
        stream=True,
        timeout=60,
    ) as reply:
        body_pieces = reply.iter_content(500)
        got = next(body_pieces)
        with pytest.raises(requests.ReadTimeout):
            requests.post(
                first.url + "/completion",
                json=body,
                headers=named("queued"),
                timeout=0.1,
            )
        first.send(signal.SIGTERM)
        # No end that looks like one: the connection breaks.
        with pytest.raises(requests.exceptions.ChunkedEncodingError):
            pieces.extend(body_pieces)
        got += b"".join(pieces)
    assert first.wait_exit(10) == 0
    second = serve(start_server, stories_model_path, folder, *flags)
    rest = second.get(f"/v1/stream/c?from={len(got)}").content
    whole = second.get("/v1/stream/c").content
    assert got + rest == whole
    assert b"error" not in whole
    assert texts(whole) == texts(second.post("/completion", body).content)
    assert_counted(whole)
    queued = second.get("/v1/stream/queued").content
    assert texts(queued) == texts(whole)
