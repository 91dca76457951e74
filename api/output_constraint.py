"""From the form that an answer must have to what the engine holds it to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from api.protocol.options import CompletionOptions
from llamactypes.chat.output.answer_grammar import answer_grammar
from llamactypes.chat.output.format import ChatFormat
from llamactypes.constraints.constraint import Constraint
from llamactypes.constraints.output_form import FormKind, OutputForm, form_grammar
from llamactypes.constraints.schemas.fault import with_path
from llamactypes.errors import ConstraintError, ConstraintUnavailable

if TYPE_CHECKING:
    from llamactypes.engine import Engine

__all__ = ("constrained", "constrained_answer")


def constrained(engine: Engine, options: CompletionOptions) -> CompletionOptions:
    """Return the options of a plain completion, held to its form.

    Raises:
        ConstraintError: The form cannot be honoured.
        ConstraintUnavailable: None can be, by this server.
    """
    form = options.form
    if form is None or options.constraint is not None:
        return options
    vocab = engine.vocab
    text = form_grammar(form, vocab.control_tokens, tuple(vocab.eog_tokens))
    return _held_to(engine, options, form, text)


def constrained_answer(
    engine: Engine, options: CompletionOptions, format: ChatFormat, in_reasoning: bool
) -> CompletionOptions:
    """Return the options of a chat, whose answer is held to its form after thinking.

    Raises:
        ConstraintError: The form cannot be honoured.
        ConstraintUnavailable: None can be, by this server.
    """
    form = options.form
    if form is None:
        return options
    vocab = engine.vocab
    text = answer_grammar(
        format,
        form,
        in_reasoning=in_reasoning,
        control_tokens=vocab.control_tokens,
        end_tokens=tuple(vocab.eog_tokens),
    )
    return _held_to(engine, options, form, text)


def _held_to(
    engine: Engine, options: CompletionOptions, form: OutputForm, text: str
) -> CompletionOptions:
    try:
        compiled = engine.compile_constraint(Constraint(text, form.parameter))
    except ConstraintUnavailable:
        raise
    except ConstraintError as error:
        raise _located(engine, form, error) from error
    return replace(options, constraint=compiled)


def _located(
    engine: Engine, form: OutputForm, error: ConstraintError
) -> ConstraintError:
    """Return the compiler's error with what part of the request it is about."""
    if form.kind is not FormKind.SCHEMA:
        return ConstraintError(str(error), form.parameter)

    def compile(text: str) -> object:
        return engine.compile_constraint(Constraint(text, form.parameter))

    return with_path(error, form.value, form.parameter, compile)
