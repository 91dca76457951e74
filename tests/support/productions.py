"""What fills sessions in tests without HTTP and without an engine."""

from __future__ import annotations

from collections.abc import Iterable

from api import sse
from api.errors import describe
from api.streams.client import Client
from api.streams.session import Production, Session
from api.streams.sessions import StreamSessions
from api.streams.stores.store import Claim
from llamactypes.engine import Generation
from llamactypes.engine.request import FinishReason
from llamactypes.errors import LlamaError
from tests.support.builders import make_request
from tests.support.fake_engine import delta, result

EVENTS = "text/event-stream"
JSON = "application/json"


class Story:
    """A generation that the test writes, and the events made of it."""

    def __init__(self) -> None:
        self.generation = Generation(1, make_request(), self._on_cancel)
        self.generation.mark_started()
        self.is_cancelled = False

    def write(self, text: str) -> None:
        self.generation.append(delta(text, text.encode()), None)

    def end(self) -> None:
        self.generation.append(None, result())

    def fail(self, error: LlamaError) -> None:
        self.generation.append(None, result(error=error))

    @property
    def production(self) -> Production:
        cancel = self.generation.cancel
        return Production([self.generation], self._open, cancel, _error_event)

    @property
    def whole(self) -> Production:
        cancel = self.generation.cancel
        return Production([self.generation], self._whole, cancel, None)

    def _on_cancel(self, generation: Generation) -> None:
        self.is_cancelled = True
        generation.append(None, result(finish=FinishReason.CANCELLED))

    def _open(self, client: Client) -> Iterable[bytes]:
        index, end = 0, None
        while end is None:
            deltas, end = self.generation.read(index, 20)
            index += len(deltas)
            for each in deltas:
                yield sse.data_event(
                    {"choices": [{"index": 0, "delta": {"content": each.text}}]}
                )
        if end.finish is FinishReason.CANCELLED:
            raise RuntimeError("it was cancelled")
        yield sse.DONE

    def _whole(self, client: Client) -> Iterable[bytes]:
        end = self.generation.wait(20)
        if end is not None and end.error is not None:
            raise end.error
        yield b'{"text": "%b"}' % self.generation.text.encode()


def _error_event(error: Exception) -> bytes:
    return sse.data_event(describe(error).body())


def open_session(
    sessions: StreamSessions,
    id: str = "c",
    owner: str | None = None,
    claim: Claim | None = None,
    *,
    whole: bool = False,
) -> Session:
    kind = JSON if whole else EVENTS
    return sessions.open(owner, id, kind, whole=whole, claim=claim)


def start(
    sessions: StreamSessions,
    id: str = "c",
    owner: str | None = None,
    claim: Claim | None = None,
    *,
    whole: bool = False,
) -> Story:
    """Open a session and let it run; return who writes it."""
    story = Story()
    session = open_session(sessions, id, owner, claim, whole=whole)
    session.start(story.whole if whole else story.production)
    return story
