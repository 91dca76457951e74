"""Conversations that a template refuses, rendered after the smallest repair. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from typing import Any

from llamactypes.chat.templates.capabilities import probe
from llamactypes.chat.templates.messages import normalise_messages
from llamactypes.chat.templates.repairs import (
    CALLS_AS_TEXT,
    FOLLOWING,
    JOINED_SYSTEMS,
    LATE_SYSTEM_INTO_USER,
    ORPHANS_AS_TEXT,
    REPAIRS,
    RESULTS_AS_TEXT,
    ROLES_BY_USER,
    SYSTEM_ALONE,
    Repair,
    Talk,
)
from llamactypes.chat.templates.template import ChatTemplate
from llamactypes.errors import TemplateError, TemplateLimit

__all__ = ("needed_repairs", "render_repaired")

Render = Callable[[Talk], str]

_MAX_TRIES = 96
_WORD = "Sentinelword"


def render_repaired(
    talk: Talk, render: Render, needed: Iterable[Repair] = ()
) -> tuple[str, Talk]:
    """Return the prompt, and the conversation as the template took it.

    Args:
        talk: The conversation.
        render: Raises TemplateError for what the template refuses.
        needed: Repairs without which the template would leave something out; see
            `needed_repairs`.

    Raises:
        TemplateError: The template refuses every repair; the error is its first one.
    """
    for repair in needed:
        talk = repair.apply(talk)
    try:
        return render(talk), talk
    except TemplateLimit:
        raise
    except TemplateError as error:
        for other in _variants(talk):
            try:
                return render(other), other
            except TemplateLimit:
                raise
            except TemplateError:
                continue
        raise error


def _variants(talk: Talk) -> Iterator[Talk]:
    """Yield what the repairs make of `talk`, beginning with the smallest changes."""
    numbers = [n for n, repair in enumerate(REPAIRS) if repair.apply(talk) != talk]
    if numbers:  # what these change may have to be merged, or begin with the user
        numbers = sorted({*numbers, *(REPAIRS.index(each) for each in FOLLOWING)})
    sizes = range(1, len(numbers) + 1)
    choices = [chosen for size in sizes for chosen in combinations(numbers, size)]
    choices.sort(key=lambda chosen: (sum(REPAIRS[n].cost for n in chosen), chosen))
    seen = [talk]
    for chosen in choices:
        other = talk
        for n in chosen:
            other = REPAIRS[n].apply(other)
        if other not in seen:
            seen.append(other)
            yield other
        if len(seen) > _MAX_TRIES:
            return


# -- what templates leave out ------------------------------------------------------


def needed_repairs(template: ChatTemplate) -> tuple[Repair, ...]:
    """Return the repairs without which `template` would silently leave out text.

    Pure, a dozen renderings: find them once per template and keep them.
    """
    capabilities = probe(template)
    return tuple(
        repair
        for repair, messages, tools in _PROBES
        if _leaves_out(template, normalise_messages(messages, capabilities), tools)
    )


def _leaves_out(
    template: ChatTemplate, messages: list[dict[str, Any]], tools: Any
) -> bool:
    # What is refused is repaired when it happens.
    try:
        text, _ = render_repaired(
            Talk(messages, tools),
            lambda talk: template.render(talk.messages, tools=talk.tools),
        )
    except TemplateError:
        return False
    return _WORD not in text


_USER = {"role": "user", "content": "Hi"}
_ASSISTANT = {"role": "assistant", "content": "Hello"}


def _call(name: str) -> dict[str, Any]:
    function = {"name": name, "arguments": "{}"}
    call = {"id": "probe0001", "type": "function", "function": function}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _tool(name: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {}, "required": []}
    function = {"name": name, "description": "A tool", "parameters": parameters}
    return {"type": "function", "function": function}


def _said(role: str, **more: str) -> dict[str, Any]:
    return {"role": role, "content": _WORD, **more}


_TOOLS = [_tool("f")]
_OTHER = {"role": "system", "content": "Be brief."}
_PROBES = (
    (SYSTEM_ALONE, [_said("system")], None),
    (JOINED_SYSTEMS, [_said("system"), _OTHER, _USER], None),
    (JOINED_SYSTEMS, [_OTHER, _said("system"), _USER], None),
    (ROLES_BY_USER, [_USER, _ASSISTANT, _said("critic"), _USER], None),
    (
        RESULTS_AS_TEXT,
        [_USER, _call("f"), _said("tool", tool_call_id="probe0001", name="f")],
        _TOOLS,
    ),
    (CALLS_AS_TEXT, [_USER, _call(_WORD), _USER], _TOOLS),
    (ORPHANS_AS_TEXT, [_USER, _said("tool", tool_call_id="probe0001")], _TOOLS),
    (LATE_SYSTEM_INTO_USER, [_USER, _ASSISTANT, _said("system"), _USER], None),
    (LATE_SYSTEM_INTO_USER, [_said("system"), _USER, _ASSISTANT, _OTHER, _USER], None),
)
