"""Requests that name their conversation: they go on without their connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import falcon

from api import sse
from api.context import ServingContext
from api.errors import JSON_TYPE, ClientGone
from api.protocol.invalid import InvalidRequest
from api.resources.base import send_events
from api.streams.client import WAIT_SLICE_S, Client
from api.streams.log_body import LogBody
from api.streams.session import Production, Session

__all__ = ("answer_from", "conversation_of", "resumable")

_HEADER = "X-Conversation-Id"
_LONGEST_ID = 1024


def conversation_of(req: falcon.Request) -> str | None:
    """Return the id of the request's conversation; None: it has none.

    Raises:
        InvalidRequest: It is too long.
    """
    value = req.get_header(_HEADER)
    if not value:
        return None
    if len(value) > _LONGEST_ID:
        raise InvalidRequest(
            f"{_HEADER} has {len(value)} characters; the limit is {_LONGEST_ID}",
            _HEADER,
        )
    # WSGI hands header bytes over as latin-1; in a path and a query they are UTF-8.
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


@contextmanager
def resumable(
    context: ServingContext, req: falcon.Request | None, *, is_stream: bool
) -> Iterator[Session | None]:
    """Open the session of a request that names its conversation, unless it is None.

    Whatever is raised before the session runs forgets it again.

    Raises:
        KeyBusy: The API key has too many.
    """
    conversation_id = None if req is None else conversation_of(req)
    if req is None or conversation_id is None:
        yield None
        return
    content_type = sse.CONTENT_TYPE if is_stream else JSON_TYPE
    session = context.streams.open(
        req.context.key_index, conversation_id, content_type, whole=not is_stream
    )
    try:
        yield session
    except BaseException as error:
        if not session.is_running:
            failure = error if isinstance(error, Exception) else ClientGone()
            context.streams.give_up(session, failure)
        raise


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
    if production.error_event is None:
        _answer_whole(resp, session, client)
        return
    log = session.log
    while not log.wait_begun(WAIT_SLICE_S):
        if client.is_gone():
            raise ClientGone
    if not log.is_begun:
        raise session.why() or ClientGone()
    send_events(resp, LogBody(log, client))


def _answer_whole(resp: falcon.Response, session: Session, client: Client) -> None:
    log = session.log
    log.attach()
    try:
        while not log.wait_done(WAIT_SLICE_S):
            if client.is_gone():
                raise ClientGone
    finally:
        log.detach()
    failure = session.why()
    if failure is not None:
        raise failure
    resp.content_type = log.content_type
    resp.data = log.read_all()
