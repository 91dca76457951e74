"""Anthropic's messages and content blocks, as the messages of a chat. Pure.

Places in a request are written as Anthropic's API writes them: ``messages.0.content``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from api.json_loader import dumps
from api.protocol.fields import Body, json_type
from api.protocol.invalid import InvalidRequest

__all__ = ("chat_messages", "required", "wrong_type")

Block = Mapping[str, Any]
Message = dict[str, Any]

_MEDIA = ("image", "document", "container_upload")
_SUPPORTED = {
    "user": ("text", "tool_result"),
    "assistant": ("text", "thinking", "redacted_thinking", "tool_use"),
    "system": ("text",),
}

# Claude Code's system prompt begins with a stamp that changes with every request: left
# as it is, no prefix of a conversation would ever be found again.
_STAMP = re.compile(r"\A(x-anthropic-billing-header:.*?\bcch=)[^;\s]+(?=;)", re.DOTALL)


@dataclass(slots=True)
class _Turn:
    """Messages in a row that have one role."""

    role: str
    blocks: list[tuple[str, Block]] = field(default_factory=list)
    """Each with its place in the request."""


def chat_messages(body: Body) -> list[Message]:
    """Return the system prompt and the messages of a request.

    Messages of one role that follow each other are one turn (Anthropic). Results of
    tools become messages of the role ``tool``, where they stand in their turn.

    Raises:
        InvalidRequest: A message or a block is malformed, or is no text.
    """
    messages = _system_messages(body.get("system"))
    for turn in _turns(body.get("messages")):
        match turn.role:
            case "user":
                messages += _user_messages(turn)
            case "assistant":
                messages.append(_assistant_message(turn))
            case _:
                texts = [_text_of(block, where) for where, block in turn.blocks]
                messages.append({"role": "system", "content": _content(texts)})
    return messages


def required(where: str) -> InvalidRequest:
    """Return the error for a field that is not there."""
    return InvalidRequest(f"{where}: Field required", where)


def wrong_type(where: str, expected: str, value: object) -> InvalidRequest:
    """Return the error for a value of the wrong type."""
    return InvalidRequest(
        f"{where}: Input should be {expected}, but got {json_type(value)}", where
    )


# -- messages to turns -----------------------------------------------------------------


def _turns(messages: Any) -> list[_Turn]:
    if messages is None:
        raise required("messages")
    if not isinstance(messages, list):
        raise wrong_type("messages", "an array", messages)
    turns: list[_Turn] = []
    for index, message in enumerate(messages):
        where = f"messages.{index}"
        role = _role(message, where)
        if not turns or turns[-1].role != role:
            turns.append(_Turn(role))
        turns[-1].blocks += _blocks(message, role, f"{where}.content")
    return turns


def _role(message: Any, where: str) -> str:
    if not isinstance(message, dict):
        raise wrong_type(where, "an object", message)
    role = message.get("role")
    if role is None:
        raise required(f"{where}.role")
    if not isinstance(role, str) or role not in _SUPPORTED:
        shown = role[:64] if isinstance(role, str) else json_type(role)
        raise InvalidRequest(
            f"{where}.role: Input should be 'user', 'assistant' or 'system', "
            f"but got {shown}",
            f"{where}.role",
        )
    return role


def _blocks(message: Message, role: str, where: str) -> list[tuple[str, Block]]:
    content = message.get("content")
    if content is None:
        raise required(where)
    if isinstance(content, str):
        return [(where, {"type": "text", "text": content})]
    if not isinstance(content, list):
        raise wrong_type(where, "a string or an array", content)
    placed = [(f"{where}.{index}", block) for index, block in enumerate(content)]
    for place, block in placed:
        _check_kind(block, _SUPPORTED[role], f"in a message of role '{role}'", place)
    return placed


def _check_kind(block: Any, supported: tuple[str, ...], here: str, where: str) -> None:
    if not isinstance(block, dict):
        raise wrong_type(where, "an object", block)
    kind = block.get("type")
    if kind is None:
        raise required(f"{where}.type")
    if kind in supported:
        return
    if kind in _MEDIA:
        raise InvalidRequest(
            f"{where}: {kind} input is not supported: this server reads text only; "
            "send what it says as a text block",
            where,
        )
    shown = kind[:64] if isinstance(kind, str) else json_type(kind)
    raise InvalidRequest(
        f"{where}.type: blocks of type '{shown}' are not supported {here}, only "
        f"{', '.join(supported)}",
        f"{where}.type",
    )


# -- turns to chat messages ------------------------------------------------------------


def _system_messages(system: Any) -> list[Message]:
    if system is None:
        return []
    if isinstance(system, str):
        texts = [system]
    elif isinstance(system, list):
        texts = _nested_texts(system, "in a system prompt", "system")
    else:
        raise wrong_type("system", "a string or an array", system)
    texts = [_STAMP.sub(r"\1fffff", text, count=1) for text in texts]
    return [{"role": "system", "content": _content(texts)}] if any(texts) else []


def _user_messages(turn: _Turn) -> list[Message]:
    messages: list[Message] = []
    texts: list[str] = []
    for where, block in turn.blocks:
        if block["type"] == "text":
            texts.append(_text_of(block, where))
            continue
        if texts:
            messages.append({"role": "user", "content": _content(texts)})
            texts = []
        messages.append(_tool_message(block, where))
    if texts or not messages:
        messages.append({"role": "user", "content": _content(texts)})
    return messages


def _tool_message(block: Block, where: str) -> Message:
    name = _string(block, "tool_use_id", where)
    content = block.get("content")
    if content is None:
        texts = []
    elif isinstance(content, str):
        texts = [content]
    elif isinstance(content, list):
        texts = _nested_texts(content, "in a tool_result", f"{where}.content")
    else:
        raise wrong_type(f"{where}.content", "a string or an array", content)
    if _flag(block, "is_error", where):
        texts = _marked_as_error(texts)
    return {"role": "tool", "tool_call_id": name, "content": _content(texts)}


def _marked_as_error(texts: list[str]) -> list[str]:
    """A chat has no flag for it: the text has to say that the tool failed."""
    first, *rest = texts or [""]
    if first.lstrip().lower().startswith("error"):
        return texts
    return [f"Error: {first}" if first else "Error", *rest]


def _assistant_message(turn: _Turn) -> Message:
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[Message] = []
    for where, block in turn.blocks:
        match block["type"]:
            case "text":
                texts.append(_text_of(block, where))
            case "thinking":
                thoughts.append(_string(block, "thinking", where))
            case "tool_use":
                calls.append(_tool_call(block, where))
            # What redacted_thinking holds only Anthropic can read.
    message: Message = {"role": "assistant", "content": _content(texts)}
    if thoughts:
        message["reasoning_content"] = "\n".join(thoughts)
    if calls:
        message["tool_calls"] = calls
    return message


def _tool_call(block: Block, where: str) -> Message:
    arguments = block.get("input")
    if not isinstance(arguments, dict):
        raise wrong_type(f"{where}.input", "an object", arguments)
    return {
        "id": _string(block, "id", where),
        "type": "function",
        "function": {
            "name": _string(block, "name", where),
            "arguments": dumps(arguments),
        },
    }


# -- fields ----------------------------------------------------------------------------


def _content(texts: list[str]) -> str | list[Message]:
    """Several texts stay apart: how they are joined depends on the template."""
    if len(texts) > 1:
        return [{"type": "text", "text": text} for text in texts]
    return texts[0] if texts else ""


def _nested_texts(blocks: list[Any], here: str, where: str) -> list[str]:
    texts = []
    for index, block in enumerate(blocks):
        place = f"{where}.{index}"
        _check_kind(block, ("text",), here, place)
        texts.append(_text_of(block, place))
    return texts


def _text_of(block: Block, where: str) -> str:
    return _string(block, "text", where)


def _string(block: Block, name: str, where: str) -> str:
    value = block.get(name)
    if value is None:
        raise required(f"{where}.{name}")
    if not isinstance(value, str):
        raise wrong_type(f"{where}.{name}", "a string", value)
    return value


def _flag(block: Block, name: str, where: str) -> bool:
    value = block.get(name)
    if value is not None and not isinstance(value, bool):
        raise wrong_type(f"{where}.{name}", "a boolean", value)
    return bool(value)
