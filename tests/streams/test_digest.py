"""Snapshots: the text of dropped events, and not a byte twice or missing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api import sse
from api.streams.client import Client
from api.streams.digest import Digest
from api.streams.log import StreamLog
from api.streams.log_body import LogBody


def chunk(text: str, index: int = 0) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": {"content": text}}]}


def read(log: StreamLog) -> list[dict[str, Any]]:
    body = b"".join(LogBody(log, Client({}), 0, has_snapshots=True))
    lines = (line for line in body.split(b"\n") if line.startswith(b"data: "))
    return [json.loads(line[6:]) for line in lines]


def text_of(events: list[dict[str, Any]]) -> str:
    found = ""
    for event in events:
        for choice in event["choices"]:
            found += choice.get("delta", choice).get("content", "")
    return found


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=12), min_size=1, max_size=40), st.integers(1000, 4000))
def test_snapshot_and_tail_are_the_whole_text_wherever_the_buffer_was_cut(
    texts: list[str], capacity: int
) -> None:
    log = StreamLog(capacity, "text/event-stream")
    for text in texts:
        log.append_events(sse.data_event(chunk(text)))
    log.finish()
    assert text_of(read(log)) == "".join(texts)


def test_nothing_lost_means_no_snapshot() -> None:
    log = StreamLog(1000, "text/event-stream")
    log.append_events(sse.data_event(chunk("a")))
    log.finish()
    assert read(log) == [chunk("a")]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (chunk("a", 1), {"index": 1, "content": "a"}),
        ({"choices": [{"index": 2, "text": "a"}]}, {"index": 2, "content": "a"}),
        ({"index": 3, "content": "a", "stop": False}, {"index": 3, "content": "a"}),
        (
            {"choices": [{"index": 0, "delta": {"reasoning_content": "a"}}]},
            {"index": 0, "reasoning_content": "a"},
        ),
        (
            {"type": "response.output_text.delta", "output_index": 1, "delta": "a"},
            {"index": 0, "content": "a"},
        ),
        (
            {"type": "response.reasoning_text.delta", "delta": "a"},
            {"index": 0, "reasoning_content": "a"},
        ),
        (
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "thinking_delta", "thinking": "a"},
            },
            {"index": 0, "reasoning_content": "a"},
        ),
    ],
)
def test_increments_of_every_route_are_in_the_snapshot(
    value: dict[str, Any], expected: dict[str, Any]
) -> None:
    digest = Digest(100)
    digest.take(sse.named_event("x", value) + sse.DONE + b":\n")
    event = json.loads(digest.event(9).split(b"data: ")[1].split(b"\nid: ")[0])
    assert event["choices"] == [expected]
    assert (event["offset"], event["truncated"]) == (9, False)
    assert digest.cut == b":\n"


def chat_call(**values: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"tool_calls": [values]}}]}


@pytest.mark.parametrize(
    "events",
    [
        [
            chat_call(
                index=0,
                id="a",
                type="function",
                function={"name": "f", "arguments": ""},
            ),
            chat_call(index=0, function={"arguments": '{"x"'}),
            chat_call(index=0, function={"arguments": ":1}"}),
        ],
        [
            {
                "type": "content_block_start",
                "index": 1,
                "content_block": {"type": "tool_use", "id": "a", "name": "f"},
            },
            {
                "type": "content_block_delta",
                "index": 1,
                "delta": {"type": "input_json_delta", "partial_json": '{"x":1}'},
            },
        ],
        [
            {
                "type": "response.output_item.added",
                "output_index": 2,
                "item": {"type": "function_call", "call_id": "a", "name": "f"},
            },
            {
                "type": "response.function_call_arguments.delta",
                "output_index": 2,
                "delta": '{"x":1}',
            },
        ],
    ],
)
def test_calls_of_every_route_are_in_the_snapshot(events: list[dict[str, Any]]) -> None:
    digest = Digest(100)
    for each in events:
        digest.take(sse.data_event(each))
    event = json.loads(digest.event(9).split(b"data: ")[1].split(b"\nid: ")[0])
    function = {"name": "f", "arguments": '{"x":1}'}
    call = {"index": 0, "id": "a", "type": "function", "function": function}
    assert event["choices"] == [{"index": 0, "tool_calls": [call]}]


def test_events_that_add_no_text_change_nothing() -> None:
    digest = Digest(100)
    for value in ({"type": "response.done", "delta": "a"}, [1], "a", {"choices": []}):
        digest.take(sse.data_event(value))
    assert len(digest) == 0


def test_text_beyond_the_capacity_is_cut_and_says_so() -> None:
    digest = Digest(4)
    for text in ("abc", "déf"):
        digest.take(sse.data_event(chunk(text)))
    event = digest.event(0)
    assert b'"truncated":true' in event
    assert (
        "déf"
        in json.loads(event.split(b"data: ")[1].split(b"\nid: ")[0])["choices"][0][
            "content"
        ]
    )
