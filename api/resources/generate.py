"""The routes that generate: native completions and chat."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import falcon

from api.chat.plan import plan_chat
from api.errors import ContextLengthExceeded
from api.protocol.chat.conversation import (
    read_conversation,
    read_logprobs,
    without_reading,
)
from api.protocol.chat.reply import ChatStream, chat_reply
from api.protocol.completion.echo import Echo
from api.protocol.completion.native import NativeStream, native_reply
from api.protocol.fields import boolean
from api.protocol.prompt import read_prompts
from api.resources.generating import Generating, Shape
from llamactypes.errors import PromptTooLong

__all__ = ("NATIVE", "ChatCompletion", "NativeCompletion", "openai_codes")

NATIVE = Shape(native_reply, NativeStream, shows_prompt=True)
_CHAT = Shape(chat_reply, ChatStream)


@contextmanager
def openai_codes() -> Iterator[None]:
    """Give an error the code that OpenAI's API has a word for."""
    try:
        yield
    except PromptTooLong as error:
        raise ContextLengthExceeded(error.n_prompt_tokens, error.n_ctx) from error


class NativeCompletion(Generating):
    """``POST /completion``: llama-server's own format."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Complete every prompt."""
        body = self._read_json(req)
        prompts = read_prompts(body, self._context.prompt_vocab)
        self._respond(req, resp, self._facts(body, prompts), NATIVE)


class ChatCompletion(Generating):
    """``POST /v1/chat/completions``."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer a conversation."""
        with openai_codes():
            self._answer(req, resp)

    def _answer(self, req: falcon.Request, resp: falcon.Response) -> None:
        body, n_top = read_logprobs(self._read_json(req))
        context = self._context
        conversation = read_conversation(body, context.chat_defaults)
        # Parameters first: they are cheap to refuse, a template is not cheap to render.
        is_echoed = boolean(body, "echo", False)
        facts = self._facts(without_reading(body), (), n_top_shown=n_top)
        plan = plan_chat(context, conversation, facts.options)
        echo = (Echo(conversation.prefill or ""),) if is_echoed else ()
        facts = replace(plan.added_to(facts, is_chat=True), echoes=echo)
        self._respond(req, resp, facts, _CHAT)
