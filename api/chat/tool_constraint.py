"""The grammar of the calls that a request's tools allow."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from api.json_loader import dumps
from api.protocol.chat.tools import ToolUse
from api.protocol.invalid import InvalidRequest, NotSupported
from llamactypes.chat.output.answer_grammar import answer_writer
from llamactypes.chat.output.format import ChatFormat
from llamactypes.chat.output.grammar.answer import AnswerWriter
from llamactypes.chat.output.tool_choice import ToolChoice
from llamactypes.chat.output.tool_grammar import tool_grammar
from llamactypes.constraints.constraint import CompiledConstraint, Constraint
from llamactypes.constraints.output_form import FormKind, OutputForm
from llamactypes.errors import ConstraintError, ConstraintUnavailable

if TYPE_CHECKING:
    from llamactypes.engine import Engine

__all__ = ("tool_constraint",)

Tool = dict[str, Any]


def tool_constraint(
    engine: Engine,
    form: ChatFormat,
    use: ToolUse,
    in_thinking: bool,
    schema_path: str,
    answer: OutputForm | None = None,
) -> CompiledConstraint | None:
    """Return what keeps calls well formed; None: there is nothing to call.

    Where the engine cannot constrain, free choice does without: what is no call is
    then content.

    Args:
        engine: What compiles it.
        form: How calls are written.
        use: The tools and the choice among them.
        in_thinking: The prompt ends inside the thinking.
        schema_path: Where the client finds the schema of tool number ``{index}``.
        answer: The form of an answer that is no call.

    Raises:
        InvalidRequest: A tool's parameters cannot be made a grammar of, or there is a
            grammar of the whole answer beside them.
        ConstraintUnavailable: A call is required, or one at most, and nothing can
            enforce it.
    """
    if not use.may_call:
        return None
    if answer is not None and answer.kind is not FormKind.SCHEMA:
        message = "Cannot use custom grammar constraints with tools."
        raise InvalidRequest(message, answer.parameter)
    if form.tools is None:
        if use.choice.mode == "required":
            raise NotSupported("tool_choice", "this template has no form for calls")
        return None
    grammar = _Grammar(engine, form, use, in_thinking, schema_path, answer)
    try:
        return grammar.compiled(use.tools, use.choice)
    except ConstraintUnavailable:
        if use.choice.mode == "required" or answer is not None or not use.is_parallel:
            raise
        return None
    except ConstraintError as error:
        raise grammar.refusal(error) from error


class _Grammar:
    """The grammar of one request's calls."""

    def __init__(
        self,
        engine: Engine,
        form: ChatFormat,
        use: ToolUse,
        in_thinking: bool,
        schema_path: str,
        answer: OutputForm | None,
    ) -> None:
        self._engine = engine
        self._form = form
        self._use = use
        self._in_thinking = in_thinking
        self._schema_path = schema_path
        self._answer = answer

    def compiled(self, tools: Sequence[Tool], choice: ToolChoice) -> CompiledConstraint:
        """Return the compiled grammar of calls of `tools`."""
        text = self._text(tools, choice)
        return self._engine.compile_constraint(Constraint(text, "tools"))

    def _text(self, tools: Sequence[Tool], choice: ToolChoice) -> str:
        control_tokens = self._engine.vocab.control_tokens
        asked = (self._use.is_parallel, self._in_thinking, self._schema_path)
        if self._answer is None:
            named = tuple(control_tokens.items())
            return _remembered(self._form, dumps(tools), choice, named, *asked)
        ends = tuple(self._engine.vocab.eog_tokens)
        answer = answer_writer(self._answer, control_tokens, ends)
        return _written(self._form, tools, choice, control_tokens, *asked, answer)

    def refusal(self, error: ConstraintError) -> InvalidRequest:
        """Return the error with the tool at fault, if it is one alone."""
        if error.path:  # its schema; the message says which tool's
            return InvalidRequest(str(error), error.path)
        for index, tool in enumerate(self._use.tools):
            name = tool["function"]["name"]
            try:
                self.compiled([tool], ToolChoice("required"))
            except ConstraintError as alone:
                where = self._schema_path.format(index=index)
                return InvalidRequest(f"the tool '{name[:64]}': {alone}", where)
        return InvalidRequest(f"tools: {error}", "tools")


@lru_cache(maxsize=32)
def _remembered(
    form: ChatFormat,
    tools: str,
    choice: ToolChoice,
    control_tokens: tuple[tuple[str, int], ...],
    is_parallel: bool,
    in_thinking: bool,
    schema_path: str,
) -> str:
    """Return the grammar of tools that are JSON.

    PERF: agents send the same hundred tools with every request; their grammar takes
    0.1 s to write.
    """
    known = dict(control_tokens)
    asked = (is_parallel, in_thinking, schema_path)
    return _written(form, json.loads(tools), choice, known, *asked)


def _written(
    form: ChatFormat,
    tools: Sequence[Tool],
    choice: ToolChoice,
    control_tokens: Mapping[str, int],
    is_parallel: bool,
    in_thinking: bool,
    schema_path: str,
    answer: AnswerWriter | None = None,
) -> str:
    return tool_grammar(
        form,
        tools,
        choice,
        is_parallel=is_parallel,
        in_reasoning=in_thinking,
        control_tokens=control_tokens,
        schema_path=schema_path,
        answer=answer,
    )
