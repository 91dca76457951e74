"""OpenAI's Responses: answers that may be kept, continued, and made in background."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import falcon

from api.chat.plan import plan_chat, prompt_tokens
from api.errors import ClientGone
from api.json_loader import dumps_bytes
from api.protocol.invalid import InvalidRequest
from api.protocol.reply import ReplyFacts
from api.protocol.responses.request import ResponsesRequest, read_responses_request
from api.protocol.responses.writer import ResponseWriter
from api.resources.base import send_events, send_json
from api.resources.generating import Generating
from api.resources.responses_prompt import conversation_of, responses_errors
from api.resources.resumable import (
    answer_from,
    attaching,
    has_claim,
    identified,
    resumable,
    submitted,
)
from api.responses.run import Events, ResponseRun
from api.responses.store import StoredResponse, Turn
from api.responses.stream import ResponseStream, error_event
from api.streams.client import WAIT_SLICE_S, Client
from api.streams.reader import wait_started
from api.streams.session import Production, Session
from llamactypes.engine import Generation

__all__ = ("CountResponseTokens", "CreateResponse")


class _Asking(Generating):
    """Reads a request and what it continues."""

    def _read_request(
        self, body: dict[str, Any], owner: int | None
    ) -> tuple[ResponsesRequest, Turn]:
        context = self._context
        request = read_responses_request(
            body,
            lambda id: context.responses.find_item(owner, id),
            skip_tools=context.settings.responses_skip_tools,
        )
        return request, Turn(request.items, self._previous(request.previous_id, owner))

    def _previous(self, id: str | None, owner: int | None) -> Turn | None:
        if id is None:
            return None
        stored = self._context.responses.get(owner, id)
        if stored is None:
            raise InvalidRequest(
                f"Previous response with id '{id[:80]}' not found.",
                "previous_response_id",
                code="previous_response_not_found",
            )
        stored.run.pull(0.0)
        if not stored.run.is_ended:
            raise InvalidRequest(
                f"Previous response with id '{id[:80]}' is still in progress; wait "
                "until it has ended.",
                "previous_response_id",
            )
        return stored.ended_turn()


class CreateResponse(_Asking):
    """``POST /v1/responses``."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer a conversation, at once or in background."""
        client = Client(req.env)
        with responses_errors(), attaching(resp, client):
            self._answer(req, resp, client)

    def _answer(
        self, req: falcon.Request, resp: falcon.Response, client: Client
    ) -> None:
        owner = req.context.key_index
        body = self._read_json(req)
        # Parameters first: they are cheap to refuse, a template is not cheap to render.
        request, turn = self._read_request(body, owner)
        facts = self._facts(
            request.options,
            (),
            n_top_shown=request.n_top,
            id_prefix="resp_",
            form=request.form,
        )
        is_kept = self._may_keep(request, turn)
        conversation = conversation_of(self._context, request, turn.context())
        plan = plan_chat(
            self._context,
            conversation,
            facts.options,
            schema_path="tools[{index}].parameters",
        )
        facts = plan.added_to(facts)
        is_stream = facts.options.stream
        # In background only a stream is more than what can be fetched by its id.
        is_resumable = is_stream or not request.is_background or has_claim(req)
        with resumable(
            self._context, req if is_resumable else None, resp, is_stream=is_stream
        ) as session:
            facts = identified(req, session, facts)
            requests = facts.options.requests(list(facts.prompts))
            (generation,) = submitted(self._context, req, session, requests)
            client.watch([generation])
            try:
                if session is None and is_stream and not request.is_background:
                    wait_started([generation], client)
                run = self._run(generation, request, facts, is_kept, session)
                stored = StoredResponse(owner, run, turn, request.is_background)
                if request.is_background:
                    self._let_run(stored)
                if session is not None:
                    production = self._production(generation, stored, facts, is_kept)
                    answer_from(resp, session, client, production)
                elif is_stream:
                    self._keep(stored, is_kept)
                    send_events(resp, _body(run, facts, client))
                elif request.is_background:
                    send_json(resp, run.response())
                else:
                    send_json(resp, self._whole(stored, client, is_kept))
            except BaseException:
                if session is None or not session.is_running:
                    generation.cancel()
                raise

    def _production(
        self,
        generation: Generation,
        stored: StoredResponse,
        facts: ReplyFacts,
        is_kept: bool,
    ) -> Production:
        """Return what fills the log of a session with this response."""

        def stream(client: Client) -> Iterable[bytes]:
            self._keep(stored, is_kept)
            return _body(stored.run, facts, client)

        def whole(client: Client) -> Iterable[bytes]:
            if stored.is_background:
                return (dumps_bytes(stored.run.response()),)
            return (dumps_bytes(self._whole(stored, client, is_kept)),)

        cancel = stored.run.cancel
        if facts.options.stream:
            return Production([generation], stream, cancel, error_event)
        return Production([generation], whole, cancel, None)

    def _may_keep(self, request: ResponsesRequest, turn: Turn) -> bool:
        """Return whether the response will be found later."""
        if not request.is_stored:
            return False
        store = self._context.responses
        is_kept = not store.is_off and turn.n_bytes <= store.limits.n_bytes
        if request.is_background and not is_kept:
            reason = "keeps no responses" if store.is_off else "keeps no input so large"
            raise InvalidRequest(
                f"background mode: this server {reason} (--responses-store, "
                "--responses-store-mib)",
                "background",
            )
        return is_kept

    def _run(
        self,
        generation: Generation,
        request: ResponsesRequest,
        facts: ReplyFacts,
        is_kept: bool,
        session: Session | None,
    ) -> ResponseRun:
        shown = {
            **request.shown,
            "background": request.is_background,
            "previous_response_id": request.previous_id,
            "store": is_kept,
        }
        events = Events.ONCE if facts.options.stream else Events.NONE
        is_read_again = request.is_background or (session is not None and is_kept)
        return ResponseRun(
            generation,
            ResponseWriter(facts, shown),
            events=Events.KEPT if is_read_again else events,
            on_end=self._context.responses.settle,
        )

    def _let_run(self, stored: StoredResponse) -> None:
        """Let it be made in background; its events may be followed at once."""
        # In this order: a response must be there to be settled.
        self._context.responses.add(stored)
        stored.run.follow(self._context.settings.background_timeout_s)

    def _keep(self, stored: StoredResponse, is_kept: bool) -> None:
        """Keep a foreground response that wants it; one in background is kept."""
        if is_kept and not stored.is_background:
            self._context.responses.add(stored)

    def _whole(
        self, stored: StoredResponse, client: Client, is_kept: bool
    ) -> dict[str, Any]:
        """Wait for the end; return the response.

        Raises:
            ClientGone: The client left meanwhile.
            LlamaError: It failed.
        """
        run = stored.run
        while not run.is_ended:
            run.pull(WAIT_SLICE_S)
            if client.is_gone():
                raise ClientGone
        if run.error is not None:
            raise run.error
        if is_kept:
            self._context.responses.add(stored)
            self._context.responses.settle(run)
        return run.response()


def _body(run: ResponseRun, facts: ReplyFacts, client: Client) -> ResponseStream:
    return ResponseStream(run, client, facts.options.sse_ping_interval_s)


class CountResponseTokens(_Asking):
    """``POST /v1/responses/input_tokens``."""

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer how long the prompt of a response is, without generating."""
        with responses_errors():
            body = self._read_json(req)
            request, turn = self._read_request(body, req.context.key_index)
            conversation = conversation_of(self._context, request, turn.context())
            tokens = prompt_tokens(self._context, conversation)
        reply = {"object": "response.input_tokens", "input_tokens": len(tokens)}
        send_json(resp, reply)
