"""The body of a streamed response: the events of a run, from one of them on."""

from __future__ import annotations

import time

from api import sse
from api.errors import describe
from api.exchange import End
from api.responses.run import ResponseRun
from api.streams.client import WAIT_SLICE_S, Client

__all__ = ("ResponseStream", "error_event")


def error_event(error: Exception, number: int = 0) -> bytes:
    """Return OpenAI's event for what has no response to tell of it."""
    message = describe(error).message
    event = {"type": "error", "code": "server_error", "message": message}
    return sse.named_event("error", {**event, "param": None, "sequence_number": number})


class ResponseStream:
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
        self._client = client
        self._ping_interval_s = ping_interval_s
        self._next = start
        self._sent_at = time.monotonic()
        self._is_ended = False

    def __iter__(self) -> ResponseStream:
        return self

    def __next__(self) -> bytes:
        while not self._is_ended:
            if self._client.is_gone():
                self._client.note_end(End.CLIENT_GONE)
                self.close()
                break
            piece = self._next_piece()
            if piece:
                self._sent_at = time.monotonic()
                return piece
        raise StopIteration

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
        is_due = time.monotonic() - self._sent_at >= self._ping_interval_s
        return sse.PING if self._ping_interval_s > 0 and is_due else b""
