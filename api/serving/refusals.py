"""What waitress refuses before the app sees it, in the shape of every other error."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.receiver import ChunkedReceiver
from waitress.task import ErrorTask, WSGITask
from waitress.utilities import BadRequest, Error

from api.errors import JSON_TYPE
from api.http.cors import CorsPolicy
from api.http.request_id import id_headers, request_name
from api.json_loader import dumps_bytes
from api.observing.access_log import log_access
from api.observing.exchange import Exchange
from api.protocol.error_reply import ErrorReply
from api.protocol.messages.error import OVERLOADED, anthropic_error, speaks_anthropic

__all__ = ("BODY_SLACK_BYTES", "Channel", "LineFull", "RequestTimeout")

BODY_SLACK_BYTES = 1 << 20
"""waitress lets this much more in than the app, which has the better words for it."""
_RETRY_AFTER_S = "1"
_CHUNK_PARTS = {
    "control_line": ("line before a chunk", 1024),
    "trailer": ("trailer", 65536),
}
"""Attributes of waitress's receiver of chunks, what they are, and their most bytes."""


class LineFull(Error):  # noqa: N818 - what happened, answered like an error
    """The line of requests that wait for a worker is full."""

    code = 429
    reason = "Too Many Requests"


class RequestTimeout(Error):  # noqa: N818 - what happened, answered like an error
    """A request began and did not come to its end."""

    code = 408
    reason = "Request Timeout"


class _Answer(WSGITask):
    """waitress's, but for the end of the server: then its connection ends, too."""

    def build_response_header(self) -> bytes:
        """Return status line and headers."""
        channel: Any = self.channel
        if channel.is_ending:
            self.set_close_on_finish()
        return super().build_response_header()


class _Refusal(ErrorTask):
    """Answers a request that is malformed, too large, late or failed outside the app.

    The connection ends, for nobody knows where the next request would begin. Only a
    full line leaves it open: that request was read to its end.
    """

    def execute(self) -> None:
        """Write status and JSON."""
        request: Any = self.request
        error = request.error
        channel: Any = self.channel
        cors: CorsPolicy = channel.cors
        exchange = self._exchange()
        name = exchange.request_id
        self.status, body = self._answer(error, exchange.path, name)
        exchange.answered(int(self.status[:3]))
        self.response_headers = [
            ("Content-Type", JSON_TYPE),
            *id_headers(exchange.path, name),
            *cors.reply_headers(request.headers.get("ORIGIN")),
            *cors.exposed_headers(),
        ]
        if error.code == 429:
            self.response_headers.append(("Retry-After", _RETRY_AFTER_S))
        else:
            self.set_close_on_finish()
        self.content_length = len(body)
        exchange.n_bytes = 0 if exchange.method == "HEAD" else len(body)
        self.write(body[: exchange.n_bytes])
        exchange.finish()
        log_access(exchange)

    def _exchange(self) -> Exchange:
        """Return the exchange; what is no HTTP has neither method nor path."""
        request: Any = self.request
        address = self.channel.addr
        return Exchange(
            method=request.command,
            path=request.path,
            client=address[0] if address else "",
            request_id=request_name(request.headers.get("X_REQUEST_ID")),
        )

    def _answer(self, error: Any, path: str, name: str) -> tuple[str, bytes]:
        """Return status line and body."""
        status = f"{error.code} {error.reason}"
        reply = ErrorReply(error.code, self._message(error))
        if not speaks_anthropic(path):
            return status, dumps_bytes(reply.body())
        if error.code == 429:
            status = f"{OVERLOADED} Overloaded"
            reply = replace(reply, status=OVERLOADED)
        return status, dumps_bytes(anthropic_error(reply, name))

    def _message(self, error: Any) -> str:
        settings = self.channel.adj
        match error.code:
            case 408:
                return "the request did not come to its end in time (--timeout)"
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


class _Parser(HTTPRequestParser):
    """waitress's, with a path and a method where the bytes had none.

    waitress names the path when a client leaves. Without one it failed there, and such
    a connection was never closed. And it joins the line before a chunk from its pieces
    however long it grows: 16 MiB of one held the I/O thread, and everybody, for 42 s.
    """

    path = "-"
    command = "-"  # type: ignore[assignment]  # text, whatever the stubs say

    def parse_header(self, header_plus: bytes) -> None:
        """Take in the headers.

        Raises:
            ParsingError: They are no HTTP, or frame the body twice: a proxy in front
                may have believed the length, and see one request where we see two.
        """
        super().parse_header(header_plus)
        headers = self.headers
        is_coded = self.chunked or "TRANSFER_ENCODING" in headers
        if is_coded and "CONTENT_LENGTH" in headers:
            raise ParsingError(
                "there may be Transfer-Encoding or Content-Length, not both"
            )

    def received(self, data: bytes) -> int:
        """Take bytes; return how many belong to this request."""
        n_consumed: int = super().received(data)
        body: Any = self.body_rcv
        if not self.completed and isinstance(body, ChunkedReceiver):
            for name, (what, limit) in _CHUNK_PARTS.items():
                if len(getattr(body, name)) > limit:
                    self.error = BadRequest(f"the {what} is longer than {limit} bytes")
                    self.completed = True
        return n_consumed


class Channel(HTTPChannel):
    """A connection whose refusals are JSON, and whose requests must come in time."""

    parser_class = _Parser
    task_class = _Answer
    error_task_class = _Refusal
    cors = CorsPolicy()
    is_ending = False
    """Whether the server is about to end; of all connections of a kind."""
    _began_at = 0.0

    @staticmethod
    def kind(cors: CorsPolicy) -> type[Channel]:
        """Return the class of connections whose refusals follow `cors`."""
        return type("Channel", (Channel,), {"cors": cors})

    def received(self, data: bytes) -> bool:
        """Take bytes from the socket; note when a request begins."""
        if self.request is None:
            self._began_at = time.time()
        return bool(super().received(data))

    def refuse_late(self, now: float, limit_s: float) -> None:
        """Answer 408 where a request stopped coming, or its headers come by drops.

        I/O thread. A body may take as long as it likes while bytes arrive.
        """
        channel: Any = self  # its types know less than it has
        with channel.requests_lock:
            request = channel.request
            if request is None or channel.requests or channel.will_close:
                return
            is_silent = now - channel.last_activity > limit_s
            is_slow = not request.headers_finished and now - self._began_at > limit_s
            if not (is_silent or is_slow):
                return
            request.error = RequestTimeout("")
            request.completed = True
            channel.request = None
            channel.requests.append(request)
        channel.server.add_task(channel)
