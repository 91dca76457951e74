"""Requests of ``/v1/messages``, read into what chat requests are read into. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.protocol.chat.conversation import ChatDefaults, Conversation, read_conversation
from api.protocol.fields import Body, Integer, json_type, text
from api.protocol.invalid import InvalidRequest, NotSupported
from api.protocol.messages.blocks import chat_messages, required, wrong_type
from api.protocol.output_form import one_form, read_flat_format
from api.protocol.thinking import THINKING_FIELDS
from llamactypes.constraints.output_form import OutputForm

__all__ = (
    "read_message_conversation",
    "read_message_form",
    "read_message_options",
)

_MAX_TOKENS = Integer(("max_tokens",), 0)
_ONE_ANSWER = Integer(("n_cmpl", "n"), 1, 1)
_MAX_STOPS = 1024
_CHOICES = {"auto": "auto", "any": "required", "tool": "required", "none": "none"}
"""Anthropic's words for ``tool_choice``, and chat's."""
_THINKING = {"enabled": True, "adaptive": True, "disabled": False}

# Other names of max_tokens, and what replies of this protocol have no place for.
_LEFT_OUT = (
    *("n_predict", "max_completion_tokens", "reasoning_format", "parse_tool_calls"),
    *THINKING_FIELDS,
    *("n_probs", "logprobs", "top_logprobs", "post_sampling_probs"),
    *("return_tokens", "timings_per_token", "response_fields", "stream_options"),
)


def read_message_conversation(body: Body, defaults: ChatDefaults) -> Conversation:
    """Read system prompt, messages, tools and what becomes template variables.

    Raises:
        InvalidRequest: Something is malformed, or cannot be honoured.
    """
    text(body, "model")
    _refuse_unsupported(body)
    read_message_form(body)
    messages = chat_messages(body)
    _check_history(messages, defaults)
    tools = _tools(body.get("tools"))
    chat = {
        "messages": messages,
        "tools": tools,
        **_tool_choice(body.get("tool_choice"), tools),
        "chat_template_kwargs": _template_kwargs(body),
        "reasoning_effort": _effort(body.get("output_config")),
        "reasoning_format": body.get("reasoning_format"),
        "parse_tool_calls": body.get("parse_tool_calls"),
        **{name: body.get(name) for name in THINKING_FIELDS},
        **_thinking_budget(body.get("thinking")),
    }
    return read_conversation(chat, defaults, may_be_empty=True)


def read_message_options(body: Body) -> dict[str, Any]:
    """Return the request's parameters under the names of the completion routes.

    llama-server's own (``min_p``, ``cache_prompt`` …) may stand beside Anthropic's.

    Raises:
        InvalidRequest: ``max_tokens`` is absent, or a field is malformed.
    """
    if body.get("max_tokens") is None:
        raise required("max_tokens")
    _ONE_ANSWER.read(body, 1)
    options = {name: value for name, value in body.items() if name not in _LEFT_OUT}
    options["max_tokens"] = _MAX_TOKENS.read(body, 0)
    options["verbose"] = False
    # The first event of a stream says how much of the prompt was cached. That is known
    # when the prompt begins: the client then need not wait for the first token.
    options["return_progress"] = True
    stops = _stop_sequences(body.get("stop_sequences"))
    if stops is not None:
        options["stop"] = stops
    return options


def read_message_form(body: Body) -> OutputForm | None:
    """Return the form of the answer: ``output_config.format``, once ``output_format``.

    Raises:
        InvalidRequest: It is malformed, or there are two.
    """
    config = body.get("output_config")
    inner = config.get("format") if isinstance(config, dict) else None
    return one_form(
        read_flat_format(inner, "output_config.format"),
        read_flat_format(body.get("output_format"), "output_format"),
    )


def _stop_sequences(value: Any) -> list[str] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidRequest.field(
            "stop_sequences", "Value must be an array of strings"
        )
    if len(value) > _MAX_STOPS:
        raise InvalidRequest.field(
            "stop_sequences",
            f"Value must hold at most {_MAX_STOPS} strings, not {len(value)}",
        )
    return value


# -- what shapes the prompt ------------------------------------------------------------


def _check_history(messages: list[dict[str, Any]], defaults: ChatDefaults) -> None:
    """Refuse conversations that would lose a part of what they say."""
    if not defaults.jinja and any(each.get("tool_calls") for each in messages):
        raise InvalidRequest(
            "messages: tool_use blocks are shown by the model's Jinja template, which "
            "--no-jinja switched off",
            "messages",
        )


def _tools(tools: Any) -> list[dict[str, Any]] | None:
    if tools is None:
        return None
    if not isinstance(tools, list):
        raise wrong_type("tools", "an array", tools)
    functions = [_function(tool, f"tools.{index}") for index, tool in enumerate(tools)]
    names = [each["function"]["name"] for each in functions]
    if len(set(names)) < len(names):
        raise InvalidRequest("tools: Tool names must be unique.", "tools")
    return functions


def _function(tool: Any, where: str) -> dict[str, Any]:
    if not isinstance(tool, dict):
        raise wrong_type(where, "an object", tool)
    kind = tool.get("type")
    if kind not in (None, "custom"):
        shown = kind[:64] if isinstance(kind, str) else json_type(kind)
        raise NotSupported(f"{where}.type", f"'{shown}'; only tools of your own")
    name, schema = tool.get("name"), tool.get("input_schema")
    if not isinstance(name, str):
        raise wrong_type(f"{where}.name", "a string", name)
    if not isinstance(schema, dict):
        raise wrong_type(f"{where}.input_schema", "an object", schema)
    function = {"name": name, "description": _description(tool, where)}
    return {"type": "function", "function": {**function, "parameters": schema}}


def _description(tool: Mapping[str, Any], where: str) -> str:
    value = tool.get("description")
    if value is not None and not isinstance(value, str):
        raise wrong_type(f"{where}.description", "a string", value)
    return value or ""


def _tool_choice(value: Any, tools: list[dict[str, Any]] | None) -> dict[str, Any]:
    """Return chat's fields for it."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise wrong_type("tool_choice", "an object", value)
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in _CHOICES:
        raise InvalidRequest(
            "tool_choice.type: Input should be 'auto', 'any', 'tool' or 'none'",
            "tool_choice.type",
        )
    is_single = value.get("disable_parallel_tool_use")
    if is_single is not None and not isinstance(is_single, bool):
        where = "tool_choice.disable_parallel_tool_use"
        raise wrong_type(where, "a boolean", is_single)
    names = [tool["function"]["name"] for tool in tools or ()]
    choice: Any = _CHOICES[kind]
    if kind == "tool":
        choice = {"type": "function", "function": {"name": _named(value, names)}}
    elif kind == "any" and not names:
        raise InvalidRequest(
            "tool_choice: a call is required, but there are no 'tools'", "tool_choice"
        )
    return {"tool_choice": choice, "parallel_tool_calls": not is_single}


def _named(choice: Mapping[str, Any], names: list[str]) -> str:
    name = choice.get("name")
    if name is None:
        raise required("tool_choice.name")
    if not isinstance(name, str):
        raise wrong_type("tool_choice.name", "a string", name)
    if name not in names:
        raise InvalidRequest(
            f"tool_choice.name: Tool '{name[:64]}' not found in provided tools",
            "tool_choice.name",
        )
    return name


def _template_kwargs(body: Body) -> Any:
    """``thinking`` says what the template's variable ``enable_thinking`` is."""
    given = body.get("chat_template_kwargs")
    thinking = body.get("thinking")
    if thinking is None or not isinstance(given, dict | None):
        return given
    if not isinstance(thinking, dict):
        raise wrong_type("thinking", "an object", thinking)
    kind = thinking.get("type")
    if not isinstance(kind, str) or kind not in _THINKING:
        raise InvalidRequest(
            "thinking.type: Input should be 'enabled', 'adaptive' or 'disabled'",
            "thinking.type",
        )
    return {"enable_thinking": _THINKING[kind], **(given or {})}


def _thinking_budget(thinking: Any) -> dict[str, int]:
    """``thinking.budget_tokens`` limits the thinking, as in llama-server."""
    if not isinstance(thinking, dict) or thinking.get("budget_tokens") is None:
        return {}
    budget = Integer(("budget_tokens",), 0).read(thinking, 0)
    is_on = thinking.get("type") == "enabled"
    return {"thinking_budget_tokens": budget} if is_on else {}


def _effort(config: Any) -> Any:
    if config is None:
        return None
    if not isinstance(config, dict):
        raise wrong_type("output_config", "an object", config)
    return text(config, "effort")


def _refuse_unsupported(body: Body) -> None:
    if body.get("mcp_servers"):
        raise NotSupported("mcp_servers", "this server calls no tools itself")
    if body.get("container") is not None:
        raise NotSupported("container", "this server runs no code")
