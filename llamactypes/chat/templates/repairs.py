"""Changes that bring a conversation into an order of roles that strict templates take.

Each is small, says the same as before and drops no text. Pure.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

__all__ = (
    "CALLS_AS_TEXT",
    "FOLLOWING",
    "JOINED_SYSTEMS",
    "LATE_SYSTEM_INTO_USER",
    "ORPHANS_AS_TEXT",
    "REPAIRS",
    "RESULTS_AS_TEXT",
    "SYSTEM_ALONE",
    "ROLES_BY_USER",
    "Repair",
    "Talk",
)

Message = dict[str, Any]
Messages = list[Message]

_KNOWN_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
_NO_PARAMETERS = {"type": "object", "properties": {}}
_SHORT_ID = re.compile(r"[A-Za-z0-9]{9}")


@dataclass(frozen=True, slots=True)
class Talk:
    """What a template renders. Its lists are not changed: repairs make new ones."""

    messages: Messages
    tools: list[Message] | None = None


Change = Callable[[Talk], Talk]


@dataclass(frozen=True, slots=True)
class Repair:
    """A change, and how much it changes: the cheapest repair that helps is taken."""

    cost: int
    apply: Change


# -- single fields -----------------------------------------------------------------


def _each(change: Callable[[Message], Message]) -> Change:
    return lambda talk: replace(talk, messages=[change(m) for m in talk.messages])


def _name_thinking(message: Message) -> Message:
    if message["role"] != "assistant" or "reasoning_content" in message:
        return message
    return {**message, "reasoning_content": ""}


def _think_content(message: Message) -> Message:
    """Move what is said before calls to the thinking before calls."""
    thinking, content = message.get("reasoning_content"), message["content"]
    if not (thinking and content and message.get("tool_calls")):
        return message
    thinking = f"{thinking}\n{_text(content)}"
    return {**message, "reasoning_content": thinking, "content": ""}


def _shorten_ids(talk: Talk) -> Talk:
    """Give calls ids of nine letters and digits, the same for the same id."""

    def short(message: Message) -> Message:
        changed = dict(message)
        if "tool_call_id" in message:
            changed["tool_call_id"] = _short_id(message["tool_call_id"])
        if "tool_calls" in message:
            changed["tool_calls"] = [
                {**call, "id": _short_id(call.get("id", f"{index}"))}
                for index, call in enumerate(message["tool_calls"])
            ]
        return changed

    return _each(short)(talk)


def _short_id(text: str) -> str:
    if _SHORT_ID.fullmatch(text):
        return text
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:9]


def _name_results(talk: Talk) -> Talk:
    """Give each result the name of the tool that was called."""
    names: dict[str, str] = {}
    open_calls: list[str] = []
    messages = []
    for message in talk.messages:
        for call in message.get("tool_calls", ()):
            open_calls.append(call["function"]["name"])
            names[call.get("id", "")] = open_calls[-1]
        if message["role"] == "tool" and "name" not in message and open_calls:
            name = names.get(message.get("tool_call_id", ""), open_calls[0])
            open_calls.remove(name) if name in open_calls else None
            message = {**message, "name": name}
        messages.append(message)
    return replace(talk, messages=messages)


def _complete_tools(talk: Talk) -> Talk:
    """Give tools and arguments without a description, or parameters, empty ones."""

    def complete(tool: Message) -> Message:
        function = tool.get("function")
        if not isinstance(function, dict):
            return tool
        description = function.get("description") or ""
        parameters = _described(function.get("parameters") or _NO_PARAMETERS)
        whole = {**function, "description": description, "parameters": parameters}
        return {**tool, "function": whole}

    return replace(talk, tools=talk.tools and [complete(each) for each in talk.tools])


def _described(parameters: Any) -> Any:
    properties = parameters.get("properties") if isinstance(parameters, dict) else None
    if not isinstance(properties, dict):
        return parameters
    described = {
        name: {**each, "description": each.get("description") or ""}
        if isinstance(each, dict)
        else each
        for name, each in properties.items()
    }
    return {**parameters, "properties": described}


# -- roles -------------------------------------------------------------------------


def _rename_roles(message: Message) -> Message:
    """Let a role that few templates know speak as the user, who names it."""
    role = message["role"]
    if role in _KNOWN_ROLES:
        return message
    return {**message, "role": "user", "content": _joined(role, message["content"])}


def _calls_as_text(message: Message) -> Message:
    """Write calls into the content, each as a line of JSON."""
    calls = message.get("tool_calls")
    if not calls:
        return message
    rest = {key: value for key, value in message.items() if key != "tool_calls"}
    lines = "\n".join(_call_text(call["function"]) for call in calls)
    return {**rest, "content": _joined(message["content"], lines)}


def _results_as_text(message: Message) -> Message:
    """Let the user say what a tool answered."""
    if message["role"] != "tool":
        return message
    name = message.get("name")
    heading = f"Result of {name}:" if name else "Result of the tool:"
    return {"role": "user", "content": _joined(heading, message["content"])}


def _orphans_as_text(talk: Talk) -> Talk:
    """Let the user say what a tool answered that nobody called."""
    is_called = False
    messages = []
    for message in talk.messages:
        if message["role"] != "tool":
            is_called = bool(message.get("tool_calls"))
        messages.append(message if is_called else _results_as_text(message))
    return replace(talk, messages=messages)


def _call_text(function: Message) -> str:
    arguments = function["arguments"]
    if isinstance(arguments, str):
        # What is no JSON, or too deep, stays the text that it is.
        with contextlib.suppress(ValueError, RecursionError):
            parsed = json.loads(arguments)
            return _call_line(function["name"], parsed)
    return _call_line(function["name"], arguments)


def _call_line(name: str, arguments: Any) -> str:
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


def _system_into_user(talk: Talk) -> Talk:
    """Put every system message before the text of the message after it."""
    return replace(talk, messages=list(_without_system(talk.messages, keep=0)))


def _join_systems(talk: Talk) -> Talk:
    """Make one message of the system's at the beginning."""
    n_first = _n_first_systems(talk.messages)
    if n_first < 2:
        return talk
    first, *others = talk.messages[:n_first]
    for other in others:
        first = {**first, "content": _joined(first["content"], other["content"])}
    return replace(talk, messages=[first, *talk.messages[n_first:]])


def _system_alone(talk: Talk) -> Talk:
    """Let the user say what the system says to nobody."""
    if _n_first_systems(talk.messages) < len(talk.messages):
        return talk
    return _system_into_user(talk)


def _n_first_systems(messages: Messages) -> int:
    others = (n for n, message in enumerate(messages) if not _is_system(message))
    return next(others, len(messages))


def _late_system_into_user(talk: Talk) -> Talk:
    """Do so with all but those that the conversation begins with."""
    n_first = _n_first_systems(talk.messages)
    return replace(talk, messages=list(_without_system(talk.messages, keep=n_first)))


def _without_system(messages: Messages, keep: int) -> Iterator[Message]:
    held: Any = None
    for index, message in enumerate(messages):
        if index >= keep and _is_system(message):
            content = message["content"]
            held = content if held is None else _joined(held, content)
            continue
        if held is not None and message["role"] == "user":
            message = {**message, "content": _joined(held, message["content"])}
            held = None
        elif held is not None:
            yield {"role": "user", "content": held}
            held = None
        yield message
    if held is not None:
        yield {"role": "user", "content": held}


def _is_system(message: Message) -> bool:
    return message["role"] in ("system", "developer")


def _one_call_each(talk: Talk) -> Talk:
    """Let each call be followed by its own result."""
    messages: Messages = []
    waiting: Messages = []
    for message in talk.messages:
        if message["role"] == "tool" and waiting:
            wanted = message.get("tool_call_id")
            ids = [call["tool_calls"][0].get("id") for call in waiting]
            call = waiting.pop(ids.index(wanted) if wanted in ids else 0)
            messages += [call, message]
            continue
        messages += waiting
        waiting = _split_calls(message)
        if len(waiting) < 2:
            messages += waiting or [message]
            waiting = []
    return replace(talk, messages=messages + waiting)


def _split_calls(message: Message) -> Messages:
    calls = message.get("tool_calls") or []
    rest = {k: v for k, v in message.items() if k != "reasoning_content"}
    return [
        {**(message if index == 0 else {**rest, "content": ""}), "tool_calls": [call]}
        for index, call in enumerate(calls)
    ]


def _merge_turns(talk: Talk) -> Talk:
    """Make one message of neighbours that have the same role."""
    messages: Messages = []
    for message in talk.messages:
        last = messages[-1] if messages else None
        if last is not None and _may_merge(last, message):
            messages[-1] = _merged(last, message)
        else:
            messages.append(message)
    return replace(talk, messages=messages)


def _may_merge(first: Message, second: Message) -> bool:
    role = first["role"]
    return role == second["role"] and role != "tool" and "tool_calls" not in first


def _merged(first: Message, second: Message) -> Message:
    content = _joined(first["content"], second["content"])
    merged = {**first, **second, "content": content}
    thoughts = [m["reasoning_content"] for m in (first, second) if _thinks(m)]
    if thoughts:
        merged["reasoning_content"] = "\n".join(thoughts)
    return merged


def _thinks(message: Message) -> bool:
    return bool(message.get("reasoning_content"))


def _begin_with_user(talk: Talk) -> Talk:
    """Put an empty message of the user first, after the system's."""
    messages = talk.messages
    at = _n_first_systems(messages)
    if at < len(messages) and messages[at]["role"] == "user":
        return talk
    first: Message = {"role": "user", "content": ""}
    return replace(talk, messages=[*messages[:at], first, *messages[at:]])


# -- contents ----------------------------------------------------------------------


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return "\n".join(text for text in (first, second) if text)
    return [*_parts(first), *_parts(second)]


def _parts(content: Any) -> Messages:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content)


ROLES_BY_USER = Repair(3, _each(_rename_roles))
CALLS_AS_TEXT = Repair(3, _each(_calls_as_text))
RESULTS_AS_TEXT = Repair(3, lambda talk: _each(_results_as_text)(_name_results(talk)))
ORPHANS_AS_TEXT = Repair(2, _orphans_as_text)
SYSTEM_ALONE = Repair(2, _system_alone)
JOINED_SYSTEMS = Repair(1, _join_systems)
LATE_SYSTEM_INTO_USER = Repair(2, _late_system_into_user)
FOLLOWING = (Repair(2, _merge_turns), Repair(2, _begin_with_user))
"""Those that other repairs may make necessary."""

REPAIRS = (
    ROLES_BY_USER,
    Repair(1, _name_results),
    RESULTS_AS_TEXT,
    CALLS_AS_TEXT,
    ORPHANS_AS_TEXT,
    Repair(2, _one_call_each),
    Repair(3, _system_into_user),
    SYSTEM_ALONE,
    JOINED_SYSTEMS,
    LATE_SYSTEM_INTO_USER,
    *FOLLOWING,
    Repair(2, _each(_think_content)),
    Repair(1, _each(_name_thinking)),
    Repair(1, _shorten_ids),
    Repair(1, _complete_tools),
)
"""In the order in which they are applied when several are needed."""
