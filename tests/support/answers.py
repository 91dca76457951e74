"""What an answer says, read from the replies and streams of chat, Responses, Messages.

Each reader of a stream checks its protocol on the way: what clients rely on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

__all__ = (
    "Answer",
    "of_chat",
    "of_chat_stream",
    "of_message",
    "of_message_stream",
    "of_response",
    "of_response_stream",
)

Value = dict[str, Any]


@dataclass
class Answer:
    """One choice, whatever it came in."""

    content: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    """(name, JSON text of the arguments)"""
    ids: list[str] = field(default_factory=list)
    end: str = ""

    def same(self) -> tuple[Any, ...]:
        """Return what must be the same in every form; ids are made anew."""
        return self.content, self.reasoning, self.calls, self.end

    def loaded(self) -> tuple[Any, ...]:
        """Return what must be the same on every route; without the word for the end."""
        calls = [(name, json.loads(arguments)) for name, arguments in self.calls]
        return self.content, self.reasoning, calls

    def check_ids(self) -> Answer:
        assert all(isinstance(id, str) and id for id in self.ids), self.ids
        assert len(set(self.ids)) == len(self.ids) == len(self.calls)
        return self


# -- chat ------------------------------------------------------------------------------


def of_chat(reply: Value) -> Answer:
    (choice,) = reply["choices"]
    message = choice["message"]
    assert message["role"] == "assistant"
    answer = Answer(message["content"], message.get("reasoning_content", ""))
    for call in message.get("tool_calls", []):
        assert call["type"] == "function"
        answer.ids.append(call["id"])
        answer.calls.append((call["function"]["name"], call["function"]["arguments"]))
    answer.end = choice["finish_reason"]
    return answer.check_ids()


def of_chat_stream(events: list[Any]) -> Answer:
    assert events[-1] == "[DONE]"
    chunks = [event["choices"][0] for event in events[:-1] if event["choices"]]
    assert chunks[0]["delta"] == {"role": "assistant", "content": None}
    answer = Answer()
    for chunk in chunks[1:-1]:
        assert chunk["finish_reason"] is None
        _add_chat_delta(answer, chunk["delta"])
    assert chunks[-1]["delta"] == {}
    answer.end = chunks[-1]["finish_reason"]
    return answer.check_ids()


def _add_chat_delta(answer: Answer, delta: Value) -> None:
    assert "role" not in delta
    assert all(delta.values()), delta
    answer.content += delta.get("content", "")
    answer.reasoning += delta.get("reasoning_content", "")
    for call in delta.get("tool_calls", []):
        assert type(call["index"]) is int
        if call["index"] == len(answer.calls):
            assert call["type"] == "function"
            answer.ids.append(call["id"])
            answer.calls.append((call["function"]["name"], ""))
        else:
            assert set(call) == {"index", "function"}
        assert call["index"] == len(answer.calls) - 1
        name, arguments = answer.calls[-1]
        more = call["function"].get("arguments", "")
        answer.calls[-1] = name, arguments + more


# -- Responses -------------------------------------------------------------------------


def of_response(response: Value) -> Answer:
    answer = Answer(end=response["status"])
    for item in response["output"]:
        if item["type"] == "function_call":
            answer.ids.append(item["call_id"])
            answer.calls.append((item["name"], item["arguments"]))
        elif item["type"] == "reasoning":
            assert item["summary"] == []
            answer.reasoning += "".join(part["text"] for part in item["content"])
        else:
            answer.content += "".join(part["text"] for part in item["content"])
    return answer.check_ids()


def of_response_stream(events: list[Value]) -> Answer:
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    items: list[Value] = []
    done: list[Value] = []
    texts: list[str] = []
    for event in events:
        kind = event["type"].removeprefix("response.")
        if kind == "output_item.added":
            assert event["output_index"] == len(items) == len(done)
            items.append(event["item"])
            texts.append("")
        elif kind == "output_item.done":
            assert event["output_index"] == len(done) == len(items) - 1
            assert event["item"]["id"] == items[-1]["id"]
            assert _text_of(event["item"]) == texts[-1]
            done.append(event["item"])
        elif "output_index" in event:
            assert event["output_index"] == len(items) - 1
            assert event["item_id"] == items[-1]["id"]
            texts[-1] = _with_event(texts[-1], kind, event)
    assert events[-1]["response"]["output"] == done
    return of_response(events[-1]["response"])


def _text_of(item: Value) -> str:
    if item["type"] == "function_call":
        return str(item["arguments"])
    (part,) = item["content"]
    return str(part["text"])


def _with_event(text: str, kind: str, event: Value) -> str:
    match kind:
        case (
            "output_text.delta"
            | "reasoning_text.delta"
            | "function_call_arguments.delta"
        ):
            assert event["delta"]
            return text + str(event["delta"])
        case "output_text.done" | "reasoning_text.done":
            assert event["text"] == text
        case "function_call_arguments.done":
            assert event["arguments"] == text
        case _:
            assert kind in ("content_part.added", "content_part.done"), kind
    return text


# -- Messages --------------------------------------------------------------------------


def of_message(message: Value) -> Answer:
    answer = Answer(end=message["stop_reason"])
    for block in message["content"]:
        match block["type"]:
            case "text":
                answer.content += block["text"]
            case "thinking":
                assert isinstance(block["signature"], str)
                answer.reasoning += block["thinking"]
            case _:
                assert block["type"] == "tool_use"
                answer.ids.append(block["id"])
                answer.calls.append((block["name"], json.dumps(block["input"])))
    return answer.check_ids()


_DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("tool_use", "partial_json"),
}


def of_message_stream(events: list[Value]) -> Answer:
    assert [events[0]["type"], events[-1]["type"]] == ["message_start", "message_stop"]
    answer = Answer(end=events[-2]["delta"]["stop_reason"])
    is_open, index, block = False, -1, {}
    for event in events[1:-2]:
        match event["type"]:
            case "content_block_start":
                assert not is_open
                is_open, index, block = True, index + 1, event["content_block"]
                if block["type"] == "tool_use":
                    assert block["input"] == {}
                    answer.ids.append(block["id"])
                    answer.calls.append((block["name"], ""))
            case "content_block_stop":
                assert is_open
                is_open = False
            case _:
                assert is_open
                _add_message_delta(answer, block["type"], event["delta"])
        assert event["index"] == index
    assert not is_open
    return answer.check_ids()


def _add_message_delta(answer: Answer, kind: str, delta: Value) -> None:
    if delta["type"] == "signature_delta":
        assert kind == "thinking"
        return
    wanted, name = _DELTAS[delta["type"]]
    assert kind == wanted
    assert delta[name]
    if kind == "text":
        answer.content += delta[name]
    elif kind == "thinking":
        answer.reasoning += delta[name]
    else:
        called, arguments = answer.calls[-1]
        answer.calls[-1] = called, arguments + delta[name]
