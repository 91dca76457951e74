"""What a chat request says, before a template turns it into a prompt. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from api.protocol.chat.continuation import Continuation, read_continuation
from api.protocol.chat.template_variables import (
    read_documents,
    read_template_name,
    read_template_variables,
)
from api.protocol.chat.tools import ToolUse, read_tool_use
from api.protocol.fields import Body, boolean, text, whole_number
from api.protocol.invalid import InvalidRequest
from api.protocol.thinking import THINKING_FIELDS, ThinkingAsked, read_thinking

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

_READING = ("reasoning_format", "parse_tool_calls", *THINKING_FIELDS)
"""Fields that say how a chat's answer is read and how long its thinking may be, unknown
to the completion routes."""


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
    thinking: ThinkingAsked = field(default_factory=ThinkingAsked)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A chat request's messages and how to end the prompt."""

    messages: list[Message]
    """As in the request, without the one to continue."""
    tool_use: ToolUse = field(default_factory=ToolUse)
    add_generation_prompt: bool = True
    continuation: Continuation | None = None
    """What the assistant's answer must begin with; None: a new answer."""
    documents: list[Message] | None = None
    """What the answer may draw on, for templates that know such."""
    template_name: str | None = None
    """Of the model's own templates; None: the default, or ``tool_use`` with tools."""
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Variables of the template."""
    reasoning_format: str = "auto"
    """One of `REASONING_FORMATS`."""
    skip_parsing: bool = False
    """The answer is content, whatever it says."""
    thinking: ThinkingAsked = field(default_factory=ThinkingAsked)
    """How long it may think."""

    @property
    def prefill(self) -> str | None:
        """Content the answer begins with; None: a new answer."""
        return None if self.continuation is None else self.continuation.content

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
    continuation = read_continuation(
        body, messages, by_default=defaults.prefill_assistant
    )
    if continuation is not None:
        messages = messages[:-1]
        add_generation_prompt = True
    return Conversation(
        messages=messages,
        tool_use=tool_use,
        add_generation_prompt=add_generation_prompt,
        continuation=continuation,
        documents=_documents(body, defaults),
        template_name=read_template_name(body),
        template_kwargs=read_template_variables(body, defaults.template_kwargs),
        reasoning_format=reasoning_format,
        skip_parsing=defaults.skip_parsing,
        thinking=read_thinking(body, defaults.thinking),
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


# -- what shapes prompt and reply ---------------------------------------------------


def _check_jinja(tool_use: ToolUse, defaults: ChatDefaults) -> None:
    if defaults.jinja:
        return
    if tool_use.tools:
        raise InvalidRequest("tools param requires --jinja flag", "tools")
    if tool_use.choice.mode != "auto":
        raise InvalidRequest("tool_choice param requires --jinja flag", "tool_choice")


def _documents(body: Body, defaults: ChatDefaults) -> list[Message] | None:
    documents = read_documents(body)
    if documents and not defaults.jinja:
        raise InvalidRequest("documents param requires --jinja flag", "documents")
    return documents


def _reasoning_format(body: Body, defaults: ChatDefaults) -> str:
    value = text(body, "reasoning_format", defaults.reasoning_format)
    if value not in REASONING_FORMATS:
        raise InvalidRequest.field(
            "reasoning_format",
            f"Value must be one of {', '.join(REASONING_FORMATS)}",
        )
    return value
