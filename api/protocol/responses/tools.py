"""The tools of a response, in the shape that chat templates know. Pure."""

from __future__ import annotations

from typing import Any

from api.protocol.fields import Body, json_type
from api.protocol.invalid import InvalidRequest, NotSupported

__all__ = ("read_tools",)

Tool = dict[str, Any]

_PARTS: dict[str, tuple[type, str]] = {
    "description": (str, "a string"),
    "parameters": (dict, "an object"),
    "strict": (bool, "a boolean"),
}


def read_tools(body: Body, *, skip: bool) -> tuple[list[Tool] | None, list[Tool]]:
    """Return the functions as chat writes them, and as the response repeats them.

    Args:
        body: The request; its functions are flat, without a ``function`` object.
        skip: Leave out tools of other types, as llama-server does.

    Raises:
        InvalidRequest: ``tools`` is malformed, or has a tool that runs at OpenAI.
    """
    tools = body.get("tools")
    if tools is None:
        return None, []
    if not isinstance(tools, list):
        raise InvalidRequest("'tools' must be an array of objects", "tools")
    shown = []
    for index, tool in enumerate(tools):
        if _is_function(tool, f"tools[{index}]", skip):
            shown.append({"strict": True, "parameters": None, **tool})
    return [_nested(tool) for tool in shown] or None, shown


def _is_function(tool: Any, where: str, skip: bool) -> bool:
    if not isinstance(tool, dict):
        raise InvalidRequest(
            f"{where} must be an object, but is {json_type(tool)}", where
        )
    kind = tool.get("type")
    if kind != "function":
        if skip and isinstance(kind, str):
            return False
        raise NotSupported(
            f"{where}.type",
            f"{str(kind)[:64]!r}; this server has no built-in tools, only those of "
            "type 'function', which the client runs (--responses-skip-tools leaves "
            "others out)",
        )
    if not isinstance(tool.get("name"), str) or not tool["name"]:
        raise InvalidRequest(f"{where}.name must be a string", f"{where}.name")
    for part, (expected, word) in _PARTS.items():
        value = tool.get(part)
        if value is not None and not isinstance(value, expected):
            raise InvalidRequest(
                f"{where}.{part} must be {word}, but is {json_type(value)}",
                f"{where}.{part}",
            )
    return True


def _nested(tool: Tool) -> Tool:
    function = {k: v for k, v in tool.items() if k != "type"}
    if function["parameters"] is None:
        del function["parameters"]
    return {"type": "function", "function": function}
