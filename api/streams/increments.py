"""What one event of any text route adds to its choices. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ("CallPart", "TextPart", "parts_of")

_FIELDS = (
    ("content", "content"),
    ("text", "content"),
    ("reasoning_content", "reasoning_content"),
    ("thinking", "reasoning_content"),
)
"""What text is called by the routes, and here."""

_RESPONSES = {
    "response.output_text.delta": "content",
    "response.reasoning_text.delta": "reasoning_content",
    "response.reasoning_summary_text.delta": "reasoning_content",
}


@dataclass(frozen=True, slots=True)
class TextPart:
    """More text of a choice."""

    choice: int
    field: str
    text: str


@dataclass(frozen=True, slots=True)
class CallPart:
    """More of a tool call."""

    choice: int
    key: str
    """Tells the calls of a choice apart."""
    id: str = ""
    name: str = ""
    arguments: str = ""


def parts_of(value: dict[str, Any]) -> Iterator[TextPart | CallPart]:
    """Yield what an event's object adds: chat, completions, Responses or Messages."""
    kind = value.get("type")
    if isinstance(kind, str) and kind.startswith("response."):
        yield from _of_responses(kind, value)
    elif isinstance(kind, str) and kind.startswith("content_block_"):
        yield from _of_messages(kind, value)
    elif "choices" in value or "stop" in value:
        for choice in value.get("choices") or (value,):
            yield from _of_choice(choice)


def _of_choice(choice: Any) -> Iterator[TextPart | CallPart]:
    if not isinstance(choice, dict):
        return
    index, delta = choice.get("index") or 0, choice.get("delta", choice)
    if not isinstance(delta, dict):
        return
    yield from _texts(index, delta)
    for call in delta.get("tool_calls") or ():
        function = call.get("function") or {}
        yield CallPart(
            index,
            f"call {call.get('index', 0)}",
            _string(call.get("id")),
            _string(function.get("name")),
            _string(function.get("arguments")),
        )


def _of_responses(kind: str, value: dict[str, Any]) -> Iterator[TextPart | CallPart]:
    delta = _string(value.get("delta"))
    if kind in _RESPONSES:
        yield TextPart(0, _RESPONSES[kind], delta)
    elif kind == "response.function_call_arguments.delta":
        yield CallPart(0, f"call {value.get('output_index')}", arguments=delta)
    elif kind == "response.output_item.added":
        item = value.get("item")
        if isinstance(item, dict) and item.get("type") == "function_call":
            yield CallPart(
                0,
                f"call {value.get('output_index')}",
                _string(item.get("call_id")),
                _string(item.get("name")),
                _string(item.get("arguments")),
            )


def _of_messages(kind: str, value: dict[str, Any]) -> Iterator[TextPart | CallPart]:
    key = f"call {value.get('index')}"
    block = value.get("content_block")
    if kind == "content_block_start" and isinstance(block, dict):
        if block.get("type") == "tool_use":
            yield CallPart(0, key, _string(block.get("id")), _string(block.get("name")))
        return
    delta = value.get("delta")
    if isinstance(delta, dict):
        yield from _texts(0, delta)
        if delta.get("type") == "input_json_delta":
            yield CallPart(0, key, arguments=_string(delta.get("partial_json")))


def _texts(choice: int, delta: dict[str, Any]) -> Iterator[TextPart]:
    for name, field in _FIELDS:
        text = _string(delta.get(name))
        if text:
            yield TextPart(choice, field, text)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
