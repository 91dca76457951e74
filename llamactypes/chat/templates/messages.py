"""OpenAI messages, checked and brought into the shape a chat template understands."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from llamactypes.chat.templates.capabilities import Capabilities

__all__ = ("MessageError", "normalise_messages")

Message = dict[str, Any]

_TEXT_TYPES = ("text", "input_text", "output_text", "refusal")
_MEDIA_TYPES = ("image_url", "input_audio", "input_video", "video_url", "audio_url")
_MAX_DEPTH = 256  # of a request's body, too
_COPIED_FIELDS = ("reasoning_content", "name", "tool_call_id")


class MessageError(ValueError):
    """Messages that cannot be used; the text is for the client (HTTP 400).

    Attributes:
        param: The field at fault, such as ``messages[2].content``.
    """

    def __init__(self, message: str, param: str = "messages") -> None:
        super().__init__(message)
        self.param = param


def normalise_messages(
    messages: Any, caps: Capabilities | Mapping[str, bool] | None = None
) -> list[Message]:
    """Check `messages` and return them as the template wants them.

    As llama-server does it: ``developer`` becomes ``system``; text parts are joined
    by newlines unless the template reads lists of parts, and strings become one part
    when it reads nothing else; arguments of tool calls become objects when the template
    wants objects, and text otherwise; an unsupported system message goes in front of
    the next message's text; null content becomes an empty string. Fields that
    OpenAI does not define are dropped.

    Args:
        messages: The ``messages`` value of a request, as parsed from JSON.
        caps: What the template understands: `Capabilities`, the dictionary of
            `template_capabilities`, or None for a plain template.

    Returns:
        New messages; the given ones are not changed.

    Raises:
        MessageError: The messages are malformed, or have content other than text.
    """
    if isinstance(caps, Mapping):
        caps = Capabilities(**caps)
    caps = caps or Capabilities()
    if not isinstance(messages, list | tuple):
        raise MessageError("Expected 'messages' to be an array")
    result = [
        _normalised(message, caps, f"messages[{index}]")
        for index, message in enumerate(messages)
    ]
    if not caps.supports_system_role:
        result = _without_system(result)
    return result


def _normalised(message: Any, caps: Capabilities, where: str) -> Message:
    if not isinstance(message, Mapping):
        raise MessageError(f"Expected {where} to be an object", where)
    role = _role(message, where)
    _check_presence(message, role, where)
    result: Message = {
        "role": role,
        "content": _content(message.get("content"), caps, f"{where}.content"),
    }
    for field in _COPIED_FIELDS:
        value = message.get(field)
        if value is not None:
            result[field] = _text(value, f"{where}.{field}")
    calls = message.get("tool_calls")
    if calls:
        result["tool_calls"] = _tool_calls(calls, caps, f"{where}.tool_calls")
    return result


def _role(message: Mapping[str, Any], where: str) -> str:
    role = message.get("role")
    if not isinstance(role, str):
        text = (
            f"Missing 'role' in {where}"
            if role is None
            else (f"Expected {where}.role to be a string")
        )
        raise MessageError(text, f"{where}.role")
    return "system" if role == "developer" else role


def _check_presence(message: Mapping[str, Any], role: str, where: str) -> None:
    if "content" in message:
        return
    if role != "assistant":
        text = "All non-assistant messages must contain 'content'"
        raise MessageError(text, f"{where}.content")
    if "tool_calls" not in message:
        text = "Assistant message must contain either 'content' or 'tool_calls'!"
        raise MessageError(text, f"{where}.content")


# -- content -----------------------------------------------------------------------


def _content(content: Any, caps: Capabilities, where: str) -> str | list[Message]:
    only_typed = caps.supports_typed_content and not caps.supports_string_content
    if content is None:
        content = ""
    if isinstance(content, str):
        return [_part(content)] if only_typed else content
    if not isinstance(content, list | tuple):
        raise MessageError("Expected 'content' to be a string or an array", where)
    texts = [_part_text(part, f"{where}[{i}]") for i, part in enumerate(content)]
    if caps.supports_typed_content:
        return [_part(text) for text in texts]
    return "\n".join(texts)


def _part(text: str) -> Message:
    return {"type": "text", "text": text}


def _part_text(part: Any, where: str) -> str:
    if not isinstance(part, Mapping):
        raise MessageError(f"Expected {where} to be an object", where)
    kind = part.get("type")
    if kind in _MEDIA_TYPES:
        raise MessageError(
            f"{_media_name(kind)} input is not supported - hint: if this is "
            "unexpected, you may need to provide the mmproj",
            where,
        )
    if kind not in _TEXT_TYPES:
        raise MessageError("unsupported content[].type", f"{where}.type")
    field = "refusal" if kind == "refusal" else "text"
    return _text(part.get(field), f"{where}.{field}")


def _media_name(kind: str) -> str:
    return kind.removeprefix("input_").removesuffix("_url")


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise MessageError(f"Expected {where} to be a string", where)
    return value


# -- tool calls --------------------------------------------------------------------


def _tool_calls(calls: Any, caps: Capabilities, where: str) -> list[Message]:
    if not isinstance(calls, list | tuple):
        raise MessageError(f"Expected {where} to be an array", where)
    return [
        _tool_call(call, caps, f"{where}[{index}]") for index, call in enumerate(calls)
    ]


def _tool_call(call: Any, caps: Capabilities, where: str) -> Message:
    if not isinstance(call, Mapping):
        raise MessageError(f"Expected {where} to be an object", where)
    if call.get("type", "function") != "function":
        raise MessageError(f"Unsupported tool call type in {where}", f"{where}.type")
    function = call.get("function")
    if not isinstance(function, Mapping):
        raise MessageError(f"Missing tool call function in {where}", where)
    name = _text(function.get("name"), f"{where}.function.name")
    given = function.get("arguments", "")
    arguments = _arguments(given, caps, f"{where}.function.arguments")
    result: Message = {
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
    if call.get("id"):
        result["id"] = _text(call["id"], f"{where}.id")
    return result


def _arguments(value: Any, caps: Capabilities, where: str) -> Any:
    if not caps.supports_object_arguments:
        if isinstance(value, str):
            return value
        return json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        return value
    try:
        parsed = json.loads(value) if value.strip() else {}
    except (ValueError, RecursionError) as error:
        raise MessageError(
            f"Failed to parse tool call arguments as JSON: {error}", where
        ) from error
    if not _is_shallow(parsed):
        raise MessageError(
            f"Failed to parse tool call arguments as JSON: nested more than "
            f"{_MAX_DEPTH} levels deep",
            where,
        )
    return parsed


def _is_shallow(value: Any) -> bool:
    level = [value]
    for _ in range(_MAX_DEPTH):
        level = [
            each
            for outer in level
            if isinstance(outer, list | dict)
            for each in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return True
    return False


# -- system message ----------------------------------------------------------------


def _without_system(messages: Sequence[Message]) -> list[Message]:
    # Like llama-server: only a first system message. Alone it speaks as the user.
    if not messages or messages[0]["role"] != "system":
        return list(messages)
    system, *rest = messages
    if not rest:
        return [{**system, "role": "user"}]
    joined = _joined(system["content"], rest[0]["content"])
    return [{**rest[0], "content": joined}, *rest[1:]]


def _joined(
    first: str | list[Message], second: str | list[Message]
) -> str | list[Message]:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n{second}"
    return [*_as_parts(first), *_as_parts(second)]


def _as_parts(content: str | list[Message]) -> list[Message]:
    return [_part(content)] if isinstance(content, str) else content
