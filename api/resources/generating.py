"""What every route that generates does with a request it has understood."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import falcon

from api.errors import describe
from api.json_loader import dumps_bytes
from api.output_constraint import constrained
from api.protocol.completion.echo import Echo
from api.protocol.invalid import InvalidRequest
from api.protocol.options import read_options
from api.protocol.prompt import detokenize
from api.protocol.reply import Choice, ReplyFacts, unique_id
from api.protocol.stream_format import StreamFormat
from api.resources.base import Resource, send_events, send_json
from api.resources.resumable import (
    answer_from,
    attaching,
    identified,
    resumable,
    submitted,
)
from api.streams.client import Client
from api.streams.event_stream import EventStream
from api.streams.reader import Reader, collect, wait_started
from api.streams.session import Production
from llamactypes.constraints.output_form import OutputForm
from llamactypes.engine import Generation

__all__ = ("Generating", "Shape")


@dataclass(frozen=True, slots=True)
class Shape:
    """How one route writes its replies."""

    reply: Callable[[ReplyFacts, Sequence[Choice]], Any]
    stream: Callable[[ReplyFacts], StreamFormat]
    shows_prompt: bool = False
    """Whether replies repeat the prompt, beyond the one under ``verbose``."""


class Generating(Resource):
    """Submits a request's generations and answers from them."""

    def _facts(
        self,
        body: dict[str, Any],
        prompts: Sequence[tuple[int, ...]],
        *,
        echoes: Sequence[Echo] = (),
        n_top_shown: int | None = None,
        id_prefix: str = "chatcmpl-",
        form: OutputForm | None = None,
    ) -> ReplyFacts:
        context = self._context
        info, vocab = context.engine.info, context.engine.vocab
        defaults = context.option_defaults
        return ReplyFacts(
            id=unique_id(id_prefix),
            created=int(time.time()),
            model=context.model_id,
            fingerprint=info.library,
            options=read_options(body, defaults, vocab, info.n_slots, form),
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
        shape: Shape,
    ) -> None:
        client = Client(req.env)
        with attaching(resp, client):
            self._start(req, resp, facts, shape, client)

    def _start(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        facts: ReplyFacts,
        shape: Shape,
        client: Client,
    ) -> None:
        options = constrained(self._context.engine, facts.options)
        facts = replace(facts, options=options)
        requests = options.requests(list(facts.prompts))
        _check_count(len(requests), self._context.engine.request_limit)
        is_stream = options.stream
        with resumable(self._context, req, resp, is_stream=is_stream) as session:
            facts = identified(req, session, facts)
            generations = submitted(self._context, req, session, requests)
            self._context.running.add(facts.id, generations)
            try:
                # While the engine works, and while it surely has its vocabulary: a
                # reply may be written after the engine was stopped.
                if shape.shows_prompt or facts.options.verbose:
                    facts = replace(facts, prompt_texts=self._prompt_texts(facts))
                if session is not None:
                    production = _production(generations, facts, shape)
                    answer_from(resp, session, client, production)
                elif is_stream:
                    wait_started(generations, client)
                    send_events(resp, _event_stream(generations, facts, shape, client))
                else:
                    choices = collect(generations, client)
                    send_json(resp, shape.reply(facts, choices))
            except BaseException:
                if session is None or not session.is_running:
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


def _event_stream(
    generations: Sequence[Generation], facts: ReplyFacts, shape: Shape, client: Client
) -> EventStream:
    interval_s = facts.options.sse_ping_interval_s
    return EventStream(generations, shape.stream(facts), client, interval_s)


def _production(
    generations: Sequence[Generation], facts: ReplyFacts, shape: Shape
) -> Production:
    """Return what fills the log of a session with this reply."""
    cancel = Reader(generations).cancel

    def stream(client: Client) -> Iterable[bytes]:
        return _event_stream(generations, facts, shape, client)

    def whole(client: Client) -> Iterable[bytes]:
        return (dumps_bytes(shape.reply(facts, collect(generations, client))),)

    def error_event(error: Exception) -> bytes:
        written = shape.stream(facts)
        return b"".join(map(written.encode, written.failure(describe(error))))

    if facts.options.stream:
        return Production(generations, stream, cancel, error_event)
    return Production(generations, whole, cancel, None)
