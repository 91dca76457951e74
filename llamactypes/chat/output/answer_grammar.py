"""The grammar of a whole output whose answer has a form. Pure text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from llamactypes.chat.output.format import ChatFormat
from llamactypes.chat.output.grammar.answer import AnswerWriter, answer_turn
from llamactypes.constraints.lark import LarkGrammar
from llamactypes.constraints.output_form import OutputForm

__all__ = ("answer_grammar", "answer_writer")


def answer_writer(
    form: OutputForm, control_tokens: Mapping[str, int], end_tokens: tuple[int, ...]
) -> AnswerWriter:
    """Return what adds `form` to a grammar and returns its expression."""

    def write(grammar: LarkGrammar, *, is_dense: bool = False) -> str:
        return form.write(grammar, control_tokens, end_tokens, is_dense=is_dense)

    return write


def answer_grammar(
    format: ChatFormat,
    form: OutputForm,
    *,
    in_reasoning: bool,
    control_tokens: Mapping[str, int],
    end_tokens: tuple[int, ...] = (),
) -> str:
    """Return the grammar of an output whose answer is `form`.

    Thinking comes first and is free. A grammar that speaks of the tags of thinking
    itself holds from the first token on.

    Args:
        format: How the model writes.
        form: The answer's.
        in_reasoning: The prompt ends inside the thinking.
        control_tokens: Text to number.
        end_tokens: What ends a text.

    Raises:
        ConstraintError: The form cannot be honoured.
    """
    tags = format.reasoning
    if tags and any(
        form.mentions(tag, control_tokens) for tag in (tags.open, tags.close)
    ):
        format, in_reasoning = replace(format, reasoning=None), False
    grammar = LarkGrammar(control_tokens)
    answer = form.write(grammar, control_tokens, end_tokens)
    return grammar.finish(
        answer_turn(format, grammar, answer, in_reasoning=in_reasoning)
    )
