"""The last message of the assistant, when an answer shall continue it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from api.protocol.fields import Body, boolean
from api.protocol.invalid import InvalidRequest

__all__ = ("Continuation", "read_continuation")

Message = dict[str, Any]

_WORDS = (None, "content", "reasoning_content")


@dataclass(frozen=True, slots=True)
class Continuation:
    """What an answer begins with."""

    content: str = ""
    thinking: str = ""
    in_thinking: bool = False
    """The thinking is continued, and there is no content yet."""


def read_continuation(
    body: Body, messages: list[Message], *, by_default: bool
) -> Continuation | None:
    """Return what of the last message is to be continued; None: a new answer.

    Args:
        body: The request.
        messages: Its messages, the last included.
        by_default: Continue a last message of the assistant also unasked.

    Raises:
        InvalidRequest: It is asked for, and there is nothing that can be continued.
    """
    wanted = body.get("continue_final_message")
    if not (isinstance(wanted, bool) or wanted in _WORDS):
        raise InvalidRequest.field(
            "continue_final_message",
            'Value must be a boolean, "content" or "reasoning_content"',
        )
    if not _is_wanted(wanted, messages, by_default):
        return None
    if wanted and boolean(body, "add_generation_prompt", True):
        raise InvalidRequest(
            "Cannot set both add_generation_prompt and continue_final_message to true.",
            "continue_final_message",
        )
    return _continuation(messages[-1], len(messages) - 1, wanted)


def _is_wanted(wanted: Any, messages: list[Message], by_default: bool) -> bool:
    is_assistant = bool(messages) and messages[-1].get("role") == "assistant"
    if wanted and not is_assistant:
        raise InvalidRequest(
            "continue_final_message needs a last message of role 'assistant'",
            "continue_final_message",
        )
    if wanted or not (is_assistant and by_default):
        return bool(wanted)
    if len(messages) > 1 and messages[-2].get("role") == "assistant":
        raise InvalidRequest(
            "Cannot have 2 or more assistant messages at the end of the list.",
            "messages",
        )
    return True


def _continuation(last: Message, index: int, wanted: Any) -> Continuation:
    if last.get("tool_calls"):
        raise InvalidRequest(
            "Cannot continue an assistant message that contains tool calls.",
            "messages",
        )
    thinking = _thinking(last, f"messages[{index}].reasoning_content")
    content = _content(last, f"messages[{index}].content", has_more=bool(thinking))
    in_thinking = wanted == "reasoning_content" or (
        wanted != "content" and bool(thinking) and not content
    )
    if in_thinking and content:
        raise InvalidRequest(
            "continue_final_message cannot continue the reasoning_content of a message "
            "that has content as well",
            "continue_final_message",
        )
    return Continuation(content, thinking, in_thinking)


def _thinking(last: Message, where: str) -> str:
    value = last.get("reasoning_content")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidRequest(f"Expected {where} to be a string", where)
    return value


def _content(last: Message, where: str, *, has_more: bool) -> str:
    content = last.get("content")
    if isinstance(content, str):
        return content
    if content is None:
        if "content" in last or has_more:
            return ""
        raise InvalidRequest(
            "Assistant message must contain either 'content' or 'tool_calls'!", where
        )
    if not isinstance(content, list):
        raise InvalidRequest("Expected 'content' to be a string or an array", where)
    return "\n\n".join(_part_text(part, where) for part in content)


def _part_text(part: object, where: str) -> str:
    if not isinstance(part, dict) or part.get("type") != "text":
        raise InvalidRequest("unsupported content[].type", where)
    value = part.get("text")
    if not isinstance(value, str):
        raise InvalidRequest("Expected content[].text to be a string", where)
    return value
