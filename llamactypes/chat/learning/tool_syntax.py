"""Learns how a template writes tool calls, from calls with unmistakable words. Pure.

Two calls in one turn show everything: what stands between them begins as the turn ends
and ends as the turn begins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from llamactypes.chat.learning.arguments import (
    ArgumentText,
    find_arguments,
    learn_types,
)
from llamactypes.chat.learning.probes import CALLS, Call, Probes
from llamactypes.chat.learning.segments import common_prefix, common_suffix
from llamactypes.chat.learning.turns import (
    TurnEnd,
    turn_end,
    turn_header,
    without_thinking,
)
from llamactypes.chat.output.format import CallPart, ChatFormat, Slot, ToolSyntax

__all__ = ("learn_tools",)

_LAST_NUMBER = re.compile(r"\d{1,9}\Z")


@dataclass(frozen=True, slots=True)
class _Written:
    """One call in a turn, from its first slot to its last."""

    parts: tuple[CallPart, ...]
    start: int
    end: int
    arguments: ArgumentText


def learn_tools(probes: Probes, learned: ChatFormat) -> ToolSyntax | None:
    """Return how calls are written, or None when the template does not show it.

    Args:
        probes: Of the template.
        learned: What is known of thinking and answers.
    """
    syntax = _from_calls(probes, learned)
    if syntax is None or syntax.tagged is None:
        return syntax
    return replace(syntax, tagged=learn_types(probes, syntax.tagged))


def _from_calls(probes: Probes, learned: ChatFormat) -> ToolSyntax | None:
    end = turn_end(probes, learned)
    turn = probes.calls(CALLS)
    if turn:
        body = _body(probes, learned, turn)
        both = _two_calls(body, end)
        if both is not None:
            return both
    body = _body(probes, learned, probes.calls(CALLS[:1]))
    return _one_call(body, end)


def _body(probes: Probes, learned: ChatFormat, turn: str) -> str:
    body = turn.removeprefix(turn_header(probes, turn, learned.reasoning))
    body = without_thinking(body, learned.reasoning)
    if learned.content is None:
        return body
    # Some write an empty answer before the calls.
    rest = body.lstrip()
    opened = rest.removeprefix(learned.content.open).lstrip()
    closed = opened.removeprefix(learned.content.close)
    return closed if rest != opened != closed else body


# -- two calls ---------------------------------------------------------------------


def _two_calls(body: str, end: TurnEnd) -> ToolSyntax | None:
    first = _find_call(body, CALLS[0], 0)
    second = _find_call(body, CALLS[1], first.end) if first is not None else None
    if first is None or second is None:
        return None
    before, after = body[: first.start], end.cut(body[second.end :])
    between = body[first.end : second.start]
    parts, head, second_head = _head(before, between)
    between = between.removesuffix(second_head)
    tail = common_prefix(between, after)
    syntax = ToolSyntax(
        call=_joined((*parts, *_same(first, second), tail)),
        arguments=first.arguments.form,
        start=before.removesuffix(head),
        end=after.removeprefix(tail),
        separator=between.removeprefix(tail),
        tagged=first.arguments.tagged,
    )
    return _tidy(syntax)


def _head(before: str, between: str) -> tuple[list[CallPart], str, str]:
    """Return a call's parts before its first slot, and their texts in both calls.

    Where the texts differ only in a number that counts the calls, that is a slot.
    """
    tail = common_suffix(before, between)
    one, other = before.removesuffix(tail), between.removesuffix(tail)
    counts = _LAST_NUMBER.search(one), _LAST_NUMBER.search(other)
    if counts[0] is None or counts[1] is None or not _follows(counts[1], counts[0]):
        return [tail], tail, tail
    lead = common_suffix(one[: counts[0].start()], other[: counts[1].start()])
    ends = [f"{lead}{count.group()}{tail}" for count in counts if count is not None]
    return [lead, Slot.INDEX, tail], ends[0], ends[1]


def _follows(second: re.Match[str], first: re.Match[str]) -> bool:
    return int(second.group()) == int(first.group()) + 1


def _same(first: _Written, second: _Written) -> tuple[CallPart, ...]:
    """Return the first call's parts, with a slot where the calls are counted."""
    parts: list[CallPart] = []
    for one, other in zip(first.parts, second.parts, strict=False):
        if isinstance(one, str) and isinstance(other, str) and one != other:
            parts += _counted(one, other)
        else:
            parts.append(one)
    return tuple(parts)


def _counted(one: str, other: str) -> list[CallPart]:
    start = common_prefix(one, other)
    end = common_suffix(one.removeprefix(start), other.removeprefix(start))
    return [start, Slot.INDEX, end]


# -- one call ----------------------------------------------------------------------


def _one_call(body: str, end: TurnEnd) -> ToolSyntax | None:
    written = _find_call(body, CALLS[0], 0)
    if written is None:
        return None
    tail = end.cut(body[written.end :])
    call = _joined((body[: written.start], *written.parts, tail))
    syntax = ToolSyntax(
        call=call,
        arguments=written.arguments.form,
        tagged=written.arguments.tagged,
        is_parallel=False,
    )
    return _tidy(syntax)


# -- parts -------------------------------------------------------------------------


def _find_call(body: str, call: Call, start: int) -> _Written | None:
    arguments = find_arguments(body, call, start)
    if arguments is None:
        return None
    name = body.rfind(call.name, start, arguments.start)
    if name < 0:
        return None
    places = [
        (name, name + len(call.name), Slot.NAME),
        (arguments.start, arguments.end, Slot.ARGUMENTS),
    ]
    other = CALLS[1] if call is CALLS[0] else CALLS[0]
    limit = body.find(other.name, arguments.end)
    id_place = body.find(call.id, start, limit if limit >= 0 else len(body))
    if id_place >= 0:
        places.append((id_place, id_place + len(call.id), Slot.ID))
    places.sort()
    parts: list[CallPart] = []
    for index, (begin, _, slot) in enumerate(places):
        if index:
            parts.append(body[places[index - 1][1] : begin])
        parts.append(slot)
    return _Written(tuple(parts), places[0][0], places[-1][1], arguments)


def _joined(parts: tuple[CallPart, ...]) -> tuple[CallPart, ...]:
    return tuple(part for part in parts if part)


def _tidy(syntax: ToolSyntax) -> ToolSyntax:
    """Return `syntax` without white space at the borders, which means nothing."""
    call = list(syntax.call)
    if isinstance(call[0], str):
        call[0] = call[0].lstrip()
    if isinstance(call[-1], str):
        call[-1] = call[-1].rstrip()
    return replace(
        syntax,
        call=_joined(tuple(call)),
        start=syntax.start.strip(),
        end=syntax.end.strip(),
        separator=syntax.separator.strip(),
        quotes_names=_quotes_names(syntax.call),
    )


def _quotes_names(call: tuple[CallPart, ...]) -> bool:
    place = call.index(Slot.NAME)
    before = call[place - 1] if place else ""
    after = call[place + 1] if place + 1 < len(call) else ""
    return (
        isinstance(before, str)
        and isinstance(after, str)
        and before.endswith('"')
        and re.match(r'"\s*[,:}]', after) is not None
    )
