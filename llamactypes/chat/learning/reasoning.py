"""Learns where thinking and the answer begin and end in a model's turn. Pure."""

from __future__ import annotations

import re

from llamactypes.chat.learning.probes import ANSWER, CALLS, THOUGHT, Probes
from llamactypes.chat.learning.segments import (
    common_prefix,
    common_suffix,
    first_marker,
    last_marker,
)
from llamactypes.chat.learning.turns import turn_header, without_thinking
from llamactypes.chat.output.format import Tags

__all__ = ("learn_content", "learn_reasoning")

_TAG = re.compile(r"<[\w:|]{0,20}(?:think|thought)[\w:|]{0,20}>|\[THINK\]")
_CLOSING = (("<|START_", "<|END_"), ("<", "</"), ("[", "[/"))


def learn_reasoning(probes: Probes) -> Tags | None:
    """Return the tags around thinking, or None when the template shows none."""
    before, seen, after = probes.thought.partition(THOUGHT)
    between, answered, _ = after.partition(ANSWER)
    if seen and answered and between.strip():
        return _from_history(probes, before, between.strip())
    return _from_generation_prompt(probes) or _from_source(probes.source)


def _from_history(probes: Probes, before: str, between: str) -> Tags:
    close = first_marker(between) or between
    plain, _, _ = probes.answer.partition(ANSWER)
    if before.strip() != plain.strip():
        return Tags(_opening(before, plain, close), close)
    # Nothing of its own before the thinking: only the generation prompt may open it.
    longest = max(probes.generation_prompts, key=len)
    return Tags(longest.removeprefix(common_prefix(longest, before)).strip(), close)


def _opening(before: str, plain: str, close: str) -> str:
    opening = last_marker(before)
    if _closing(opening) == close:
        return opening
    return before.removeprefix(common_prefix(before, plain)).strip() or opening


def _from_generation_prompt(probes: Probes) -> Tags | None:
    header, _, _ = probes.answer.partition(ANSWER)
    for prompt in probes.generation_prompts:
        added = prompt.removeprefix(common_prefix(prompt, header)).strip()
        marker = first_marker(added)
        if "think" in marker.lower() and not marker.startswith(("</", "[/")):
            return Tags(marker, _closing(marker))
    return None


def _from_source(source: str) -> Tags | None:
    """Return the pair of tags that a template cuts out of earlier answers."""
    for opening in dict.fromkeys(_TAG.findall(source)):
        closing = _closing(opening)
        if closing != opening and closing in source:
            return Tags(opening, closing)
    return None


def _closing(opening: str) -> str:
    for start, end in _CLOSING:
        if opening.startswith(start):
            return end + opening.removeprefix(start)
    return opening


# -- the rest of the turn ----------------------------------------------------------


def learn_content(probes: Probes, reasoning: Tags | None) -> Tags | None:
    """Return the tags around answers, or None: most templates have none."""
    turn = probes.answer_with_tools or probes.answer
    body = turn.removeprefix(turn_header(probes, turn, reasoning))
    before, seen, after = body.partition(ANSWER)
    opening = without_thinking(before, reasoning).strip()
    if not seen or not opening:
        return None
    return Tags(opening, _content_close(probes, after))


def _content_close(probes: Probes, after: str) -> str:
    """Return the part of `after`, behind an answer, that is not the turn's end."""
    calls = probes.calls(CALLS[:1])
    end = common_suffix(after, calls) if calls else ""
    return after.removesuffix(end).strip() or first_marker(after)
