"""What a chat request says, before a template turns it into a prompt. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from api.protocol.chat_tools import ToolUse, read_tool_use
from api.protocol.fields import Body, boolean, json_type, text, whole_number
from api.protocol.invalid import InvalidRequest, NotSupported

__all__ = (
    "REASONING_FORMATS",
    "ChatDefaults",
    "Conversation",
    "read_conversation",
    "read_logprobs",
    "without_reading",
)

Message = dict[str, Any]

REASONING_FORMATS = ("none", "auto", "deepseek", "deepseek-legacy")
"""``none``: thinking stays in the content. ``auto``, ``deepseek``: it goes to
``reasoning_content``. ``deepseek-legacy``: both."""

_READING = ("reasoning_format", "parse_tool_calls")
"""Fields that say how a chat's answer is read, unknown to the completion routes."""


@dataclass(frozen=True, slots=True)
class ChatDefaults:
    """The server's flags that shape a prompt."""

    jinja: bool = True
    prefill_assistant: bool = True
    """Continue a last message of the assistant instead of answering it."""
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    reasoning_format: str = "auto"
    """One of `REASONING_FORMATS`."""
    skip_parsing: bool = False
    """Answers are content, whatever they say."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A chat request's messages and how to end the prompt."""

    messages: list[Message]
    """As in the request, without the one to continue."""
    tool_use: ToolUse = field(default_factory=ToolUse)
    add_generation_prompt: bool = True
    prefill: str | None = None
    """Text the assistant's answer must begin with; None: a new answer."""
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Variables of the template."""
    reasoning_format: str = "auto"
    """One of `REASONING_FORMATS`."""
    skip_parsing: bool = False
    """The answer is content, whatever it says."""

    @property
    def tools(self) -> list[Message] | None:
        """The tools, in chat's form; None: there are none."""
        return list(self.tool_use.tools) or None


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
    tool_use = read_tool_use(body)
    _check_jinja(tool_use, defaults)
    reasoning_format = _reasoning_format(body, defaults)
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
        tool_use=tool_use,
        add_generation_prompt=add_generation_prompt,
        prefill=prefill,
        template_kwargs=_template_kwargs(body, defaults.template_kwargs),
        reasoning_format=reasoning_format,
        skip_parsing=defaults.skip_parsing,
    )


def without_reading(body: Body) -> dict[str, Any]:
    """Return a chat request without what says how its answer is read."""
    return {name: value for name, value in body.items() if name not in _READING}


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


# -- what shapes prompt and reply ---------------------------------------------------


def _check_jinja(tool_use: ToolUse, defaults: ChatDefaults) -> None:
    if defaults.jinja:
        return
    if tool_use.tools:
        raise InvalidRequest("tools param requires --jinja flag", "tools")
    if tool_use.choice.mode != "auto":
        raise InvalidRequest("tool_choice param requires --jinja flag", "tool_choice")


def _reasoning_format(body: Body, defaults: ChatDefaults) -> str:
    value = text(body, "reasoning_format", defaults.reasoning_format)
    if value not in REASONING_FORMATS:
        raise InvalidRequest.field(
            "reasoning_format",
            f"Value must be one of {', '.join(REASONING_FORMATS)}",
        )
    return value


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
