"""Which part of a rendered turn the model itself writes. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from llamactypes.chat.learning.probes import ANSWER, Probes
from llamactypes.chat.learning.segments import (
    common_prefix,
    common_suffix,
    markers_in,
)
from llamactypes.chat.output.format import ChatFormat, Tags

__all__ = ("TurnEnd", "turn_end", "turn_header", "without_thinking", "written_turn")

_END_OF_CALLS = (
    "<|eom_id|>",
    "<|call|>",
    "<|calls|>",
    "<|tool_response>",
    "<｜hy_eos:opensource｜>",
)
"""End tokens that turns with calls end with, and no others."""


def turn_header(probes: Probes, turn: str, reasoning: Tags | None) -> str:
    """Return what stands before everything that the model writes in `turn`."""
    shared = [common_prefix(turn, each) for each in probes.generation_prompts]
    header = max(shared, key=len)
    if reasoning is None:
        return header
    # A prompt that always opens or closes the thinking.
    for tag in (reasoning.open, reasoning.close):
        if tag:
            header = header.partition(tag)[0]
    return header


def without_thinking(text: str, reasoning: Tags | None) -> str:
    """Return the beginning of a turn without the empty thinking that opens it."""
    if reasoning is None:
        return text
    rest = text.lstrip()
    if reasoning.open:
        rest = rest.removeprefix(reasoning.open).lstrip()
    return rest.removeprefix(reasoning.close).lstrip()


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """What ends a turn: the engine stops there, so no output has it."""

    answer_end: str
    """The text behind an answer."""
    markers: tuple[str, ...]

    def cut(self, text: str) -> str:
        """Return `text`, the end of a turn, without what ends the turn itself."""
        text = text.removesuffix(common_suffix(text, self.answer_end))
        places = [text.find(marker) for marker in self.markers]
        return text[: min((place for place in places if place >= 0), default=len(text))]


def turn_end(probes: Probes, learned: ChatFormat) -> TurnEnd:
    """Return what ends the turns of a template, as far as its format is known."""
    _, _, after = (probes.answer_with_tools or probes.answer).partition(ANSWER)
    if learned.content is not None:
        after = after.lstrip().removeprefix(learned.content.close)
    own = " ".join(learned.markers)
    found = (*markers_in(after), probes.eos_token, *_END_OF_CALLS)
    return TurnEnd(after, tuple(each for each in found if each and each not in own))


def written_turn(probes: Probes, form: ChatFormat, turn: str) -> str:
    """Return what the model wrote of `turn`, all that follows a question.

    Args:
        probes: Of the template.
        form: Of the template, whole.
        turn: Rendered by the template.
    """
    if form.prompted:
        body = turn.partition(form.prompted)[2]
    else:
        body = turn.removeprefix(turn_header(probes, turn, form.reasoning))
    return turn_end(probes, form).cut(body)
