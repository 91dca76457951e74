"""A real server and texts that are hard to send: cut characters, stops across tokens.

The model recites, so that what must come is known byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.scripted_gguf import (
    ASK_CROOKED,
    ASK_FLEX,
    ASK_GREEK,
    CROOKED,
    FLEX,
    FLEX_CUTS,
    GREEK,
    GREEK_CUTS,
)
from tests.support.server_process import ServerProcess
from tests.support.streams import StreamReader

PATHS = ["/completion", "/v1/completions", "/v1/chat/completions", "/v1/messages"]
N_TIMES = 10


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, scripted_path: Path
) -> Iterator[ServerProcess]:
    flags = ("-m", str(scripted_path), "--port", "0", "-np", "2", "-c", "1024")
    with ServerProcess(tmp_path_factory.mktemp("server"), flags) as process:
        process.wait_ready()
        yield process


def asked(prompt: str, max_tokens: int = 100, **more: Any) -> dict[str, Any]:
    """Return a body that every path takes."""
    messages = [{"role": "user", "content": prompt}]
    body = {"prompt": prompt, "messages": messages, "max_tokens": max_tokens}
    return {**body, "n_predict": max_tokens, **more}


def text_of(reply: dict[str, Any]) -> str:
    """Return the text of a whole reply, or of one event of a stream."""
    if "choices" in reply:
        choice = (reply["choices"] or [{}])[0]
        part = choice.get("message") or choice.get("delta") or choice
        return str(part.get("content") or part.get("text") or "")
    if reply.get("type") == "message":
        return "".join(block["text"] for block in reply["content"])
    delta = reply.get("delta") or {}
    return str(delta.get("text") or reply.get("content") or "")


def end_of(reply: dict[str, Any]) -> str:
    """Return why a whole reply ended, as its protocol says it."""
    if "choices" in reply:
        return str(reply["choices"][0]["finish_reason"])
    return str(reply.get("stop_reason") or reply["stop_type"])


def answers(
    server: ServerProcess, path: str, body: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return the whole reply, and the texts of the same answer's stream."""
    whole = server.post(path, body)
    assert whole.status_code == 200, whole.text
    reader = StreamReader(server.url + path, {**body, "stream": True})
    reader.join()
    assert not reader.has_error
    return whole.json(), [text_of(event) for event in reader.events]


def assert_works(server: ServerProcess) -> None:
    reply = server.post("/v1/completions", asked(ASK_GREEK)).json()
    assert text_of(reply) == GREEK


@pytest.mark.parametrize("path", PATHS)
def test_joined_emoji_arrive_byte_for_byte(server: ServerProcess, path: str) -> None:
    body = asked(ASK_FLEX, N_TIMES * len(FLEX_CUTS))
    whole, streamed = answers(server, path, body)
    assert text_of(whole) == "".join(streamed) == FLEX * N_TIMES
    assert "\N{REPLACEMENT CHARACTER}" not in "".join(streamed)
    assert_works(server)


@pytest.mark.parametrize("path", PATHS)
def test_a_limit_inside_a_character_sends_no_half_of_it(
    server: ServerProcess, path: str
) -> None:
    for n_tokens in range(1, 10):
        whole, streamed = answers(server, path, asked(ASK_CROOKED, n_tokens))
        # Three tokens are two characters of three bytes.
        n_whole = n_tokens * 2 // 3
        assert text_of(whole) == "".join(streamed) == CROOKED * n_whole
        assert end_of(whole) in ("length", "limit", "max_tokens")
    assert_works(server)


@pytest.mark.parametrize("path", PATHS)
def test_a_stop_across_tokens_ends_the_text_before_it(
    server: ServerProcess, path: str
) -> None:
    stop, expected = "ta gam", GREEK[: GREEK.index("ta gam")]
    body = asked(ASK_GREEK, stop=[stop], stop_sequences=[stop])
    whole, streamed = answers(server, path, body)
    assert text_of(whole) == "".join(streamed) == expected == "alpha be"
    assert end_of(whole) in ("stop", "word", "stop_sequence")
    assert not any("ta" in text for text in streamed)
    assert_works(server)


@pytest.mark.parametrize("path", PATHS)
def test_a_stop_that_never_comes_holds_nothing_back(
    server: ServerProcess, path: str
) -> None:
    # The text ends with what the second one begins with.
    stops = ["zzz", "delta!"]
    body = asked(ASK_GREEK, stop=stops, stop_sequences=stops)
    whole, streamed = answers(server, path, body)
    assert text_of(whole) == "".join(streamed) == GREEK
    assert_works(server)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
def test_logprobs_spell_split_characters(server: ServerProcess, path: str) -> None:
    n_logprobs = {"/v1/completions": {"logprobs": 1}}
    more = n_logprobs.get(path, {"logprobs": True, "top_logprobs": 2})
    whole = server.post(path, asked(ASK_FLEX, len(FLEX_CUTS), **more)).json()
    logprobs = whole["choices"][0]["logprobs"]
    if path == "/v1/completions":
        assert len(logprobs["tokens"]) == len(FLEX_CUTS)
        return
    assert [len(token["bytes"]) for token in logprobs["content"]] == list(FLEX_CUTS)
    spelt = b"".join(bytes(token["bytes"]) for token in logprobs["content"])
    assert spelt.decode() == FLEX
    assert all(len(token["top_logprobs"]) == 2 for token in logprobs["content"])


def test_two_streams_at_once_are_both_whole(server: ServerProcess) -> None:
    url, bodies = server.url + "/v1/completions", (ASK_FLEX, ASK_CROOKED)
    readers = [StreamReader(url, asked(ask, 180, stream=True)) for ask in bodies]
    for reader, expected in zip(readers, (FLEX * 20, CROOKED * 120), strict=True):
        reader.join()
        assert "".join(map(text_of, reader.events)) == expected
        assert reader.is_done


def test_the_script_is_as_long_as_it_should_be(server: ServerProcess) -> None:
    reply = server.post("/v1/completions", asked(ASK_GREEK)).json()
    assert reply["usage"]["completion_tokens"] == len(GREEK_CUTS) + 1  # and its end
    assert reply["choices"][0]["finish_reason"] == "stop"
