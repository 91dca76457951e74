"""The routes that generate: native completions, OpenAI completions, chat."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import falcon

from api.errors import ContextLengthExceeded
from api.protocol.chat import ChatStream, chat_reply
from api.protocol.completion import (
    completion_reply,
    read_echo,
    read_legacy_logprobs,
    refuse_legacy,
)
from api.protocol.conversation import read_conversation, read_logprobs
from api.protocol.echo import Echo, read_echoes
from api.protocol.echoed_stream import completion_stream
from api.protocol.fields import boolean
from api.protocol.native import NativeStream, native_reply
from api.protocol.prompt import read_prompts, with_bos
from api.resources.generating import Generating, Shape
from llamactypes.errors import PromptTooLong

__all__ = ("NATIVE", "ChatCompletion", "NativeCompletion", "TextCompletion")

NATIVE = Shape(native_reply, NativeStream, shows_prompt=True)
_TEXT = Shape(completion_reply, completion_stream)
_CHAT = Shape(chat_reply, ChatStream)


@contextmanager
def _openai_codes() -> Iterator[None]:
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


class TextCompletion(Generating):
    """``POST /v1/completions``: OpenAI's legacy format."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Complete every prompt."""
        with _openai_codes():
            self._complete(req, resp)

    def _complete(self, req: falcon.Request, resp: falcon.Response) -> None:
        body, n_top = read_legacy_logprobs(self._read_json(req))
        refuse_legacy(body)
        vocab = self._context.prompt_vocab
        prompts = read_prompts(body, vocab)
        echoes = read_echoes(body, prompts, vocab) if read_echo(body) else ()
        facts = self._facts(body, prompts, echoes=echoes, n_top_shown=n_top)
        if echoes and facts.options.sampling.n_probs:
            options = replace(facts.options, prompt_logprobs=True)
            facts = replace(facts, options=options)
        self._respond(req, resp, facts, _TEXT)


class ChatCompletion(Generating):
    """``POST /v1/chat/completions``."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer a conversation."""
        with _openai_codes():
            self._answer(req, resp)

    def _answer(self, req: falcon.Request, resp: falcon.Response) -> None:
        body, n_top = read_logprobs(self._read_json(req))
        context = self._context
        conversation = read_conversation(body, context.chat_defaults)
        # Parameters first: they are cheap to refuse, a template is not cheap to render.
        is_echoed = boolean(body, "echo", False)
        facts = self._facts(body, (), n_top_shown=n_top)
        text = context.prompts.render(conversation)
        prompt = tuple(with_bos(text, context.prompt_vocab))
        echo = (Echo(conversation.prefill or ""),) if is_echoed else ()
        self._respond(req, resp, replace(facts, prompts=(prompt,), echoes=echo), _CHAT)
