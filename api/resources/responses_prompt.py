"""From the items of a response to the conversation that they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from api.chat.plan import prompt_tokens
from api.context import ServingContext
from api.errors import ContextLengthExceeded
from api.protocol.chat.conversation import Conversation, read_conversation
from api.protocol.invalid import InvalidRequest
from api.protocol.responses.items import Item
from api.protocol.responses.messages import chat_messages, shortened
from api.protocol.responses.request import ResponsesRequest
from llamactypes.chat import MessageError
from llamactypes.errors import PromptTooLong, TemplateError

__all__ = ("conversation_of", "responses_errors")

Messages = list[dict[str, Any]]


def conversation_of(
    context: ServingContext, request: ResponsesRequest, items: Sequence[Item]
) -> Conversation:
    """Return the conversation that `items` make, the oldest first.

    With ``truncation: "auto"`` the oldest messages are left out until the rest leaves
    room for an answer; the last turn is never left out.
    """
    messages = chat_messages(items, request.instructions)
    if not request.is_truncating:
        return _conversation(context, request, messages)
    n_most = _room_for_prompt(request, context.engine.info.n_ctx_slot)
    choices = shortened(messages)
    first, last = 0, len(choices) - 1
    while first < last:
        middle = (first + last) // 2
        if _fits(context, request, choices[middle], n_most):
            last = middle
        else:
            first = middle + 1
    return _conversation(context, request, choices[first])


def _room_for_prompt(request: ResponsesRequest, n_ctx: int) -> int:
    """Return the most tokens a prompt may have so that an answer finds room, too."""
    wanted = request.n_output
    n_answer = n_ctx // 4 if wanted is None or wanted < 0 else wanted
    return n_ctx - min(n_answer, n_ctx // 2) - 1


def _fits(
    context: ServingContext, request: ResponsesRequest, messages: Messages, n_most: int
) -> bool:
    try:
        conversation = _conversation(context, request, messages)
        return len(prompt_tokens(context, conversation)) <= n_most
    except PromptTooLong:
        return False


def _conversation(
    context: ServingContext, request: ResponsesRequest, messages: Messages
) -> Conversation:
    body = {**request.chat, "messages": messages}
    return read_conversation(body, context.chat_defaults)


@contextmanager
def responses_errors() -> Iterator[None]:
    """Give an error the parameter and the code that this API has for it."""
    try:
        yield
    except PromptTooLong as error:
        raise ContextLengthExceeded(
            error.n_prompt_tokens, error.n_ctx, "input"
        ) from error
    except (MessageError, TemplateError) as error:
        raise InvalidRequest(str(error), "input") from error
    except InvalidRequest as error:
        if not (error.param or "").startswith("messages"):
            raise
        raise InvalidRequest(error.message, "input") from error
