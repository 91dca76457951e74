"""Many and difficult clients: progress, disconnects, limits, the official SDK."""

from __future__ import annotations

import json
from pathlib import Path

import openai
import pytest
import requests

from tests.server.conftest import StartServer
from tests.support.raw_http import raw_connection, raw_request, receive_reply
from tests.support.server_process import ServerProcess
from tests.support.streams import ENDLESS, StreamReader
from tests.support.waiting import eventually

CHAT = [{"role": "user", "content": "Tell me a story"}]


def test_eight_streams_all_progress_at_once(server: ServerProcess) -> None:
    readers = [StreamReader(server.url + "/completion", ENDLESS) for _ in range(8)]
    try:
        eventually(lambda: all(len(r.events) > 20 for r in readers), within_s=30)
        assert not any(reader.has_finish for reader in readers)
    finally:
        for reader in readers:
            reader.close()
    eventually(lambda: server.n_busy_slots() == 0)


def test_openai_client_gets_a_reply_and_a_stream(server: ServerProcess) -> None:
    with openai.OpenAI(base_url=server.url + "/v1", api_key="none") as client:
        reply = client.chat.completions.create(
            model="any",
            messages=CHAT,
            max_tokens=8,  # type: ignore[arg-type]
        )
        assert reply.choices[0].finish_reason in ("length", "stop")
        assert reply.usage
        assert reply.usage.completion_tokens <= 8
        stream = client.chat.completions.create(
            model="any", messages=CHAT, max_tokens=8, stream=True,  # type: ignore[arg-type]
            stream_options={"include_usage": True},
        )  # fmt: skip
        chunks = list(stream)
    assert chunks[-1].usage
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1]


def test_json_replies_keep_the_connection(server: ServerProcess) -> None:
    body = {"prompt": "Once", "n_predict": 2}
    with raw_request(server.url, "/completion", body) as client:
        for _ in range(2):
            head, _ = receive_reply(client)
            assert head.startswith(b"HTTP/1.1 200")
            assert b"Connection: close" not in head
            client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
def test_choices_share_the_prompts_computation_and_all_count(
    server: ServerProcess, path: str
) -> None:
    text = f"{path} {'Once there was a girl. ' * 12}"
    body = {"n": 4, "max_tokens": 6, "seed": 3, "ignore_eos": True}
    asked = {"messages": [{"role": "user", "content": text}], "prompt": text}
    reply = server.post(path, body | asked).json()
    usage, timings = reply["usage"], reply["timings"]
    n_prompt = usage["prompt_tokens"]
    assert len(reply["choices"]) == 4
    assert usage["completion_tokens"] == 4 * 6
    assert usage["total_tokens"] == n_prompt + 4 * 6
    assert timings["prompt_n"] + timings["cache_n"] == 4 * n_prompt
    assert timings["prompt_n"] <= n_prompt + 3  # one token each for their logits


@pytest.mark.parametrize("is_stream", [True, False])
@pytest.mark.parametrize("path", ["/completion", "/v1/messages"])
def test_client_that_leaves_frees_its_slot(
    server: ServerProcess, path: str, is_stream: bool
) -> None:
    body = ENDLESS | {"stream": is_stream, "messages": CHAT, "max_tokens": 1 << 30}
    with raw_request(server.url, path, body):
        eventually(lambda: server.n_busy_slots() == 1)
    eventually(lambda: server.n_busy_slots() == 0, within_s=1)


def test_client_that_leaves_during_a_long_prompt_frees_its_slot(
    start_server: StartServer, smollm2_path: Path
) -> None:
    server = start_server("-m", str(smollm2_path), "--port", "0", "--no-warmup")
    server.wait_ready()
    text = "word " * 6000
    asked = {"prompt": text, "messages": [{"role": "user", "content": text}]}
    for path, is_stream in (
        ("/completion", False),
        ("/completion", True),
        ("/v1/messages", True),
    ):
        body = asked | {"max_tokens": 1, "stream": is_stream}
        with raw_request(server.url, path, body):
            eventually(lambda: server.n_busy_slots() == 1)
        eventually(lambda: server.n_busy_slots() == 0, within_s=1)


def test_health_answers_while_all_slots_and_the_queue_are_full(
    start_server: StartServer, stories_model_path: Path
) -> None:
    server = start_server(
        "-m", str(stories_model_path), "--port", "0", "-np", "1", "-c", "512",
        "--context-shift", "--queue-size", "1",
    )  # fmt: skip
    server.wait_ready()
    with (
        raw_request(server.url, "/completion", ENDLESS | {"stream": False}),
        raw_request(server.url, "/completion", ENDLESS | {"stream": False}),
    ):
        eventually(lambda: is_refused(server), within_s=30)
        assert server.status("/health") == 200


def is_refused(server: ServerProcess) -> bool:
    """Ask for one token; a request that finds room in the queue leaves it again."""
    body = {"prompt": "x", "n_predict": 1}
    try:
        reply = requests.post(f"{server.url}/completion", json=body, timeout=0.5)
    except requests.Timeout:
        return False
    return reply.status_code == 429


@pytest.mark.parametrize(
    ("request_text", "status", "reason"),
    [
        (b"\x16\x03\x01\r\n\r\n", 400, "not valid HTTP"),
        (b"GET /\xff HTTP/1.1\r\n\r\n", 400, "Bad URI"),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400, "Content-Length"),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", 413, "67108864"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "not supported"),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 300_000, 431, "limit is 262144 bytes"),
    ],
)
def test_what_is_no_request_is_refused_in_json(
    server: ServerProcess, request_text: bytes, status: int, reason: str
) -> None:
    with raw_connection(server.url) as client:
        client.sendall(request_text)
        head, body = receive_reply(client)
    assert head.split()[1] == str(status).encode()
    error = json.loads(body)["error"]
    assert error["code"] == status
    assert reason in error["message"]
