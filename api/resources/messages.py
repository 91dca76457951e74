"""Anthropic's routes: messages, and how many tokens they have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import falcon

from api.chat.plan import plan_chat, prompt_tokens
from api.errors import MessagesOverloaded
from api.protocol.messages.reply import MessageStream, message_reply
from api.protocol.messages.request import (
    read_message_conversation,
    read_message_form,
    read_message_options,
)
from api.resources.base import Resource, send_json
from api.resources.generating import Generating, Shape
from llamactypes.errors import EngineOverloaded

__all__ = ("CountMessageTokens", "Messages")


class Messages(Generating):
    """``POST /v1/messages``."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer a conversation."""
        with _anthropic_statuses():
            self._answer(req, resp)

    def _answer(self, req: falcon.Request, resp: falcon.Response) -> None:
        body = self._read_json(req)
        # Parameters first: they are cheap to refuse, a template is not cheap to render.
        facts = self._facts(
            read_message_options(body),
            (),
            id_prefix="msg_",
            form=read_message_form(body),
        )
        conversation = read_message_conversation(body, self._context.chat_defaults)
        plan = plan_chat(
            self._context,
            conversation,
            facts.options,
            schema_path="tools.{index}.input_schema",
        )
        stream = partial(MessageStream, request_id=req.context.request_id)
        shape = Shape(message_reply, stream)
        self._respond(req, resp, plan.added_to(facts), shape)


class CountMessageTokens(Resource):
    """``POST /v1/messages/count_tokens``."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer how long the prompt of a message is, without generating."""
        context = self._context
        body = self._read_json(req)
        conversation = read_message_conversation(body, context.chat_defaults)
        tokens = prompt_tokens(context, conversation)
        send_json(resp, {"input_tokens": len(tokens)})


@contextmanager
def _anthropic_statuses() -> Iterator[None]:
    """Give an error the status that Anthropic's API has for it."""
    try:
        yield
    except EngineOverloaded as error:
        raise MessagesOverloaded(str(error), error.retry_after_s) from error
