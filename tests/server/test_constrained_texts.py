"""A real server and answers that must have a form: characters cut, stops, schemas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.grammar_walks import is_valid
from tests.support.server_process import ServerProcess
from tests.support.streams import StreamReader

TEXT, CHAT = "/v1/completions", "/v1/chat/completions"
LIFTER = "🏋️‍♀️💪🏼"
MOOD = {"enum": ["happy", "sad", "neither"]}
NODE = {
    "type": "object",
    "properties": {
        "value": {"type": "integer", "minimum": 0, "maximum": 99},
        "children": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 1},
    },
    "required": ["value", "children"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stories_model_path: Path
) -> Iterator[ServerProcess]:
    flags = ("-m", str(stories_model_path), "--port", "0", "-np", "2", "-c", "2048")
    with ServerProcess(tmp_path_factory.mktemp("server"), flags) as process:
        process.wait_ready()
        yield process


def asked(**more: Any) -> dict[str, Any]:
    return {"prompt": "Once", "temperature": 0, "max_tokens": 400, **more}


def choice_of(server: ServerProcess, **more: Any) -> dict[str, Any]:
    reply = server.post(TEXT, asked(**more))
    assert reply.status_code == 200, reply.text
    choice: dict[str, Any] = reply.json()["choices"][0]
    return choice


def streamed(server: ServerProcess, **more: Any) -> tuple[list[str], str | None]:
    """Return the texts of a stream's chunks and how it ended."""
    body = {**asked(**more), "stream": True}
    texts, reason = [], None
    stream = StreamReader(server.url + TEXT, body)
    stream.join()
    for event in stream.events:
        for choice in event["choices"]:
            texts.append(choice["text"])
            reason = choice["finish_reason"] or reason
    return texts, reason


def test_joined_characters_arrive_whole(server: ServerProcess) -> None:
    grammar = f'root ::= "{LIFTER}"{{10}}'
    whole = choice_of(server, grammar=grammar)
    texts, reason = streamed(server, grammar=grammar)
    assert whole["text"] == "".join(texts) == LIFTER * 10
    assert "\ufffd" not in "".join(texts)
    assert whole["finish_reason"] == reason == "stop"


@pytest.mark.parametrize("n_tokens", range(1, 10))
def test_a_limit_inside_a_character_sends_no_half(
    server: ServerProcess, n_tokens: int
) -> None:
    body = {"grammar": 'root ::= "歪"{50}', "max_tokens": n_tokens}
    choice = choice_of(server, **body)
    assert choice["finish_reason"] == "length"
    assert choice["text"] == "歪" * len(choice["text"])
    texts, reason = streamed(server, **body)
    assert ("".join(texts), reason) == (choice["text"], "length")


def test_a_stop_across_tokens_ends_the_text_before_it(server: ServerProcess) -> None:
    grammar = 'root ::= "alpha beta gamma delta"'
    texts, reason = streamed(server, grammar=grammar, stop=["ta gam"])
    assert ("".join(texts), reason) == ("alpha be", "stop")
    assert not any("ta" in text for text in texts)
    assert choice_of(server, grammar=grammar, stop=["ta gam"])["text"] == "alpha be"
    texts, reason = streamed(server, grammar=grammar, stop=["zzz"])
    assert ("".join(texts), reason) == ("alpha beta gamma delta", "stop")


@pytest.mark.parametrize(
    "schema",
    [
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"mood": {"$ref": "#/$defs/Mood"}},
                "required": ["mood"],
            },
            "minItems": 3,
            "maxItems": 3,
            "$defs": {"Mood": MOOD},
        },
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": MOOD}},
        {"$ref": "#/$defs/node", "$defs": {"node": NODE}},
        {
            "type": "object",
            "properties": {
                "none": {"type": "array", "items": {"type": "string"}, "maxItems": 0},
                "digits": {"type": "string", "pattern": r"^\d{3}$"},
                "when": {"type": "string", "format": "date"},
            },
            "required": ["none", "digits", "when"],
        },
    ],
)
@pytest.mark.parametrize("temperature", [0, 1.5])
def test_answers_match_their_schema(
    server: ServerProcess, schema: dict[str, Any], temperature: float
) -> None:
    format = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    body = {
        "messages": [{"role": "user", "content": "Say it as JSON."}],
        "response_format": format,
        "temperature": temperature,
        "seed": 7,
        "max_tokens": 500,
    }
    reply = server.post(CHAT, body)
    assert reply.status_code == 200, reply.text
    choice = reply.json()["choices"][0]
    assert choice["finish_reason"] == "stop", choice
    assert is_valid(schema, json.loads(choice["message"]["content"]))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        {"grammar": 'root :== "x"'},
        {"grammar": 'a ::= "x"'},
        {"grammar": 'root ::= root "a"'},
        {"json_schema": {"type": "string", "pattern": "(?=x)y"}},
    ],
)
def test_bad_forms_leave_the_server_well(
    server: ServerProcess, body: dict[str, Any], stream: bool
) -> None:
    reply = server.post(TEXT, {**asked(**body), "stream": stream})
    assert reply.status_code == 400
    assert reply.json()["error"]["param"]
    assert choice_of(server, max_tokens=3)["finish_reason"] == "length"


POINT = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"enum": ["up", "down"]}},
    "required": ["x", "y"],
    "additionalProperties": False,
}


def continued(begun: str, **more: Any) -> dict[str, Any]:
    format = {"type": "json_schema", "json_schema": {"schema": POINT}}
    messages = [
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": begun},
    ]
    body = {"messages": messages, "response_format": format, "max_tokens": 60}
    return {**body, "temperature": 0, **more}


@pytest.mark.parametrize(
    "tools", [None, [{"type": "function", "function": {"name": "f"}}]]
)
def test_a_schema_holds_for_an_answer_with_what_it_begins_with(
    server: ServerProcess, tools: Any
) -> None:
    begun = '{"x": 4, '
    reply = server.post(CHAT, continued(begun, tools=tools))
    assert reply.status_code == 200, reply.text
    rest = reply.json()["choices"][0]["message"]["content"]
    assert json.loads(begun + rest)["x"] == 4
    assert is_valid(POINT, json.loads(begun + rest))


def test_a_beginning_that_a_schema_forbids_is_refused(server: ServerProcess) -> None:
    reply = server.post(CHAT, continued("Sure: "))
    assert reply.status_code == 400
    assert reply.json()["error"]["param"] == "messages"
    assert "last message of the assistant" in reply.json()["error"]["message"]
