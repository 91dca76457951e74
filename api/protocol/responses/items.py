"""The items of OpenAI's Responses: read from a request, complete with ids. Pure.

An item is the JSON object that ``GET /v1/responses/{id}/input_items`` shows: what a
client may leave out (``id``, ``type``, ``status``, a list around a text) is filled in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from api.protocol.fields import json_type
from api.protocol.invalid import InvalidRequest, NotSupported
from api.protocol.reply import unique_id

__all__ = ("FindItem", "Item", "read_input")

Item = dict[str, Any]
FindItem = Callable[[str], Item | None]
"""Returns the stored item of an id, if the asking key may see it."""

_INPUT_ROLES = ("user", "system", "developer")
_TEXT_TYPES = ("input_text", "output_text", "text")
_MEDIA_TYPES = ("input_image", "input_file", "input_audio", "input_video", "image_url")
_STATUSES = ("in_progress", "completed", "incomplete")


def read_input(value: Any, find_item: FindItem) -> list[Item]:
    """Return the items of ``input``: a text is one message of the user.

    Raises:
        InvalidRequest: With the item at fault as its parameter.
    """
    if value is None:
        raise InvalidRequest("'input' is required", "input")
    if isinstance(value, str):
        value = [{"role": "user", "content": value}]
    if not isinstance(value, list):
        raise InvalidRequest("'input' must be a string or array of objects", "input")
    if not value:
        raise InvalidRequest("'input' must not be empty", "input")
    return [
        _read_item(item, f"input[{index}]", find_item)
        for index, item in enumerate(value)
    ]


def _read_item(item: Any, where: str, find_item: FindItem) -> Item:
    if not isinstance(item, dict):
        raise InvalidRequest(
            f"{where} must be an object, but is {json_type(item)}", where
        )
    kind = item.get("type")
    if kind is None:
        kind = "message" if "role" in item else "item_reference"
    if kind == "item_reference":
        return _referenced(item, where, find_item)
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise NotSupported(f"{where}.type", f"{_shown(kind)}; {_KNOWN}")
    return read(item, where)


def _shown(value: object) -> str:
    return repr(value[:64]) if isinstance(value, str) else json_type(value)


def _referenced(item: Item, where: str, find_item: FindItem) -> Item:
    id = item.get("id")
    if not isinstance(id, str):
        raise InvalidRequest(f"Cannot determine type of 'item': {where}", where)
    found = find_item(id)
    if found is None:
        raise InvalidRequest(
            f"Item with id '{id[:80]}' not found. Items are kept with their response "
            "when `store` is true, until it is deleted or evicted.",
            "input",
            status=404,
        )
    return found


def _frame(item: Item, kind: str, prefix: str) -> Item:
    id, status = item.get("id"), item.get("status")
    return {
        "id": id if isinstance(id, str) and id else unique_id(prefix),
        "type": kind,
        "status": status if status in _STATUSES else "completed",
    }


# -- messages ------------------------------------------------------------------------


def _message(item: Item, where: str) -> Item:
    role, content = item.get("role"), item.get("content")
    if role != "assistant" and role not in _INPUT_ROLES:
        raise InvalidRequest(
            f"{where}.role must be one of 'user', 'assistant', 'system' or 'developer'",
            f"{where}.role",
        )
    if isinstance(content, str):
        content = [{"type": "input_text", "text": content}]
    parts = _parts(content, f"{where}.content", is_output=role == "assistant")
    return {**_frame(item, "message", "msg_"), "role": role, "content": parts}


def _parts(content: Any, where: str, *, is_output: bool) -> list[Item]:
    if not isinstance(content, list):
        raise InvalidRequest(f"{where} must be a string or an array", where)
    return [
        _part(part, f"{where}[{index}]", is_output)
        for index, part in enumerate(content)
    ]


def _part(part: Any, where: str, is_output: bool) -> Item:
    if not isinstance(part, dict):
        raise InvalidRequest(f"{where} must be an object", where)
    kind = part.get("type")
    if kind in _MEDIA_TYPES:
        name = kind.removeprefix("input_").removesuffix("_url")
        raise NotSupported(where, f"{name} input; this server reads text only")
    if kind == "refusal" and is_output:
        return {"type": "refusal", "refusal": _text(part, "refusal", where)}
    if kind not in _TEXT_TYPES:
        raise InvalidRequest(
            f"{where}.type must be one of 'input_text', 'output_text' or 'refusal'",
            f"{where}.type",
        )
    text = _text(part, "text", where)
    if is_output:
        return {"type": "output_text", "text": text, "annotations": []}
    return {"type": "input_text", "text": text}


def _text(value: Item, name: str, where: str) -> str:
    text = value.get(name)
    if not isinstance(text, str):
        raise InvalidRequest(
            f"{where}.{name} must be a string, but is {json_type(text)}",
            f"{where}.{name}",
        )
    return text


# -- tools and reasoning ---------------------------------------------------------------


def _call(item: Item, where: str) -> Item:
    return {
        **_frame(item, "function_call", "fc_"),
        "call_id": _text(item, "call_id", where),
        "name": _text(item, "name", where),
        "arguments": _text(item, "arguments", where),
    }


def _call_output(item: Item, where: str) -> Item:
    output = item.get("output")
    if not isinstance(output, str):
        output = _parts(output, f"{where}.output", is_output=False)
    return {
        **_frame(item, "function_call_output", "fco_"),
        "call_id": _text(item, "call_id", where),
        "output": output,
    }


def _reasoning(item: Item, where: str) -> Item:
    """Keep the text of earlier thinking; what only its maker can decrypt means nothing.

    ``content`` may be missing: OpenAI's own items have only a summary.
    """
    content = item.get("content")
    if content is None:
        content = []
    if not isinstance(content, list):
        raise InvalidRequest(f"{where}.content must be an array", f"{where}.content")
    texts = [
        {
            "type": "reasoning_text",
            "text": _reasoning_text(part, f"{where}.content[{i}]"),
        }
        for i, part in enumerate(content)
    ]
    summary = item.get("summary")
    frame = _frame(item, "reasoning", "rs_")
    summary = summary if isinstance(summary, list) else []
    return {**frame, "summary": summary, "content": texts}


def _reasoning_text(part: Any, where: str) -> str:
    if not isinstance(part, dict):
        raise InvalidRequest(f"{where} must be an object", where)
    return _text(part, "text", where)


_READERS: dict[str, Callable[[Item, str], Item]] = {
    "message": _message,
    "function_call": _call,
    "function_call_output": _call_output,
    "reasoning": _reasoning,
}
_KNOWN = "items may be " + ", ".join([*_READERS, "item_reference"])
