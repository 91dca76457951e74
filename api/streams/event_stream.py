"""The body of a streamed reply: server-sent events made from live generations."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from api import sse
from api.errors import describe
from api.observing.exchange import End
from api.protocol.stream_format import StreamFormat
from api.streams.client import WAIT_SLICE_S, Client
from api.streams.event_body import EventBody
from api.streams.reader import Reader, failure
from llamactypes.engine import Generation

__all__ = ("EventStream",)


class EventStream(EventBody):
    """An iterator of bytes over the generations of one request.

    One thread iterates; ``close`` may come from any thread, at any time, repeatedly.
    Closing before the end cancels what still runs. Everything that is new goes out in
    one piece, so a slow reader gets fewer and larger ones.
    """

    def __init__(
        self,
        generations: Sequence[Generation],
        stream_format: StreamFormat,
        client: Client,
        ping_interval_s: float,
    ) -> None:
        client.watch(generations)
        self._reader = Reader(generations)
        self._format = stream_format
        super().__init__(client, ping_interval_s)

    def __enter__(self) -> EventStream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the stream; cancel what still runs."""
        self._is_ended = True
        self._reader.cancel()

    def _next_piece(self) -> bytes:
        """Return what is new, a ping when it is time for one, or nothing."""
        try:
            return self._new_events() or self._ping()
        except Exception as error:  # the status line is out: it must become an event
            return self._error_event(error)

    def _new_events(self) -> bytes:
        events: list[bytes] = []
        for index, deltas, result in self._reader.read(WAIT_SLICE_S):
            for delta in deltas:
                events += map(self._format.encode, self._format.delta(index, delta))
            if result is None:
                continue
            error = failure(result)
            if error is not None:
                events += map(self._format.encode, self._format.held())
                return b"".join(events) + self._error_event(error)
            events += map(self._format.encode, self._format.finish(index, result))
        if self._reader.is_done:
            self._is_ended = True
            if self._format.ends_with_done:
                events.append(sse.DONE)
        return b"".join(events)

    def _error_event(self, error: Exception) -> bytes:
        # Never a clean end: without [DONE] and finish_reason some clients see success,
        # but all of them see an error event.
        self._client.note_end(End.ERROR)
        self.close()
        objects = self._format.failure(describe(error, self._client.request_id))
        return b"".join(map(self._format.encode, objects))

    def _ping(self) -> bytes:
        return self._format.ping if self._is_ping_due else b""
