"""What a chat request says, before a template turns it into a prompt. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from api.protocol.fields import Body, boolean, json_type, text, whole_number
from api.protocol.invalid import InvalidRequest, NotSupported

__all__ = ("ChatDefaults", "Conversation", "read_conversation", "read_logprobs")

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChatDefaults:
    """The server's flags that shape a prompt."""

    jinja: bool = True
    prefill_assistant: bool = True
    """Continue a last message of the assistant instead of answering it."""
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A chat request's messages and how to end the prompt."""

    messages: list[Message]
    """As in the request, without the one to continue."""
    tools: list[Message] | None = None
    add_generation_prompt: bool = True
    prefill: str | None = None
    """Text the assistant's answer must begin with; None: a new answer."""
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Variables of the template."""


def read_conversation(
    body: Body, defaults: ChatDefaults, *, may_be_empty: bool = False
) -> Conversation:
    """Read a chat request's messages, tools and template variables.

    Args:
        body: The request.
        defaults: The server's flags.
        may_be_empty: Whether there may be no messages at all.

    Raises:
        InvalidRequest: Worded as llama-server words it where it has a word for it.
    """
    tools = _tools(body, defaults)
    messages = _messages(body, may_be_empty)
    add_generation_prompt = boolean(body, "add_generation_prompt", True)
    prefill = None
    if messages and _continues(body, messages, defaults):
        if add_generation_prompt and body.get("continue_final_message"):
            raise InvalidRequest(
                "Cannot set both add_generation_prompt and continue_final_message to "
                "true.",
                "continue_final_message",
            )
        *messages, last = messages
        prefill = _prefill_text(last, len(messages))
        add_generation_prompt = True
    return Conversation(
        messages=messages,
        tools=tools,
        add_generation_prompt=add_generation_prompt,
        prefill=prefill,
        template_kwargs=_template_kwargs(body, defaults.template_kwargs),
    )


def read_logprobs(body: Body) -> tuple[dict[str, Any], int | None]:
    """Translate chat's ``logprobs`` and ``top_logprobs``.

    Returns:
        The body with ``n_probs`` in their place, and how many alternatives to show for
        each token (None: all that were computed, or no logprobs at all).
    """
    rest = {k: v for k, v in body.items() if k not in ("logprobs", "top_logprobs")}
    top = body.get("top_logprobs")
    if not boolean(body, "logprobs", False):
        if top is not None:
            raise InvalidRequest(
                "top_logprobs requires logprobs to be set to true", "top_logprobs"
            )
        return rest, None
    n_top = 0 if top is None else whole_number("top_logprobs", top)
    if n_top < 0:
        raise InvalidRequest.field("top_logprobs", "Value must not be negative")
    rest["n_probs"] = max(n_top, 1)
    return rest, n_top


# -- messages ------------------------------------------------------------------------


def _messages(body: Body, may_be_empty: bool) -> list[Message]:
    messages = body.get("messages")
    if messages is None:
        raise InvalidRequest("'messages' is required", "messages")
    if not isinstance(messages, list):
        raise InvalidRequest("Expected 'messages' to be an array", "messages")
    if not messages and not may_be_empty:
        raise InvalidRequest("'messages' must not be empty", "messages")
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            raise InvalidRequest(
                f"Expected messages[{index}] to be an object", f"messages[{index}]"
            )
    return messages


def _continues(body: Body, messages: list[Message], defaults: ChatDefaults) -> bool:
    wanted = body.get("continue_final_message")
    if wanted not in (None, False, True, "content", "reasoning_content"):
        raise InvalidRequest.field(
            "continue_final_message", 'Value must be a boolean or "content"'
        )
    if wanted == "reasoning_content":
        raise NotSupported("continue_final_message", "only of content")
    is_assistant = messages[-1].get("role") == "assistant"
    if wanted and not is_assistant:
        raise InvalidRequest(
            "continue_final_message needs a last message of role 'assistant'",
            "continue_final_message",
        )
    if wanted or not (is_assistant and defaults.prefill_assistant):
        return bool(wanted)
    if len(messages) > 1 and messages[-2].get("role") == "assistant":
        raise InvalidRequest(
            "Cannot have 2 or more assistant messages at the end of the list.",
            "messages",
        )
    return True


def _prefill_text(last: Message, index: int) -> str:
    if last.get("tool_calls"):
        raise InvalidRequest(
            "Cannot continue an assistant message that contains tool calls.",
            "messages",
        )
    where = f"messages[{index}].content"
    content = last.get("content")
    if isinstance(content, str):
        return content
    if content is None and "content" not in last:
        raise InvalidRequest(
            "Assistant message must contain either 'content' or 'tool_calls'!", where
        )
    if content is None:
        return ""
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


# -- tools and template variables ----------------------------------------------------


def _tools(body: Body, defaults: ChatDefaults) -> list[Message] | None:
    tools = body.get("tools")
    if tools is not None and not isinstance(tools, list):
        raise InvalidRequest(
            f"Failed to parse tools: expected an array, got {json_type(tools)}", "tools"
        )
    for index, tool in enumerate(tools or ()):
        _check_tool(tool, index)
    choice = _tool_choice(body.get("tool_choice"))
    if not defaults.jinja:
        if tools:
            raise InvalidRequest("tools param requires --jinja flag", "tools")
        if choice != "auto":
            raise InvalidRequest(
                "tool_choice param requires --jinja flag", "tool_choice"
            )
    return tools or None


def _tool_choice(value: Any) -> str:
    if value in (None, "auto", "none"):
        return value or "auto"
    if value == "required" or isinstance(value, dict):
        raise NotSupported(
            "tool_choice", 'only "auto" and "none"; calls are not forced'
        )
    shown = value if isinstance(value, str) else json_type(value)
    raise InvalidRequest(f"Invalid tool_choice: {shown[:64]}", "tool_choice")


def _check_tool(tool: object, index: int) -> None:
    where = f"tools[{index}]"
    if not isinstance(tool, dict):
        raise InvalidRequest(f"Failed to parse tools: {where} is not an object", where)
    if tool.get("type") != "function":
        raise InvalidRequest(
            f'Failed to parse tools: {where}.type must be "function"', f"{where}.type"
        )
    function = tool.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise InvalidRequest(
            f"Failed to parse tools: {where}.function needs a name", f"{where}.function"
        )


def _template_kwargs(body: Body, defaults: Mapping[str, Any]) -> dict[str, Any]:
    given = body.get("chat_template_kwargs")
    if given is not None and not isinstance(given, dict):
        raise InvalidRequest.field(
            "chat_template_kwargs",
            f"Value must be an object, but got {json_type(given)}",
        )
    kwargs = {"enable_thinking": True, **defaults, **(given or {})}
    if not isinstance(kwargs["enable_thinking"], bool):
        kind = json_type(kwargs["enable_thinking"])
        raise InvalidRequest(
            f'invalid type for "enable_thinking" (expected boolean, got {kind})',
            "chat_template_kwargs",
        )
    effort = text(body, "reasoning_effort")
    if effort == "none":
        kwargs["enable_thinking"] = False
        kwargs.pop("reasoning_effort", None)
    elif effort:
        kwargs["reasoning_effort"] = effort
    return kwargs
