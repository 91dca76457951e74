"""One generation that does not end with the connection that asked for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from api import sse
from api.errors import (
    GenerationCancelled,
    StreamInterrupted,
    StreamSuspended,
    describe,
)
from api.observing.exchange import End
from api.protocol.invalid import InvalidRequest
from api.streams.client import Client
from api.streams.log import StreamLog
from api.streams.reader import wait_started
from api.streams.recorder import Recorder
from api.streams.resumption import Resumption
from api.streams.stores.store import Claimed, StreamKey
from llamactypes.engine import Generation
from llamactypes.errors import EngineStopped

__all__ = ("Production", "Session", "StreamStopped")


class StreamStopped(InvalidRequest):
    """The request was ended by another one: a DELETE, or a POST that took its place."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"request cancelled: {reason}", code="stream_stopped")


@dataclass(frozen=True, slots=True)
class Production:
    """What fills a session's log."""

    generations: Sequence[Generation]
    open: Callable[[Client], Iterable[bytes]]
    """Returns the bytes to come, for a client that never leaves."""
    cancel: Callable[[], object]
    """Ends it early, from any thread; the bytes then end by themselves."""
    error_event: Callable[[Exception], bytes] | None
    """What readers get when it fails; None: not a stream of events."""


class _Nobody(Client):
    """A client that never leaves, and notes in the log how the stream ended."""

    def __init__(self, log: StreamLog) -> None:
        super().__init__({})
        self._log = log

    def note_end(self, end: End) -> None:
        self._log.is_broken = end is End.ERROR


class Session:
    """A log and the thread that fills it. Any thread.

    open ──► running ──► done          (`abort` leads to done from anywhere)
    """

    def __init__(
        self, key: StreamKey, log: StreamLog, on_end: Callable[[Session], object]
    ) -> None:
        self.key = key
        self.log = log
        self.is_running = False
        """Whether its thread was started."""
        self.stopped: StreamStopped | None = None
        """Why it was ended early."""
        self.progress: Callable[[Sequence[Generation]], dict[str, Any]] = _unknown
        """Says how far generations are while there is no event."""
        self.request = b""
        """What was asked, for a store that goes on with it in another process."""
        self.earlier: Resumption | None = None
        """What an earlier process made of it."""
        self._on_end = on_end
        self._client = _Nobody(log)
        self._production: Production | None = None
        self._lock = threading.Lock()

    def start(self, production: Production) -> None:
        """Let a thread of its own fill the log.

        Raises:
            StreamStopped: It was ended before.
        """
        with self._lock:
            if self.stopped is not None:
                raise self.stopped
            self._production = production
            progress, generations = self.progress, production.generations
            self.log.tell_progress = lambda: progress(generations)
            self._accept(production)
            name = "llamactypes-stream"
            threading.Thread(target=self._pump, name=name, daemon=True).start()
            self.is_running = True

    def abort(self, reason: str) -> None:
        """End the generation; readers get an error event. Idempotent, never blocks."""
        with self._lock:
            if self.stopped is not None:
                return
            self.stopped = StreamStopped(reason)
            production = self._production
        if production is not None:
            production.cancel()

    def give_up(self, error: Exception) -> None:
        """End a session whose thread will not do it: never started, or stuck."""
        self.log.is_broken = True
        if not self.log.keeps_errors and not isinstance(error, Claimed):
            self.log.append_events(self._error_event(error))
        self.log.finish(error)
        self._on_end(self)

    def _error_event(self, error: Exception) -> bytes:
        production = self._production
        if production is None or production.error_event is None:
            return sse.data_event(describe(error).body())
        return production.error_event(error)

    def why(self) -> Exception | None:
        """Return why it ended before it began, as its client should hear it."""
        return self.stopped or self.log.error

    def _accept(self, production: Production) -> None:
        """Let the journal know what to do if this process ends first."""
        make, interrupted = production.error_event, StreamInterrupted()
        last_event = b"" if make is None else make(interrupted)
        self.log.journal.accept(last_event, self.request)

    def _is_left_to_others(self, production: Production) -> bool:
        """Whether this process stops, and the next one will go on."""
        return self.log.journal.keeps_requests and any(
            each.result is not None and isinstance(each.result.error, EngineStopped)
            for each in production.generations
        )

    # -- its own thread ----------------------------------------------------------------

    def _pump(self) -> None:
        production = self._production
        error: Exception | None = GenerationCancelled("the stream was not completed")
        try:
            if production is not None:
                error = self._fill(production)
        finally:
            self.log.finish(error)
            self._on_end(self)

    def _fill(self, production: Production) -> Exception | None:
        """Fill the log to the end; return why it failed."""
        is_stream = production.error_event is not None
        append = self.log.append_events if is_stream else self.log.append
        known = {} if self.earlier is None else self.earlier.deltas
        recorder = Recorder(production.generations, self.log.journal, known)
        pieces: Iterable[bytes] = ()
        try:
            if is_stream:
                wait_started(production.generations, self._client)
                self.log.begin()
            pieces = production.open(self._client)
            if self.earlier is not None and is_stream:
                pieces = self.earlier.rest_of(pieces)
                self.log.append(self.earlier.seam())
            for piece in pieces:
                if self._is_left_to_others(production):
                    raise StreamSuspended
                recorder.note()
                append(piece)
        except Exception as error:
            production.cancel()
            if self._is_left_to_others(production):
                self.log.suspend(StreamSuspended())
                return None
            if production.error_event is not None:
                self.log.is_broken = True
                append(production.error_event(self.stopped or error))
            return error
        return None


def _unknown(generations: Sequence[Generation]) -> dict[str, Any]:
    """Return that nobody knows."""
    return {}
