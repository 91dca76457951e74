"""One table from exceptions to HTTP replies; the only place that knows status codes.

Every error of the server is an OpenAI-shaped object, ``{"error": {"code", "message",
"type"}}`` with ``param`` where a parameter is at fault: a route that does not exist, a
body that is too large and an unexpected exception included. Below ``/v1/messages`` the
same errors have Anthropic's shape.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import falcon

from api.http.request_id import id_headers, request_name
from api.json_loader import dumps_bytes
from api.protocol.error_reply import ErrorReply
from api.protocol.invalid import InvalidRequest
from api.protocol.messages.error import OVERLOADED, anthropic_error, speaks_anthropic
from api.streams.ring import OffsetLost
from llamactypes.chat import MessageError
from llamactypes.errors import (
    AdapterError,
    ClosedError,
    ConstraintError,
    ConstraintUnavailable,
    EngineAsleep,
    EngineFailed,
    EngineLoading,
    EngineOverloaded,
    EngineStopped,
    InputTooLarge,
    KVCacheFull,
    NotFinite,
    NotServed,
    PromptTooLong,
    SamplingError,
    TemplateError,
    TokenizeError,
)

__all__ = (
    "JSON_TYPE",
    "ClientGone",
    "ConstraintBroken",
    "ContextLengthExceeded",
    "GenerationCancelled",
    "KeyBusy",
    "MessagesOverloaded",
    "NotAuthorized",
    "ReplayedError",
    "StreamInterrupted",
    "StreamSuspended",
    "ENGINE_FAILED",
    "describe",
    "install_error_handlers",
)

logger = logging.getLogger("llamactypes.api")

JSON_TYPE = "application/json; charset=utf-8"
CLIENT_CLOSED_REQUEST = "499 Client Closed Request"
"""Nobody reads this reply; the number is what proxies log for it."""

_RETRY_AFTER_S = 5

# Statuses that clients with a retry policy try again although it cannot help.
_HOPELESS = {"x-should-retry": "false"}

ENGINE_FAILED = "the engine failed and serves no more; the server's log has the reason"
"""The reason may hold a path, or the words of a library."""

_ASLEEP = (
    "the model was unloaded, for nobody needed it, and cannot be loaded again now; the "
    "server's log has the reason, and the next request tries once more"
)

_MESSAGES = {404: "File Not Found", 405: "Method Not Allowed"}


class ClientGone(Exception):  # noqa: N818 - not an error: the reader left
    """The client closed its connection; whatever runs for it was cancelled."""


class GenerationCancelled(Exception):  # noqa: N818 - what happened, not what failed
    """The generation was ended from outside before it was complete."""


class ConstraintBroken(ConstraintError):  # noqa: N818 - names what happened
    """A text could not go on as it must; what was written until then is not lost.

    Attributes:
        texts: Of all choices, as far as they came.
    """

    def __init__(self, error: ConstraintError, texts: Sequence[str]) -> None:
        super().__init__(str(error), error.path)
        self.texts = tuple(texts)


class ContextLengthExceeded(PromptTooLong):
    """A prompt that is too long, on a route that speaks OpenAI's language."""

    def __init__(self, n_prompt: int, n_ctx: int, param: str = "prompt") -> None:
        super().__init__(n_prompt, n_ctx)
        self.param = param


class MessagesOverloaded(EngineOverloaded):
    """A full queue, on a route that speaks Anthropic's language."""


class NotAuthorized(Exception):  # noqa: N818 - a refusal
    """The request carries no valid API key."""

    def __init__(self) -> None:
        super().__init__("Invalid API Key")


class KeyBusy(Exception):  # noqa: N818 - a refusal
    """The request's API key has as many generations as it may have."""

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class StreamInterrupted(Exception):  # noqa: N818 - what happened
    """The process that made a stream ended before the stream did."""

    def __init__(self) -> None:
        super().__init__(
            "the server that generated this ended in the middle: nothing follows, and "
            "nothing before is lost; send the request again for a whole answer"
        )


class StreamSuspended(EngineStopped):
    """The server stops, and the next one goes on with the stream."""

    def __init__(self) -> None:
        super().__init__(
            "the server is shutting down, and goes on with this when it is started "
            "again: come back then, by the conversation's id or the idempotency key"
        )


class ReplayedError(Exception):
    """An error as it was written down: all that clients may know of it."""

    def __init__(self, reply: ErrorReply) -> None:
        super().__init__(reply.message)
        self.reply = reply


def describe(error: BaseException, request_id: str = "-") -> ErrorReply:
    """Return the reply for any exception; the log gets what clients must not see."""
    for kind, explain in _TABLE:
        if isinstance(error, kind):
            return explain(error)
    logger.error(
        "unexpected %s in request %s", type(error).__name__, request_id, exc_info=error
    )
    return ErrorReply(500, "internal server error; see the log", headers=_HOPELESS)


def install_error_handlers(app: falcon.App[Any, Any]) -> None:
    """Answer every exception of `app` from the table."""
    app.add_error_handler(Exception, _handle)
    app.add_error_handler(falcon.HTTPError, _handle)
    app.add_error_handler(ClientGone, _handle_gone)


def _handle(
    req: falcon.Request, resp: falcon.Response, error: Exception, params: Any
) -> None:
    name = _request_id(req, resp)
    reply = describe(error, name)
    resp.status = falcon.code_to_http_status(reply.status)
    resp.content_type = JSON_TYPE
    resp.data = dumps_bytes(_body(req, reply))
    for name, value in reply.headers.items():
        resp.set_header(name, value)


def _request_id(req: falcon.Request, resp: falcon.Response) -> str:
    """Return the request's name; Falcon refuses some methods before anyone gave it."""
    name: str | None = getattr(req.context, "request_id", None)
    if name is None:
        name = req.context.request_id = request_name(req.get_header("X-Request-Id"))
        resp.set_headers(id_headers(req.path, name))
    return name


def _body(req: falcon.Request, reply: ErrorReply) -> dict[str, Any]:
    if speaks_anthropic(req.path):
        return anthropic_error(reply, req.context.request_id)
    return reply.body()


def _handle_gone(
    req: falcon.Request, resp: falcon.Response, error: Exception, params: Any
) -> None:
    resp.status = CLIENT_CLOSED_REQUEST
    resp.data = b""


# -- the table -------------------------------------------------------------------------


def _invalid(error: Any) -> ErrorReply:
    extra = {"param": error.param, "code": error.code}
    extra = {name: value for name, value in extra.items() if value is not None}
    return ErrorReply(error.status, error.message, error.kind, extra)


def _message(error: Any) -> ErrorReply:
    return ErrorReply(400, str(error), extra={"param": error.param})


def _template(error: Any) -> ErrorReply:
    return ErrorReply(400, str(error), extra={"param": "messages"})


def _sampling(error: Any) -> ErrorReply:
    return ErrorReply(400, f"Failed to initialize samplers: {error}")


def _bad_request(error: Any) -> ErrorReply:
    return ErrorReply(400, str(error))


def _adapters(error: Any) -> ErrorReply:
    return ErrorReply(400, str(error), extra={"param": "lora"})


def _too_long(error: Any) -> ErrorReply:
    return ErrorReply(
        400,
        str(error),
        "exceed_context_size_error",
        {
            "n_prompt_tokens": error.n_prompt_tokens,
            "n_ctx": error.n_ctx,
            "param": "prompt",
        },
    )


def _context_length(error: Any) -> ErrorReply:
    # OpenAI's SDKs show `code` as `error.code`, and programs wait for this word.
    reply = _too_long(error)
    extra = {"param": error.param, "code": "context_length_exceeded"}
    return replace(reply, extra={**reply.extra, **extra})


def _offset_lost(error: Any) -> ErrorReply:
    extra = {"param": "from", "first_offset": error.first}
    return ErrorReply(400, str(error), "offset_lost_error", extra)


def _too_large(error: Any) -> ErrorReply:
    return ErrorReply(400, str(error), extra={"param": "input"})


def _not_served(error: Any) -> ErrorReply:
    return ErrorReply(501, str(error), "not_supported_error")


def _constraint(error: Any) -> ErrorReply:
    extra = {"param": error.path} if error.path else {}
    return ErrorReply(400, str(error), extra=extra)


def _constraint_broken(error: Any) -> ErrorReply:
    reply = _constraint(error)
    return replace(reply, extra={**reply.extra, "partial": list(error.texts)})


def _unconstrained(error: Any) -> ErrorReply:
    return replace(_not_served(error), headers=_HOPELESS)


def _overloaded(error: Any) -> ErrorReply:
    wait_s = str(max(1, math.ceil(error.retry_after_s)))
    return ErrorReply(429, str(error), headers={"Retry-After": wait_s})


def _messages_overloaded(error: Any) -> ErrorReply:
    return replace(_overloaded(error), status=OVERLOADED)


def _unavailable(error: Any) -> ErrorReply:
    return ErrorReply(503, str(error), headers={"Retry-After": str(_RETRY_AFTER_S)})


def _loading(error: Any) -> ErrorReply:
    return ErrorReply(503, "Loading model", headers={"Retry-After": "1"})


def _failed(error: Any) -> ErrorReply:
    return ErrorReply(500, str(error), headers=_HOPELESS)


def _engine_failed(error: Any) -> ErrorReply:
    return ErrorReply(500, ENGINE_FAILED, headers=_HOPELESS)


def _asleep(error: Any) -> ErrorReply:
    return replace(_unavailable(error), message=_ASLEEP)


def _interrupted(error: Any) -> ErrorReply:
    extra = {"code": "stream_interrupted"}
    return ErrorReply(500, str(error), extra=extra, headers=_HOPELESS)


def _replayed(error: Any) -> ErrorReply:
    reply: ErrorReply = error.reply
    return reply


def _kv_full(error: Any) -> ErrorReply:
    return ErrorReply(500, f"Context size has been exceeded. ({error})")


def _unauthorized(error: Any) -> ErrorReply:
    return ErrorReply(401, str(error), headers={"WWW-Authenticate": "Bearer"})


def _http(error: Any) -> ErrorReply:
    status = error.status_code
    message = _MESSAGES.get(status) or error.description or error.title
    headers = error.headers or {}
    return ErrorReply(status, message, headers=dict(headers))


_TABLE: tuple[tuple[type[BaseException], Callable[[Any], ErrorReply]], ...] = (
    (InvalidRequest, _invalid),
    (MessageError, _message),
    (OffsetLost, _offset_lost),
    (NotAuthorized, _unauthorized),
    (ContextLengthExceeded, _context_length),
    (PromptTooLong, _too_long),
    (InputTooLarge, _too_large),
    (NotServed, _not_served),
    (ConstraintUnavailable, _unconstrained),
    (ConstraintBroken, _constraint_broken),
    (ConstraintError, _constraint),
    (AdapterError, _adapters),
    (NotFinite, _failed),
    (MessagesOverloaded, _messages_overloaded),
    (EngineOverloaded, _overloaded),
    (KeyBusy, _overloaded),
    (EngineLoading, _loading),
    (EngineAsleep, _asleep),
    (EngineStopped, _unavailable),
    (ClosedError, _unavailable),
    (EngineFailed, _engine_failed),
    (GenerationCancelled, _failed),
    (StreamInterrupted, _interrupted),
    (ReplayedError, _replayed),
    (SamplingError, _sampling),
    (TokenizeError, _bad_request),
    (TemplateError, _template),
    (KVCacheFull, _kv_full),
    (falcon.HTTPError, _http),
)
