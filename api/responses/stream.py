"""The body of a streamed response: the events of a run, from one of them on."""

from __future__ import annotations

from collections.abc import Callable

from api import sse
from api.errors import describe
from api.observing.exchange import End
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
    Closing before the end cancels a response that runs in the foreground, unless this
    is a reader of its own.
    """

    def __init__(
        self,
        run: ResponseRun,
        client: Client,
        ping_interval_s: float,
        start: int = 0,
        on_close: Callable[[int], object] | None = None,
    ) -> None:
        """Create a body.

        Args:
            run: What to read.
            client: Who reads.
            ping_interval_s: Longest silence; 0 or less: any.
            start: Number of the first event.
            on_close: Of one reader of several, who leaves alone: called once, with the
                bytes that were sent.
        """
        self._run = run
        super().__init__(client, ping_interval_s)
        self._next = start
        self._n_sent = 0
        self._on_close = on_close
        self._is_owner = on_close is None

    def __next__(self) -> bytes:
        try:
            piece = super().__next__()
        except StopIteration:
            if not self._is_owner:
                self.close()
            raise
        self._n_sent += len(piece)
        return piece

    def close(self) -> None:
        """End the stream."""
        self._is_ended = True
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            on_close(self._n_sent)
        if self._is_owner:
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
