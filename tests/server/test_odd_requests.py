"""A real server and requests that have broken others, as public reports tell.

After each of them a plain request works.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.server.conftest import StartServer
from tests.support.server_process import ServerProcess, free_port

CHAT, TEXT, NATIVE = "/v1/chat/completions", "/v1/completions", "/completion"
MESSAGES, RESPONSES = "/v1/messages", "/v1/responses"
N_CTX_SLOT = 256
BOS_TEMPLATE = "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode()


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stories_model_path: Path
) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("server")
    flags = ("-m", str(stories_model_path), "--port", "0", "-np", "2", "-c", "512")
    with ServerProcess(folder, (*flags, "--chat-template", BOS_TEMPLATE)) as process:
        process.wait_ready()
        yield process


@pytest.fixture(autouse=True)
def _works_afterwards(server: ServerProcess) -> Iterator[None]:
    yield
    reply = server.post(TEXT, {"prompt": "Once", "max_tokens": 2})
    assert reply.json()["usage"]["completion_tokens"] == 2


def user(content: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": content}]


def send(server: ServerProcess, path: str, body: Any) -> requests.Response:
    """Send a request that has to be answered soon, whatever the answer is."""
    data: Any = {"data": body} if isinstance(body, bytes) else {"json": body}
    return requests.post(server.url + path, **data, timeout=5)


@pytest.mark.parametrize("path", [NATIVE, TEXT, CHAT, MESSAGES, RESPONSES, "/tokenize"])
@pytest.mark.parametrize(
    "value", [b'"\xb0\xa1"', b'"\\ud83d"', b'"a\\u0000b', b"NaN", b"[" * 5000]
)
def test_text_that_is_none_is_400(
    server: ServerProcess, path: str, value: bytes
) -> None:
    fields = [b'"%s":%s' % (name, value) for name in (b"prompt", b"input", b"content")]
    reply = send(server, path, b"{" + b",".join(fields) + b"}")
    assert reply.status_code == 400
    assert reply.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (TEXT, {"prompt": ""}),
        (TEXT, {"prompt": []}),
        (NATIVE, {"prompt": ""}),
        (NATIVE, {"prompt": []}),
        (CHAT, {"messages": []}),
        (CHAT, {"messages": user("")}),
        (MESSAGES, {"messages": []}),
        (MESSAGES, {"messages": user("")}),
        (RESPONSES, {"input": "", "max_output_tokens": 4}),
        (RESPONSES, {"input": []}),
        ("/v1/embeddings", {"input": ""}),
        ("/v1/embeddings", {"input": []}),
        ("/v1/rerank", {"query": "", "documents": []}),
        ("/infill", {"input_prefix": "", "input_suffix": ""}),
    ],
)
def test_empty_input_never_hangs(
    server: ServerProcess, path: str, body: dict[str, Any]
) -> None:
    reply = send(server, path, {"max_tokens": 4, **body})
    if reply.status_code != 200:
        assert reply.status_code in (400, 501)
        assert reply.json()["error"]["message"]


@pytest.mark.parametrize("path", [TEXT, CHAT, NATIVE, RESPONSES])
@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_prompt_twice_as_long_as_the_context_is_400_before_any_event(
    server: ServerProcess, path: str, is_streamed: bool
) -> None:
    text = "Once " * N_CTX_SLOT * 2
    body = {"input": text} if path == RESPONSES else {"prompt": text}
    body = {"messages": user(text)} if path == CHAT else body
    reply = send(server, path, {**body, "stream": is_streamed})
    assert reply.status_code == 400
    assert reply.headers["Content-Type"].startswith("application/json")
    error = reply.json()["error"]
    assert str(N_CTX_SLOT) in error["message"]
    assert str(error["n_prompt_tokens"]) in error["message"]
    if path != NATIVE:
        assert error["code"] == "context_length_exceeded"


@pytest.mark.parametrize("path", [CHAT, MESSAGES, RESPONSES])
@pytest.mark.parametrize("kind", ["png", "broken", "closed port"])
def test_an_image_for_a_model_of_text_is_a_clear_400(
    server: ServerProcess, path: str, kind: str
) -> None:
    url = {
        "png": f"data:image/png;base64,{PIXEL}",
        "broken": "data:image/png;base64,@@@",
        "closed port": f"http://127.0.0.1:{free_port()}/a.png",
    }[kind]
    parts = {
        CHAT: {"type": "image_url", "image_url": {"url": url}},
        MESSAGES: {"type": "image", "source": {"type": "url", "url": url}},
        RESPONSES: {"type": "input_image", "image_url": url},
    }
    conversation = user([parts[path]])
    body = {"messages": conversation, "input": conversation, "max_tokens": 4}
    reply = send(server, path, body)
    assert reply.status_code == 400
    assert "image" in reply.json()["error"]["message"]


def test_a_prompt_begins_with_one_bos(server: ServerProcess) -> None:
    def n_prompt(path: str, body: dict[str, Any]) -> int:
        reply = send(server, path, {**body, "max_tokens": 1}).json()
        return int(reply["usage"]["prompt_tokens"])

    counted = {"content": "Once upon", "add_special": True}
    tokens = send(server, "/tokenize", counted).json()["tokens"]
    assert tokens.count(tokens[0]) == 1
    # The template writes it, the user types it, and nobody does.
    assert n_prompt(CHAT, {"messages": user("Once upon")}) == len(tokens)
    assert n_prompt(TEXT, {"prompt": "<s>Once upon"}) == len(tokens)
    assert n_prompt(TEXT, {"prompt": "Once upon"}) == len(tokens)


def test_browsers_can_ask_first_and_read_what_was_refused(
    start_server: StartServer, tiny_model_path: Path
) -> None:
    keyed = start_server("-m", str(tiny_model_path), "--port", "0", "--api-key", "key")
    keyed.wait_ready()
    url, origin = keyed.url + CHAT, "http://page.example"
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    preflight = requests.options(url, headers=asked, timeout=5)
    assert preflight.ok
    assert preflight.headers["Access-Control-Allow-Origin"] == origin
    assert "POST" in preflight.headers["Access-Control-Allow-Methods"]
    assert preflight.headers["Access-Control-Allow-Headers"] == "*"
    body = {"messages": user("Hello"), "max_tokens": 2, "stream": True}
    for key, status in (("wrong", 401), ("key", 200)):
        headers = {"Origin": origin, "Authorization": f"Bearer {key}"}
        reply = requests.post(url, json=body, headers=headers, timeout=5)
        assert reply.status_code == status
        assert reply.headers["Access-Control-Allow-Origin"] == origin
