"""The routes that generate: native completions, OpenAI completions, chat."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import falcon

from api import sse
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
from api.protocol.invalid import InvalidRequest
from api.protocol.native import NativeStream, native_reply
from api.protocol.options import read_options
from api.protocol.prompt import detokenize, read_prompts, with_bos
from api.protocol.reply import Choice, ReplyFacts, unique_id
from api.resources.base import Resource, send_json
from api.streams.client import Client
from api.streams.event_stream import EventStream, StreamFormat
from api.streams.reader import Reader, collect, wait_started
from llamactypes.engine import Generation
from llamactypes.errors import PromptTooLong

__all__ = ("ChatCompletion", "NativeCompletion", "TextCompletion")


@dataclass(frozen=True, slots=True)
class _Shape:
    """How one route writes its replies."""

    reply: Callable[[ReplyFacts, Sequence[Choice]], Any]
    stream: Callable[[ReplyFacts], StreamFormat]
    shows_prompt: bool = False
    """Whether replies repeat the prompt, beyond the one under ``verbose``."""


_NATIVE = _Shape(native_reply, NativeStream, shows_prompt=True)
_TEXT = _Shape(completion_reply, completion_stream)
_CHAT = _Shape(chat_reply, ChatStream)


class _Generating(Resource):
    """Submits a request's generations and answers from them."""

    def _facts(
        self,
        body: dict[str, Any],
        prompts: Sequence[tuple[int, ...]],
        *,
        echoes: Sequence[Echo] = (),
        n_top_shown: int | None = None,
    ) -> ReplyFacts:
        context = self._context
        info, vocab = context.engine.info, context.engine.vocab
        return ReplyFacts(
            id=unique_id("chatcmpl-"),
            created=int(time.time()),
            model=context.model_id,
            fingerprint=info.library,
            options=read_options(body, context.option_defaults, vocab, info.n_slots),
            prompts=prompts,
            eog_tokens=vocab.eog_tokens,
            n_top_shown=n_top_shown,
            echoes=echoes,
        )

    def _respond(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        facts: ReplyFacts,
        shape: _Shape,
    ) -> None:
        client = Client(req.env)
        requests = facts.options.requests(list(facts.prompts))
        _check_count(len(requests), self._context.engine.request_limit)
        generations = self._context.key_limit.submit(
            req.context.key_index, requests, self._context.engine.submit_many
        )
        try:
            # While the engine works, and while it surely has its vocabulary: a reply
            # may be written after the engine was stopped.
            if shape.shows_prompt or facts.options.verbose:
                facts = replace(facts, prompt_texts=self._prompt_texts(facts))
            if facts.options.stream:
                wait_started(generations, client)
                _start_stream(resp, generations, facts, shape, client)
            else:
                choices = collect(generations, client)
                send_json(resp, shape.reply(facts, choices))
        except BaseException:
            Reader(generations).cancel()
            raise

    def _prompt_texts(self, facts: ReplyFacts) -> list[str]:
        vocab = self._context.engine.vocab
        return [detokenize(prompt, vocab) for prompt in facts.prompts]


def _check_count(n_requests: int, limit: int) -> None:
    """Refuse what no waiting could make possible, before it is called overload."""
    if n_requests > limit:
        raise InvalidRequest(
            f"{n_requests} completions in one request; this server holds at most "
            f"{limit} at a time: send fewer prompts",
            "prompt",
        )


@contextmanager
def _openai_codes() -> Iterator[None]:
    """Give an error the code that OpenAI's API has a word for."""
    try:
        yield
    except PromptTooLong as error:
        raise ContextLengthExceeded(error.n_prompt_tokens, error.n_ctx) from error


def _start_stream(
    resp: falcon.Response,
    generations: list[Generation],
    facts: ReplyFacts,
    shape: _Shape,
    client: Client,
) -> None:
    resp.content_type = sse.CONTENT_TYPE
    resp.set_header("Cache-Control", "no-cache, no-transform")
    resp.set_header("X-Accel-Buffering", "no")
    interval_s = facts.options.sse_ping_interval_s
    stream = EventStream(generations, shape.stream(facts), client, interval_s)
    # The last statement of a responder: Falcon drops a stream without closing it when
    # anything raises after this.
    resp.stream = stream


class NativeCompletion(_Generating):
    """``POST /completion``: llama-server's own format."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Complete every prompt."""
        body = self._read_json(req)
        prompts = read_prompts(body, self._context.prompt_vocab)
        self._respond(req, resp, self._facts(body, prompts), _NATIVE)


class TextCompletion(_Generating):
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


class ChatCompletion(_Generating):
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
