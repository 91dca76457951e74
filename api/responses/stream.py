"""The body of a streamed response: the events of a run, from one of them on."""

from __future__ import annotations

from api import sse
from api.errors import describe
from api.exchange import End
from api.responses.run import ResponseRun
from api.streams.client import WAIT_SLICE_S, Client
from api.streams.event_body import EventBody

__all__ = ("ResponseStream", "error_event")


def error_event(error: Exception, number: int = 0) -> bytes:
    """Return OpenAI's event for what has no response to tell of it."""
    message = describe(error).message
    event = {"type": "error", "code": "server_error", "message": message}
    return sse.named_event("error", {**event, "param": None, "sequence_number": number})


class ResponseStream(EventBody):
    """An iterator of bytes over the events of one response.

    One thread iterates; ``close`` may come from any thread, at any time, repeatedly.
    Closing before the end cancels a response that runs in the foreground.
    """

    def __init__(
        self,
        run: ResponseRun,
        client: Client,
        ping_interval_s: float,
        start: int = 0,
    ) -> None:
        """Create a body that begins with event number `start`."""
        self._run = run
        super().__init__(client, ping_interval_s)
        self._next = start

    def close(self) -> None:
        """End the stream."""
        self._is_ended = True
        self._run.leave()

    def _next_piece(self) -> bytes:
        """Return what is new, a ping when it is time for one, or nothing."""
        try:
            events, is_last = self._run.read(self._next, WAIT_SLICE_S)
        except Exception as error:  # the status line is out: it must become an event
            return self._error_event(error)
        self._next += len(events)
        if is_last:
            self._is_ended = True
            if self._run.error is not None:
                self._client.note_end(End.ERROR)
        return b"".join(events) or self._ping()

    def _error_event(self, error: Exception) -> bytes:
        """End with an error."""
        self._client.note_end(End.ERROR)
        self._is_ended = True
        return error_event(error, self._next)

    def _ping(self) -> bytes:
        return sse.PING if self._is_ping_due else b""
