"""The grammar of the calls that a request's tools allow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from api.protocol.chat_tools import ToolUse
from api.protocol.invalid import InvalidRequest
from llamactypes.chat.output.format import ChatFormat
from llamactypes.chat.output.tool_choice import ToolChoice
from llamactypes.constraints.constraint import CompiledConstraint, Constraint
from llamactypes.errors import ConstraintError, ConstraintUnavailable

if TYPE_CHECKING:
    from llamactypes.engine import Engine

__all__ = ("tool_constraint",)

Tool = dict[str, Any]


def tool_constraint(
    engine: Engine, form: ChatFormat, use: ToolUse, in_thinking: bool
) -> CompiledConstraint | None:
    """Return what keeps calls well formed; None: there is nothing to call.

    Where the engine cannot constrain, free choice does without: what is no call is
    then content.

    Raises:
        InvalidRequest: A tool's parameters cannot be made a grammar of.
        ConstraintUnavailable: A call is required, and nothing can enforce it.
    """
    if not use.may_call or form.tools is None:
        return None
    grammar = _Grammar(engine, form, use, in_thinking)
    try:
        return grammar.compiled(use.tools, use.choice)
    except ConstraintUnavailable:
        if use.choice.mode == "required":
            raise
        return None
    except ConstraintError as error:
        raise grammar.refusal(error) from error


class _Grammar:
    """The grammar of one request's calls."""

    def __init__(
        self, engine: Engine, form: ChatFormat, use: ToolUse, in_thinking: bool
    ) -> None:
        self._engine = engine
        self._form = form
        self._use = use
        self._in_thinking = in_thinking

    def compiled(self, tools: Sequence[Tool], choice: ToolChoice) -> CompiledConstraint:
        """Return the compiled grammar of calls of `tools`."""
        from llamactypes.chat.output.tool_grammar import tool_grammar

        text = tool_grammar(
            self._form,
            tools,
            choice,
            is_parallel=self._use.is_parallel,
            in_reasoning=self._in_thinking,
            control_tokens=self._engine.vocab.control_tokens,
        )
        return self._engine.compile_constraint(Constraint(text, "tools"))

    def refusal(self, error: ConstraintError) -> InvalidRequest:
        """Return the error with the tool at fault, if it is one alone."""
        for index, tool in enumerate(self._use.tools):
            name = tool["function"]["name"]
            try:
                self.compiled([tool], ToolChoice("required"))
            except ConstraintError as alone:
                where = f"tools[{index}]"
                return InvalidRequest(f"{where} ('{name[:64]}'): {alone}", where)
        return InvalidRequest(f"tools: {error}", "tools")
