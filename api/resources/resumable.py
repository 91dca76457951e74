"""Requests that name their conversation: they go on without their connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import falcon

from api import sse
from api.context import ServingContext
from api.errors import JSON_TYPE, ClientGone
from api.protocol.invalid import InvalidRequest
from api.protocol.reply import ReplyFacts, unique_id
from api.resources.base import send_events
from api.streams.claims import claim_of
from api.streams.client import WAIT_SLICE_S, Client
from api.streams.log_body import LogBody
from api.streams.resumption import RESUMPTION, Resumption, request_record
from api.streams.session import Production, Session
from api.streams.stores.reading import ReadableLog
from api.streams.stores.store import Claim, Claimed
from llamactypes.engine import Generation, GenerationRequest

__all__ = (
    "CONVERSATION_HEADER",
    "answer_from",
    "attaching",
    "conversation_of",
    "has_claim",
    "identified",
    "resumable",
    "send_whole_log",
    "submitted",
)

CONVERSATION_HEADER = "X-Conversation-Id"
_CLAIM_HEADER = "Idempotency-Key"
_LONGEST_ID = 1024


def conversation_of(req: falcon.Request) -> str | None:
    """Return the id of the request's conversation; None: it has none.

    Raises:
        InvalidRequest: It is too long.
    """
    value = _header(req, CONVERSATION_HEADER)
    # WSGI hands header bytes over as latin-1; in a path and a query they are UTF-8.
    try:
        return value.encode("latin-1").decode() if value else None
    except UnicodeError:
        return value


def has_claim(req: falcon.Request) -> bool:
    """Whether the request may be sent again without being done twice."""
    return bool(req.get_header(_CLAIM_HEADER))


def _header(req: falcon.Request, name: str) -> str | None:
    value = req.get_header(name)
    if value and len(value) > _LONGEST_ID:
        raise InvalidRequest(
            f"{name} has {len(value)} characters; the limit is {_LONGEST_ID}", name
        )
    return value or None


def _claim(req: falcon.Request, body: dict[str, Any]) -> Claim | None:
    key = _header(req, _CLAIM_HEADER)
    return None if key is None else claim_of(key, req.path, body)


@contextmanager
def resumable(
    context: ServingContext,
    req: falcon.Request | None,
    resp: falcon.Response,
    *,
    is_stream: bool,
) -> Iterator[Session | None]:
    """Open the session of a request that is to go on without its connection.

    One that names its conversation, or has an idempotency key; no session for others,
    or when it is None. Whatever is raised before the session runs forgets it again.

    Raises:
        KeyBusy: The API key has too many.
        Claimed: The request was sent before; see `attaching`.
        ClaimConflict: Another request had its idempotency key.
    """
    session = None if req is None else _open(context, req, resp, is_stream)
    try:
        yield session
    except BaseException as error:
        if session is not None and not session.is_running:
            failure = error if isinstance(error, Exception) else ClientGone()
            context.streams.give_up(session, failure)
        raise


def submitted(
    context: ServingContext,
    req: falcon.Request,
    session: Session | None,
    requests: list[GenerationRequest],
) -> list[Generation]:
    """Return the generations of a request, queued; they may go on with earlier ones.

    Raises:
        KeyBusy: The API key has too many.
        LlamaError: What `Engine.submit_many` raises.
    """
    earlier = None if session is None else session.earlier
    if earlier is not None:
        requests = earlier.requests(requests)
    generations = context.key_limit.submit(
        req.context.key_index, requests, context.engine.submit_many
    )
    if earlier is not None:
        for index, generation in enumerate(generations):
            generation.put_before(earlier.deltas.get(index, ()))
    return generations


def identified(
    req: falcon.Request, session: Session | None, facts: ReplyFacts
) -> ReplyFacts:
    """Return the facts of a reply under the name that an earlier process gave it.

    The name of a new one is noted for a process after this.
    """
    if session is None:
        return facts
    if session.earlier is not None:
        facts = replace(facts, id=session.earlier.id, created=session.earlier.created)
    if session.log.journal.keeps_requests:
        path, body = req.path, req.context.body
        session.request = request_record(path, body, facts.id, facts.created)
    return facts


def _open(
    context: ServingContext, req: falcon.Request, resp: falcon.Response, is_stream: bool
) -> Session | None:
    earlier: Resumption | None = req.env.get(RESUMPTION)
    if earlier is not None:
        session = context.streams.resume(earlier.written)
        session.earlier = earlier
        session.progress = context.progress.of
        return session
    conversation_id = conversation_of(req)
    claim = _claim(req, req.context.body)
    if conversation_id is None and claim is None:
        return None
    if conversation_id is None:
        conversation_id = unique_id("stream_")
    session = context.streams.open(
        context.owner_of(req.context.key_index),
        conversation_id,
        sse.CONTENT_TYPE if is_stream else JSON_TYPE,
        whole=not is_stream,
        claim=claim,
    )
    _name(resp, conversation_id)
    session.progress = context.progress.of
    return session


def _name(resp: falcon.Response, conversation_id: str) -> None:
    """Tell where the answer can be read again."""
    resp.set_header(
        CONVERSATION_HEADER,
        conversation_id.encode("utf-8", "replace").decode("latin-1"),
    )


@contextmanager
def attaching(resp: falcon.Response, client: Client) -> Iterator[None]:
    """Answer a request that was sent before from what the first one fills."""
    claimed: Claimed | None = None
    try:
        yield
    except Claimed as error:
        claimed = error
    while claimed is not None:
        claimed = _answer_again(resp, claimed, client)


def _answer_again(
    resp: falcon.Response, claimed: Claimed, client: Client
) -> Claimed | None:
    """Answer from what was found; return what that in turn has found elsewhere."""
    _name(resp, claimed.conversation_id)
    try:
        if claimed.log.keeps_errors:
            send_whole_log(resp, claimed.log, client)
        else:
            _send_events_of(resp, claimed.log, client)
    except Claimed as elsewhere:
        return elsewhere
    return None


def answer_from(
    resp: falcon.Response, session: Session, client: Client, production: Production
) -> None:
    """Let the session run, and answer as its first reader.

    Raises:
        ClientGone: The client left; the session goes on.
        StreamStopped: The session was ended by another request.
        LlamaError: The generation failed before it began.
    """
    client.watch(production.generations)
    session.start(production)
    try:
        if production.error_event is None:
            send_whole_log(resp, session.log, client)
        else:
            _send_events_of(resp, session.log, client)
    except ClientGone:
        raise
    except Exception as error:
        raise session.why() or error from error


def _send_events_of(resp: falcon.Response, log: ReadableLog, client: Client) -> None:
    log.attach()  # who waits for a slot is a reader, too: it is no orphan
    try:
        while not log.wait_begun(WAIT_SLICE_S):
            if client.is_gone():
                raise ClientGone
        if not log.is_begun:
            raise log.error or ClientGone()
        send_events(resp, LogBody(log, client))
    finally:
        log.detach()


def send_whole_log(
    resp: falcon.Response, log: ReadableLog, client: Client, offset: int = 0
) -> int:
    """Answer with a body that is no stream, when it is there; return its length.

    Raises:
        ClientGone: The client left meanwhile.
        LlamaError: It failed.
    """
    log.attach()
    try:
        while not log.wait_done(WAIT_SLICE_S):
            if client.is_gone():
                raise ClientGone
    finally:
        log.detach()
    if log.error is not None:
        raise log.error
    resp.content_type = log.content_type
    resp.data = data = log.read_all()[offset:]
    return len(data)
