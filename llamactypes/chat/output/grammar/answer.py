"""The grammar of a turn whose answer has a form. Pure text."""

from __future__ import annotations

from typing import Protocol

from llamactypes.chat.output.format import ChatFormat, Tags
from llamactypes.constraints.lark import LarkGrammar

__all__ = ("AnswerWriter", "answer_turn")


class AnswerWriter(Protocol):
    """Adds the form of an answer to a grammar and returns its expression."""

    def __call__(self, grammar: LarkGrammar, *, is_dense: bool = False) -> str:
        """See `OutputForm.write`."""


def answer_turn(
    format: ChatFormat, grammar: LarkGrammar, answer: str, *, in_reasoning: bool
) -> str:
    """Return the expression of thinking and then an answer, in the format's tags.

    Args:
        format: How the model writes.
        grammar: Where new rules go.
        answer: The expression of the answer.
        in_reasoning: The prompt ends inside the thinking.
    """
    turn = _AnswerTurn(format, grammar, answer)
    if in_reasoning or not format.prompted:
        return f"{turn.thinking(in_reasoning)} {turn.tagged('')}"
    first = turn.tagged(format.prompted)
    if format.reasoning is None:
        return first
    thinking = turn.closed(format.reasoning, format.prompted)
    return f"({thinking} {turn.tagged('')} | {first})"


class _AnswerTurn:
    def __init__(self, format: ChatFormat, grammar: LarkGrammar, answer: str) -> None:
        self._format = format
        self._grammar = grammar
        self._answer = answer

    def thinking(self, in_reasoning: bool) -> str:
        tags = self._format.reasoning
        if tags is None or (not tags.open.strip() and not in_reasoning):
            return ""
        return self._grammar.thinking(tags.open, tags.close, in_reasoning=in_reasoning)

    def closed(self, tags: Tags, begun: str) -> str:
        """Return the expression of a text in tags, of which `begun` is there."""
        opened = f"{self._grammar.space()} {self._marker(tags.open, begun)}"
        return f"{opened} {self._grammar.until(tags.close)} {self._grammar.space()}"

    def tagged(self, begun: str) -> str:
        """Return the expression of the answer, in its tags where there are such.

        They may be missing, unless the prompt has begun the first one.
        """
        tags = self._format.content
        if tags is None or not tags.open.strip():
            return self._answer
        space = self._grammar.space()
        opened = f"{space} {self._marker(tags.open, begun)} {space}"
        close = tags.close.strip()
        closed = f"({space} {self._literal(close)})?" if close else ""
        if begun:
            return f"{opened} {self._answer} {closed}"
        return f"({opened} {self._answer} {closed} | {self._answer})"

    def _marker(self, text: str, begun: str) -> str:
        """Return the expression of what is left of `text`, or of what stands for it."""
        aliases = [written for written, meant in self._format.aliases if meant == text]
        left = [
            each[len(begun) :] for each in (text, *aliases) if each.startswith(begun)
        ]
        written = [self._literal(each.strip()) for each in left]
        return written[0] if len(written) == 1 else f"({' | '.join(written)})"

    def _literal(self, text: str) -> str:
        return self._grammar.literal(text, flexible_space=True)
