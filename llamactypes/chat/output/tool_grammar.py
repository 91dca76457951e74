"""The grammar of a whole output that may or must call tools. Pure text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from llamactypes.chat.output.format import ChatFormat, ToolSyntax
from llamactypes.chat.output.grammar.answer import AnswerWriter, answer_turn
from llamactypes.chat.output.grammar.arguments import ArgumentGrammar
from llamactypes.chat.output.grammar.json_calls import json_call
from llamactypes.chat.output.grammar.turn import Offer, TurnGrammar
from llamactypes.chat.output.tool_choice import ToolChoice
from llamactypes.constraints.lark import LarkGrammar
from llamactypes.errors import ConstraintError

__all__ = ("tool_grammar",)

_QUOTED_NAME = re.compile(r"[^\x00-\x20\x7f]{1,256}")
_BARE_NAME = re.compile(r"[^\x00-\x20\x7f<>\"'()\[\]{}\\]{1,256}")
"""Names without what may follow them. OpenAI allows letters, digits, _ and - only."""
_SCHEMA_PATH = "tools[{index}].function.parameters"


def tool_grammar(
    format: ChatFormat,
    tools: Sequence[Mapping[str, Any]],
    choice: ToolChoice,
    *,
    is_parallel: bool,
    in_reasoning: bool,
    control_tokens: Mapping[str, int],
    schema_path: str = _SCHEMA_PATH,
    answer: AnswerWriter | None = None,
) -> str:
    """Return the grammar of an output that calls `tools` as `choice` says.

    Thinking comes first and is free. With ``auto``, text is free up to the beginning of
    a call, which then must go on as one; with ``required``, the calls come at once.

    Args:
        format: How the model writes; it must have `ChatFormat.tools`.
        tools: In OpenAI's form, with ``function.name`` and ``function.parameters``.
        choice: Not ``none``, with which there is nothing to constrain.
        is_parallel: Whether there may be several calls. One tool that must be called is
            called once.
        in_reasoning: The prompt ends inside the thinking.
        control_tokens: Text to number.
        schema_path: Where the client finds the schema of tool number ``{index}``.
        answer: Adds the form of an answer to the grammar and returns its expression:
            with ``auto`` the output is calls, or that.

    Raises:
        ConstraintUnavailable: No grammar can say what these arguments hold.
        ConstraintError: The name or the schema of a tool cannot be honoured. The
            message names the tool, the path leads to what is wrong in it.
        ValueError: `format` has no tool syntax, or `choice` allows none of `tools`.
    """
    if format.tools is None:
        raise ValueError("a grammar of tool calls needs a tool syntax")
    if choice.mode == "required" and len(choice.names) == 1:
        is_parallel = False  # a small model would not stop
    grammar = LarkGrammar(control_tokens)
    arguments = ArgumentGrammar(grammar, format.tools)
    offered = [
        Offer(
            _name(tool, format.tools, schema_path.format(index=index)),
            arguments.of_tool(tool["function"], schema_path.format(index=index)),
        )
        for index, tool in enumerate(tools)
        if choice.allows(str(tool["function"]["name"]))
    ]
    if not offered:
        raise ValueError("a grammar of tool calls needs a tool that may be called")
    turn = TurnGrammar(format, format.tools, grammar, offered, is_parallel)
    if answer is not None and choice.mode != "required":
        functions = [tool["function"] for tool in tools]
        as_json = _json_calls(format.tools, functions, choice, is_parallel)
        if as_json:
            ways = " | ".join((answer(grammar, is_dense=True), *as_json))
            said = grammar.rule(ways)
            whole = answer_turn(format, grammar, said, in_reasoning=in_reasoning)
            return grammar.finish(whole)
        calls = turn.required(in_reasoning=in_reasoning)
        said = answer_turn(format, grammar, answer(grammar), in_reasoning=in_reasoning)
        return grammar.finish(f"{calls} | {said}")
    write = turn.required if choice.mode == "required" else turn.auto
    return grammar.finish(write(in_reasoning=in_reasoning))


def _json_calls(
    syntax: ToolSyntax,
    functions: Sequence[Mapping[str, Any]],
    choice: ToolChoice,
    is_parallel: bool,
) -> list[str]:
    """Return the expressions of calls that are JSON; none if they are not."""
    written = [
        json_call(syntax, function, is_parallel=is_parallel)
        for function in functions
        if choice.allows(str(function["name"]))
    ]
    return [call for call in written if call is not None]


def _name(tool: Mapping[str, Any], syntax: ToolSyntax, path: str) -> str:
    """Return the name of a tool whose schema is at `path`.

    Raises:
        ConstraintError: Calls in this syntax cannot have it.
    """
    name = str(tool["function"]["name"])
    allowed = _QUOTED_NAME if syntax.quotes_names else _BARE_NAME
    if allowed.fullmatch(name) is None:
        message = f"tool {name[:64]!r}: calls of this model cannot write this name"
        raise ConstraintError(message, f"{path.rpartition('.')[0]}.name")
    return name
