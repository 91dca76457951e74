"""Tools for templates that know none: described, called and answered in words. Pure.

A template that does not describe tools gets them as text of the system message. One
that cannot write calls either gets those, and their results, as text of the messages,
in the form that most models have seen: `GENERIC`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from llamactypes.chat.output.format import ArgumentForm, Slot, ToolSyntax

__all__ = ("GENERIC", "calls_as_text", "example_call", "tools_described")

Message = dict[str, Any]

GENERIC = ToolSyntax(
    call=(
        '<tool_call>\n{"name": "',
        Slot.NAME,
        '", "arguments": ',
        Slot.ARGUMENTS,
        "}\n</tool_call>",
    ),
    quotes_names=True,
)
"""How calls are written where the template has no form of its own."""

_DESCRIPTION = """\
You may call these tools, each with arguments by its JSON Schema:
<tools>
{tools}
</tools>
To call one, write nothing but this, with its name and arguments:
{example}"""

_RESULTS = """
Its result comes between <tool_response> and </tool_response>."""

_KEY, _VALUE = "argument", "value"
_SLOTS = {Slot.NAME: "name", Slot.ID: "call00001", Slot.INDEX: "0"}


def tools_described(
    messages: Sequence[Message], tools: Sequence[Message], syntax: ToolSyntax
) -> list[Message]:
    """Return `messages` with a description of `tools` in the system message.

    Args:
        messages: As the client sent them.
        tools: In OpenAI's form.
        syntax: How calls are to be written.
    """
    text = _DESCRIPTION.format(
        tools="\n".join(_tool_line(tool) for tool in tools),
        example=example_call(syntax),
    )
    if syntax is GENERIC:
        text += _RESULTS
    if messages and messages[0].get("role") in ("system", "developer"):
        first, *rest = messages
        return [{**first, "content": _joined(first.get("content"), text)}, *rest]
    return [{"role": "system", "content": text}, *messages]


def example_call(syntax: ToolSyntax) -> str:
    """Return what a call looks like in `syntax`."""
    parts = [syntax.start, *syntax.call, syntax.end]
    return "".join(_shown(part, syntax) for part in parts)


def _shown(part: str | Slot, syntax: ToolSyntax) -> str:
    if isinstance(part, str):
        return part
    return _arguments(syntax) if part is Slot.ARGUMENTS else _SLOTS[part]


def _arguments(syntax: ToolSyntax) -> str:
    as_json = json.dumps({_KEY: _VALUE})
    tagged, mark = syntax.tagged, syntax.quote
    if syntax.arguments is ArgumentForm.TAGGED and tagged is not None:
        parts = (tagged.before_key, _KEY, tagged.after_key, _VALUE, tagged.after_value)
        return "".join(parts)
    return {
        ArgumentForm.JSON_STRING: json.dumps(as_json),
        ArgumentForm.PYTHON: f'{_KEY}="{_VALUE}"',
        ArgumentForm.NESTED: f"{mark}<{_KEY}>{_VALUE}{mark}</{_KEY}>",
        ArgumentForm.UNQUOTED: f"{_KEY}:{mark}{_VALUE}{mark}",
    }.get(syntax.arguments, as_json)


def _tool_line(tool: Message) -> str:
    return json.dumps(tool.get("function", tool), ensure_ascii=False)


# -- calls and results -------------------------------------------------------------


def calls_as_text(messages: Sequence[Message]) -> list[Message]:
    """Return `messages` with calls and results as text, in the form of `GENERIC`.

    Results that follow each other are one message of the user.
    """
    return list(_as_text(messages))


def _as_text(messages: Sequence[Message]) -> Iterator[Message]:
    results: list[str] = []
    for message in messages:
        if message.get("role") == "tool":
            content = _text(message.get("content"))
            results.append(f"<tool_response>\n{content}\n</tool_response>")
            continue
        if results:
            yield {"role": "user", "content": "\n".join(results)}
            results = []
        yield _with_written_calls(message) if message.get("tool_calls") else message
    if results:
        yield {"role": "user", "content": "\n".join(results)}


def _with_written_calls(message: Message) -> Message:
    calls = message["tool_calls"]
    rest = {key: value for key, value in message.items() if key != "tool_calls"}
    if not isinstance(calls, list | tuple):
        return message  # whoever reads the messages says what is wrong
    functions = [each.get("function") for each in calls if isinstance(each, Mapping)]
    written = [_call(each) for each in functions if isinstance(each, Mapping)]
    if len(written) < len(calls):
        return message
    return {**rest, "content": _joined(message.get("content"), "\n".join(written))}


def _call(function: Mapping[str, Any]) -> str:
    arguments = function.get("arguments") or "{}"
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    name = json.dumps(function.get("name"), ensure_ascii=False)
    call = f'{{"name": {name}, "arguments": {arguments}}}'
    return f"<tool_call>\n{call}\n</tool_call>"


def _joined(content: Any, text: str) -> Any:
    if not content:
        return text
    if isinstance(content, str):
        return f"{content}\n\n{text}"
    return [*content, {"type": "text", "text": text}]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else ()
    texts = (each.get("text") for each in parts if isinstance(each, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))
