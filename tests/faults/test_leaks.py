"""What errors and the log tell: enough to act on, and no secret.

Every kind of refusal is provoked at a server whose model path, API key and prompts are
unmistakable words; none of them is in a reply to somebody else, nor in the log.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from api import errors
from tests.faults.conftest import ServerProcess, make_server
from tests.support.raw_http import raw_request
from tests.support.streams import ENDLESS, StreamReader
from tests.support.waiting import eventually

KEY = "sk-unmistakable-key"
PROMPT = "unmistakable-prompt"
FOLDER = "unmistakable-folder"
HEADERS = {"Authorization": f"Bearer {KEY}"}
CHAT = [{"role": "user", "content": PROMPT}]
CODE = re.compile(r"Traceback|\.py\b|File \"|site-packages|/tmp/|/home/|0x[0-9a-f]{6}")

TEMPLATE = (
    "{% for m in messages %}{% if 'explode' in m.content %}"
    "{{ raise_exception('Roles must alternate') }}{% endif %}"
    "{{ m.content }}{% endfor %}"
)


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, tiny_model_path: Path
) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("leaks")
    secret = folder / FOLDER
    secret.mkdir()
    shutil.copy(tiny_model_path, secret / "m.gguf")
    flags = (
        *("-np", "1", "-c", "256", "--queue-size", "1", "--api-key", KEY),
        *("--slot-save-path", str(secret), "--chat-template", TEMPLATE),
        *("--max-body-size", "1M", "--stream-sessions", "1", "--alias", "m"),
        *("--context-shift", "--key-concurrency", "2"),
    )
    with make_server(folder, secret / "m.gguf", *flags) as process:
        process.wait_ready()
        yield process


def case(method: str, path: str, body: Any = None, **more: Any) -> Any:
    return pytest.param(
        method, path, body, more, id=f"{method} {path} {str(body)[:40]}"
    )


CASES = [
    case("GET", f"/{PROMPT}"),
    case("DELETE", "/health"),
    case("POST", "/completion", b'{"prompt": "%b' % PROMPT.encode()),
    case("POST", "/completion", b"\xff" + PROMPT.encode()),
    case("POST", "/completion", b"[" * 100_000),
    case("POST", "/completion", {"prompt": PROMPT, "temperature": "hot"}),
    case("POST", "/completion", {"prompt": PROMPT, "n_predict": {"a": PROMPT}}),
    case("POST", "/completion", {"prompt": {PROMPT: 1}}),
    case("POST", "/completion", {"prompt": f"{PROMPT} " * 400}),
    case("POST", "/completion", {"prompt": PROMPT, "grammar": "root ::= (("}),
    case("POST", "/completion", {"prompt": PROMPT, "json_schema": {"type": "x"}}),
    case("POST", "/completion", {"prompt": PROMPT, "lora": [{"id": 7, "scale": 1}]}),
    case("POST", "/completion", {"prompt": [10**9]}),
    case("POST", "/completion", {"prompt": PROMPT}, key="wrong-" + KEY),
    case("POST", "/completion", b" " * (1 << 21)),
    case("POST", "/tokenize", b"{}", headers={"Content-Encoding": "br"}),
    case("POST", "/v1/chat/completions", {"messages": CHAT, "n": 5}),
    case("POST", "/v1/chat/completions", {"messages": [{"role": PROMPT}]}),
    case("POST", "/v1/chat/completions", {"messages": f"no list {PROMPT}"}),
    case(
        "POST",
        "/v1/chat/completions",
        {"messages": [{"role": "user", "content": f"explode {PROMPT}"}]},
    ),
    case("POST", "/v1/chat/completions", {"messages": CHAT, "tools": [{"type": 1}]}),
    case("POST", "/v1/messages", {"messages": CHAT}),
    case("POST", "/v1/messages", {"messages": CHAT, "max_tokens": -1}),
    case("POST", "/v1/responses", {"input": PROMPT, "previous_response_id": "none"}),
    case("GET", "/v1/responses/resp_none"),
    case("GET", f"/v1/stream/{PROMPT}?from={KEY}"),
    case("GET", f"/v1/stream/{PROMPT}"),
    case("POST", "/v1/embeddings", {"input": PROMPT}),
    case("POST", "/v1/rerank", {"query": PROMPT, "documents": [PROMPT]}),
    case("POST", "/slots/0?action=restore", {"filename": f"../{PROMPT}"}),
    case("POST", "/slots/0?action=restore", {"filename": "none"}),
    case("POST", "/slots/7?action=erase", {}),
    case("POST", "/lora-adapters", [{"id": 3, "scale": 1}]),
    case("POST", "/infill", {"input_prefix": PROMPT}),
]


@pytest.mark.parametrize(("method", "path", "body", "more"), CASES)
def test_a_refusal_tells_no_secret(
    server: ServerProcess, method: str, path: str, body: Any, more: dict[str, Any]
) -> None:
    bearer = more.get("key", KEY)
    headers = {"Authorization": f"Bearer {bearer}", **more.get("headers", {})}
    data = {"data": body} if isinstance(body, bytes) else {"json": body}
    with requests.request(
        method, server.url + path, headers=headers, timeout=20, **data
    ) as reply:
        text = reply.text
    assert 400 <= reply.status_code <= 599, text
    assert reply.status_code != 500, text
    assert "error" in reply.json()
    assert_secret_free(text)
    assert_secret_free(str(reply.headers))


def test_what_a_busy_server_says_tells_no_secret(server: ServerProcess) -> None:
    named = HEADERS | {"X-Conversation-Id": "c"}
    body = ENDLESS | {"prompt": PROMPT}
    first = StreamReader(server.url + "/completion", body, named)
    eventually(lambda: len(first.events) > 2)
    for extra in ({"X-Conversation-Id": "d"}, {"Idempotency-Key": "i"}, {}):
        for _ in range(3):
            try:
                reply = requests.post(
                    server.url + "/completion",
                    json=body | {"stream": False},
                    headers=HEADERS | extra,
                    timeout=0.5,
                )
            except requests.Timeout:
                continue  # it found a place to wait in, and left it
            assert reply.status_code == 429
            assert_secret_free(reply.text)
    requests.delete(server.url + "/v1/stream/c", headers=HEADERS, timeout=5)
    first.join()
    assert_secret_free(str(first.events[-1]))


def test_the_log_holds_no_secret(server: ServerProcess) -> None:
    """Whatever happened above is in it by now."""
    with raw_request(server.url, "/completion", b"{", f"Authorization: Bearer {KEY}"):
        eventually(lambda: server.status("/health") == 200)
    assert server.stop() == 0
    log = server.err + server.out
    for secret in (KEY, PROMPT, "Traceback"):
        assert secret not in log
    # The operator is told which model is loaded, and nothing more of its folder.
    told = [line for line in log.splitlines() if FOLDER in line]
    assert all("m.gguf" in line for line in told)


def assert_secret_free(text: str) -> None:
    for secret in (KEY, PROMPT, FOLDER):
        assert secret not in text
    assert not CODE.search(text), text


def test_every_kind_of_error_that_is_not_said_word_for_word_is_known() -> None:
    """Words of libraries, which may hold anything, reach nobody."""
    kinds = {kind for kind, _ in errors._TABLE}
    for kind in (RuntimeError, OSError, KeyError, UnicodeError):
        assert kind not in kinds
        reply = errors.describe(kind(f"{PROMPT} /home/{FOLDER}"))
        assert PROMPT not in str(reply.body())
    for hidden in (errors.EngineFailed, errors.EngineAsleep):
        assert PROMPT not in str(errors.describe(hidden(PROMPT)).body())
