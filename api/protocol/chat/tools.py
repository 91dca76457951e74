"""Which tools a request offers, and which of them may or must be called. Pure.

Chat's form of both is the inner one: Responses and Messages are brought into it, and
`ToolForm` says what their parts are called, so that an error names what was sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from api.protocol.fields import Body, boolean, json_type
from api.protocol.invalid import InvalidRequest, NotSupported
from llamactypes.chat.output.tool_choice import ToolChoice

__all__ = ("ToolUse", "check_named", "read_tool_choice", "read_tool_use")

Tool = dict[str, Any]

_MODES = ("auto", "none", "required")


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A request's tools and what it says about calling them."""

    tools: Sequence[Tool] = ()
    """In chat's form: ``{"type": "function", "function": {"name": …}}``."""
    choice: ToolChoice = field(default_factory=ToolChoice)
    is_parallel: bool = True
    """An answer may hold several calls."""
    is_parsed: bool = True
    """Calls are read out of the text; else they are content."""

    @property
    def may_call(self) -> bool:
        """Whether there is something that may be called."""
        return bool(self.tools) and self.choice.mode != "none"

    @property
    def schemas(self) -> dict[str, Mapping[str, Any]]:
        """The parameters of each tool, by its name."""
        functions = [tool["function"] for tool in self.tools]
        return {each["name"]: each.get("parameters") or {} for each in functions}


def read_tool_use(body: Body) -> ToolUse:
    """Read ``tools`` and what goes with them from a chat request.

    Raises:
        InvalidRequest: Something is malformed, or names a tool that is not there.
    """
    tools = _tools(body.get("tools"))
    choice = read_tool_choice(body.get("tool_choice"))
    check_named(choice, [tool["function"]["name"] for tool in tools], "tool_choice")
    is_parallel = boolean(body, "parallel_tool_calls", True)
    is_parsed = boolean(body, "parse_tool_calls", bool(tools) and choice.mode != "none")
    return ToolUse(tools, choice, is_parallel, is_parsed)


# -- tools -----------------------------------------------------------------------------


def _tools(tools: Any) -> list[Tool]:
    if tools is None:
        return []
    if not isinstance(tools, list):
        raise InvalidRequest(
            f"Failed to parse tools: expected an array, got {json_type(tools)}", "tools"
        )
    for index, tool in enumerate(tools):
        _check_tool(tool, f"tools[{index}]")
    return tools


def _check_tool(tool: Any, where: str) -> None:
    if not isinstance(tool, dict):
        raise InvalidRequest(f"Failed to parse tools: {where} is not an object", where)
    if tool.get("type") != "function":
        raise InvalidRequest(
            f'Failed to parse tools: {where}.type must be "function"', f"{where}.type"
        )
    function = tool.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(function, dict) or not isinstance(name, str) or not name:
        raise InvalidRequest(
            f"Failed to parse tools: {where}.function needs a name", f"{where}.function"
        )
    _check_part(function, "description", str, "a string", f"{where}.function")
    _check_part(function, "parameters", dict, "an object", f"{where}.function")


def _check_part(
    function: Tool, part: str, kind: type, expected: str, where: str
) -> None:
    value = function.get(part)
    if value is not None and not isinstance(value, kind):
        raise InvalidRequest(
            f"Failed to parse tools: {where}.{part} must be {expected}, but is "
            f"{json_type(value)}",
            f"{where}.{part}",
        )


# -- the choice ------------------------------------------------------------------------


def read_tool_choice(value: Any) -> ToolChoice:
    """Return what ``tool_choice`` says, in the form of chat or of Responses.

    Raises:
        InvalidRequest: It has no known form.
    """
    if value is None:
        return ToolChoice()
    if isinstance(value, str):
        return ToolChoice(_mode(value, "tool_choice"))
    if not isinstance(value, dict):
        raise InvalidRequest(f"Invalid tool_choice: {json_type(value)}", "tool_choice")
    kind = value.get("type")
    if kind == "function":
        return ToolChoice("required", (_name(value, "tool_choice"),))
    if kind == "allowed_tools":
        return _allowed(value)
    shown = repr(kind[:64]) if isinstance(kind, str) else json_type(kind)
    raise NotSupported(
        "tool_choice", f"type {shown}; only 'function' and 'allowed_tools'"
    )


def check_named(choice: ToolChoice, names: Sequence[str], where: str) -> None:
    """Refuse a choice of tools that are not there.

    Raises:
        InvalidRequest: With the parameter `where`.
    """
    for name in choice.names:
        if name not in names:
            raise InvalidRequest(
                f"{where}: the tool '{name[:64]}' is not one of 'tools'", where
            )
    if choice.mode == "required" and not names:
        raise InvalidRequest(
            f"{where}: a call is required, but there are no 'tools'", where
        )


def _mode(value: Any, where: str) -> Any:
    if value not in _MODES:
        shown = value[:64] if isinstance(value, str) else json_type(value)
        raise InvalidRequest(f"Invalid tool_choice: {shown}", where)
    return value


def _allowed(value: Tool) -> ToolChoice:
    """Read ``allowed_tools``: nested on chat, flat on Responses."""
    where = "tool_choice"
    if "allowed_tools" in value:
        value, where = value["allowed_tools"], "tool_choice.allowed_tools"
        if not isinstance(value, dict):
            raise InvalidRequest.field(
                where, f"Value must be an object, but got {json_type(value)}"
            )
    mode, tools = value.get("mode", "auto"), value.get("tools")
    if mode not in ("auto", "required"):
        raise InvalidRequest.field(
            f"{where}.mode", 'Value must be "auto" or "required"'
        )
    if not isinstance(tools, list) or not tools:
        raise InvalidRequest.field(
            f"{where}.tools", "Value must be an array with at least one tool"
        )
    names = [_name(tool, f"{where}.tools[{i}]") for i, tool in enumerate(tools)]
    return ToolChoice(mode, tuple(dict.fromkeys(names)))


def _name(value: Any, where: str) -> str:
    """Return the name of a function, nested or flat."""
    if not isinstance(value, dict) or value.get("type") != "function":
        raise InvalidRequest.field(where, 'Value must be of the type "function"')
    named = value.get("function", value)
    name = named.get("name") if isinstance(named, dict) else None
    if not isinstance(name, str) or not name:
        raise InvalidRequest.field(where, "the function needs a name")
    return name
