"""What waitress refuses before the app sees it, in the shape of every other error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from waitress.channel import HTTPChannel
from waitress.task import ErrorTask

from api.errors import JSON_TYPE
from api.json_loader import dumps_bytes
from api.protocol.anthropic_error import OVERLOADED, anthropic_error, speaks_anthropic
from api.protocol.error_reply import ErrorReply

__all__ = ("BODY_SLACK_BYTES", "Channel")

BODY_SLACK_BYTES = 1 << 20
"""waitress lets this much more in than the app, which has the better words for it."""
_RETRY_AFTER_S = "1"


class _Refusal(ErrorTask):
    """Answers a request that is malformed, too large or failed outside of the app."""

    def execute(self) -> None:
        """Write status and JSON; the connection ends."""
        request: Any = self.request
        error = request.error
        self.status, body = self._answer(error, getattr(request, "path", ""))
        self.response_headers = [("Content-Type", JSON_TYPE)]
        if error.code == 429:
            self.response_headers.append(("Retry-After", _RETRY_AFTER_S))
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)

    def _answer(self, error: Any, path: str) -> tuple[str, bytes]:
        """Return status and body; what is no HTTP has no path."""
        status = f"{error.code} {error.reason}"
        reply = ErrorReply(error.code, self._message(error))
        if not speaks_anthropic(path):
            return status, dumps_bytes(reply.body())
        if error.code == 429:
            status = f"{OVERLOADED} Overloaded"
            reply = replace(reply, status=OVERLOADED)
        return status, dumps_bytes(anthropic_error(reply, None))

    def _message(self, error: Any) -> str:
        settings = self.channel.adj
        match error.code:
            case 413:
                limit = settings.max_request_body_size - BODY_SLACK_BYTES
                return f"the request body is too large; the limit is {limit} bytes"
            case 431:
                limit = settings.max_request_header_size
                return (
                    f"the request's headers are too large; the limit is {limit} bytes"
                )
            case 429:
                return (
                    "the server is busy: too many requests wait for a worker; "
                    "try again later"
                )
            case 500:
                return "internal server error; see the log"
        return f"the request is not valid HTTP: {error.body}"


class Channel(HTTPChannel):
    """A connection whose refusals are JSON."""

    error_task_class = _Refusal
