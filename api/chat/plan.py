"""What one conversation asks of the engine, and how its answer is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from api.chat.formats import (
    format_of,
    has_thought,
    marker_tokens,
    said_in,
)
from api.chat.thinking_limit import thinking_limit
from api.chat.tool_constraint import tool_constraint
from api.output_constraint import constrained_answer
from api.protocol.chat.conversation import Conversation
from api.protocol.invalid import InvalidRequest
from api.protocol.options import CompletionOptions
from api.protocol.prompt import chat_tokens
from api.protocol.reading import PLAIN, Reading
from api.protocol.reply import ReplyFacts
from llamactypes.chat.learning import in_reasoning
from llamactypes.chat.output.format import ChatFormat
from llamactypes.constraints.output_form import FormKind, OutputForm
from llamactypes.errors import ConstraintError

if TYPE_CHECKING:
    from api.context import ServingContext

__all__ = ("ChatPlan", "plan_chat", "prompt_tokens")

_SCHEMA_PATH = "tools[{index}].function.parameters"
"""Where a chat request has the schema of a tool."""


@dataclass(frozen=True, slots=True)
class ChatPlan:
    """A conversation, ready to be answered."""

    prompt: tuple[int, ...]
    reading: Reading
    options: CompletionOptions
    """The request's, with what the conversation adds."""

    def added_to(self, facts: ReplyFacts, *, is_chat: bool = False) -> ReplyFacts:
        """Return `facts` of the request with its prompt, options and reading.

        Args:
            facts: Of the request.
            is_chat: Thinking may be content, too; else it has a place of its own.
        """
        reading = self.reading
        if not is_chat:
            reading = replace(reading, keeps_thinking=False)
        return replace(
            facts, prompts=(self.prompt,), options=self.options, reading=reading
        )


def plan_chat(
    context: ServingContext,
    conversation: Conversation,
    options: CompletionOptions,
    *,
    schema_path: str = _SCHEMA_PATH,
) -> ChatPlan:
    """Render a conversation and find out what its answer may be.

    Args:
        context: The server.
        conversation: What to answer.
        options: The request's other parameters.
        schema_path: Where the client finds the schema of tool number ``{index}``.

    Raises:
        MessageError: The messages are malformed.
        TemplateError: The template refused the conversation.
        InvalidRequest: A tool cannot be honoured.
        ConstraintUnavailable: A call is required, and nothing can enforce it.
    """
    prompt = context.prompts.prompt(conversation)
    form = format_of(context.prompts.template_of(conversation))
    prefill = conversation.prefill or ""
    begun = conversation.continuation
    in_thinking = in_reasoning(prompt.text, form, prefill) or (
        begun is not None and begun.in_thinking
    )
    control_tokens = context.engine.vocab.control_tokens
    # Behind content that is there already no thinking begins.
    prefill = "" if in_thinking else said_in(prefill, form.reasoning)
    is_over = bool(prefill) or has_thought(prompt.text, form)
    written = replace(form, reasoning=None) if is_over else form
    beside = _answer_beside_calls(context, options)
    constraint = tool_constraint(
        context.engine,
        written,
        conversation.tool_use,
        in_thinking,
        schema_path,
        beside,
    )
    if constraint is not None:
        options = replace(options, constraint=constraint)
    else:
        written = ChatFormat() if prefill else written
        options = constrained_answer(context.engine, options, written, in_thinking)
    if constraint is None or beside is not None:
        options = _behind(options, prefill)
    preserved = marker_tokens(form, control_tokens) | options.preserved_tokens
    reading = _reading(form, conversation, in_thinking, constraint is not None)
    vocab, asked = context.engine.vocab, conversation.thinking
    limit = thinking_limit(
        vocab, form, asked, in_thinking=in_thinking, prompt=prompt.text
    )
    return ChatPlan(
        chat_tokens(prompt.pieces, context.prompt_vocab),
        reading,
        replace(options, preserved_tokens=preserved, thinking=limit),
    )


def _behind(options: CompletionOptions, prefill: str) -> CompletionOptions:
    """Return the options of an answer of which `prefill` is there already.

    As in llama-server, a schema is the whole answer's; a grammar only what is new's.

    Raises:
        InvalidRequest: No answer of this form begins so.
    """
    form, constraint = options.form, options.constraint
    if not prefill or form is None or form.kind is not FormKind.SCHEMA:
        return options
    if constraint is None:
        return options
    try:
        return replace(options, constraint=constraint.behind(prefill))
    except ConstraintError as error:
        message = (
            "the last message of the assistant is no beginning of an answer that "
            f"{form.parameter} allows: {error}"
        )
        raise InvalidRequest(message, "messages") from error


def _answer_beside_calls(
    context: ServingContext, options: CompletionOptions
) -> OutputForm | None:
    """Return the form of what is no call; a grammar of the server's flags is none."""
    form = options.form
    is_own = form is not None and form is not context.option_defaults.form
    if is_own or (form is not None and form.kind is FormKind.SCHEMA):
        return form
    return None


def prompt_tokens(
    context: ServingContext, conversation: Conversation
) -> tuple[int, ...]:
    """Return the prompt of a conversation, which will not be answered."""
    pieces = context.prompts.prompt(conversation).pieces
    return chat_tokens(pieces, context.prompt_vocab)


def _reading(
    form: ChatFormat,
    conversation: Conversation,
    in_thinking: bool,
    is_constrained: bool,
) -> Reading:
    if conversation.skip_parsing:
        return PLAIN
    if conversation.reasoning_format == "none":
        form, in_thinking = replace(form, reasoning=None), False
    use = conversation.tool_use
    return Reading(
        form,
        in_thinking,
        is_continuation=conversation.continuation is not None,
        with_tools=use.is_parsed and form.tools is not None,
        streams_arguments=is_constrained,
        schemas=use.schemas,
        keeps_thinking=conversation.reasoning_format == "deepseek-legacy",
    )
