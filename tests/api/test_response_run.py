"""A response in the making: readers, leaving, failing, ending early."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from api.protocol.options import CompletionOptions
from api.protocol.reply import ReplyFacts
from api.protocol.responses.writer import ResponseWriter
from api.responses.run import Events, ResponseRun
from api.responses.stream import ResponseStream
from api.streams.client import Client
from llamactypes.engine import FinishReason
from llamactypes.engine.request import GenerationRequest
from llamactypes.errors import EngineStopped
from tests.support.fake_engine import FakeEngine, delta, result
from tests.support.response_events import named_events, sequence_of, streamed_text
from tests.support.waiting import eventually

STOP = FinishReason.STOP_EOS
STOPPED = EngineStopped("the server is shutting down")
BEGUN = [
    *("created", "in_progress", "output_item.added", "content_part.added"),
    "output_text.delta",
]
CLOSED = ["output_text.done", "content_part.done", "output_item.done"]


class Live:
    """A run whose generation the test appends to."""

    def __init__(
        self,
        events: Events = Events.ONCE,
        *,
        is_background: bool = False,
        id: str = "resp_1",
        on_end: Callable[[ResponseRun], object] | None = None,
    ) -> None:
        self.engine = FakeEngine(is_manual=True)
        self.generation = self.engine.submit(GenerationRequest((1,)))
        options = CompletionOptions(n_predict=3)
        facts = ReplyFacts(id, 0, "m", "b1", options, [(1,)])
        writer = ResponseWriter(facts, {"background": is_background})
        self.ends: list[ResponseRun] = []
        self.run = ResponseRun(
            self.generation, writer, events=events, on_end=on_end or self.ends.append
        )

    def write(self, text: str) -> None:
        self.generation.append(delta(text), None)

    def end(self, **changes: Any) -> None:
        self.generation.append(None, result(**({"finish": STOP} | changes)))

    def stream(self, client: Client | None = None, ping_s: float = 0.0):
        return ResponseStream(self.run, client or Client({}), ping_s)

    def read(self, start: int = 0):
        events, is_last = self.run.read(start, 0.0)
        return (named_events(b"".join(events).decode()) if events else []), is_last


class Gone(Client):
    """A client that has closed its connection."""

    def __init__(self) -> None:
        super().__init__({"waitress.client_disconnected": lambda: True})


@pytest.fixture
def live() -> Live:
    return Live()


# -- reading -------------------------------------------------------------------------


def test_events_come_as_they_are_made(live):
    live.write("a")
    events, is_last = live.read()
    assert (sequence_of(events), is_last) == (BEGUN, False)
    live.write("b")
    more, _ = live.read(len(events))
    assert [event["delta"] for event in more] == ["b"]
    live.end()
    last, is_last = live.read(len(events) + 1)
    assert is_last
    assert sequence_of([*events, *more, *last]) == [*BEGUN, *CLOSED, "completed"]
    assert live.ends == [live.run]


def test_what_the_one_reader_has_read_is_dropped(live):
    live.write("a")
    live.read()
    assert live.run.n_event_bytes == 0


def test_kept_events_can_be_read_again_from_any_number():
    live = Live(Events.KEPT)
    live.write("ab")
    live.end()
    events, _ = live.read()
    for start in range(len(events)):
        again, is_last = live.read(start)
        assert (again, is_last) == (events[start:], True)
    assert live.run.n_event_bytes > 0


def test_whoever_looks_takes_in_what_is_new_and_readers_miss_nothing(live):
    live.write("a")
    assert live.run.response()["output"][0]["content"][0]["text"] == "a"
    live.write("b")
    live.run.pull(0.0)
    live.end()
    assert live.run.response()["status"] == "completed"
    events = named_events(b"".join(live.stream()).decode())
    assert sequence_of(events) == [*BEGUN, *CLOSED, "completed"]
    assert streamed_text(events) == "ab"


def test_a_response_without_readers_makes_no_events():
    live = Live(Events.NONE)
    live.write("a")
    live.end()
    assert live.run.response()["status"] == "completed"
    assert live.run.n_event_bytes == 0


def test_silence_is_broken_by_a_comment(live):
    stream = live.stream(ping_s=0.01)
    next(stream)
    assert next(stream) == b":\n"
    live.end()
    list(stream)


# -- ends ----------------------------------------------------------------------------


def test_a_failure_keeps_what_was_written(live):
    live.write("ab")
    live.end(finish=FinishReason.ERROR, error=STOPPED)
    events = named_events(b"".join(live.stream()).decode())
    assert sequence_of(events) == [*BEGUN, *CLOSED, "failed"]
    final = events[-1]["response"]
    assert (final["status"], final["completed_at"]) == ("failed", None)
    assert final["error"] == {"code": "server_error", "message": str(STOPPED)}
    assert final["output"][0]["status"] == "incomplete"
    assert final["output"][0]["content"][0]["text"] == "ab"
    assert live.run.error is STOPPED


def test_a_failure_before_the_first_word_has_no_items(live):
    live.end(finish=FinishReason.ERROR, error=STOPPED)
    events, _ = live.read()
    assert sequence_of(events) == ["created", "failed"]
    assert events[-1]["response"]["output"] == []


def test_a_reader_that_leaves_ends_what_only_it_wanted(live):
    live.write("a")
    stream = live.stream(Gone())
    assert list(stream) == []
    assert live.engine.cancelled == [live.generation]
    final = live.run.response()
    assert (final["status"], final["usage"]) == ("cancelled", None)
    assert final["output"][0]["content"][0]["text"] == "a"
    assert live.ends == [live.run]
    assert live.run.n_event_bytes == 0


def test_closing_twice_and_after_the_end_changes_nothing(live):
    live.write("a")
    live.end()
    stream = live.stream()
    stream.close()
    stream.close()
    assert list(stream) == []
    assert live.run.response()["status"] == "completed"
    assert live.engine.cancelled == []


def test_a_generation_that_is_cancelled_below_is_cancelled(live):
    live.write("a")
    live.end(finish=FinishReason.CANCELLED)
    assert live.run.response()["status"] == "cancelled"
    assert live.run.response()["usage"]["output_tokens"] == 3


# -- in background ---------------------------------------------------------------------


def background(patience_s: float = 0.0) -> Live:
    live = Live(Events.KEPT, is_background=True)
    live.run.follow(patience_s)
    return live


def test_a_background_response_is_queued_until_a_slot_takes_it():
    live = background()
    assert live.run.response()["status"] == "queued"
    live.generation.mark_started()
    assert live.run.response()["status"] == "in_progress"
    live.write("a")
    live.end()
    eventually(lambda: live.run.is_ended)
    events, _ = live.read()
    queued = ["created", "queued", *BEGUN[1:], *CLOSED, "completed"]
    assert sequence_of(events) == queued
    assert [e["response"]["status"] for e in events[:3]] == [
        *("queued", "queued", "in_progress")
    ]
    assert live.ends == [live.run]


def test_a_background_response_ends_without_anybody_reading():
    live = background()
    live.write("a")
    live.end()
    eventually(lambda: live.ends == [live.run])


def test_a_reader_of_a_background_response_may_leave():
    live = background()
    assert list(live.stream(Gone())) == []
    assert live.engine.cancelled == []
    stream = live.stream()
    live.write("a")
    live.end()
    assert streamed_text(named_events(b"".join(stream).decode())) == "a"


def test_a_background_response_nobody_asks_for_fails_and_says_why():
    live = background(patience_s=0.01)
    live.write("a")
    eventually(lambda: live.run.is_ended)
    assert live.engine.cancelled == [live.generation]
    final = live.run.response()
    assert final["status"] == "failed"
    assert "nobody asked for this response for 0.01 s" in final["error"]["message"]
    assert final["output"][0]["content"][0]["text"] == "a"
    live.end(finish=FinishReason.CANCELLED)
    assert live.run.response()["status"] == "failed"


def test_cancelling_ends_at_once_and_only_once():
    live = background()
    live.write("a")
    live.run.cancel()
    live.run.cancel()
    assert live.run.response()["status"] == "cancelled"
    assert live.engine.cancelled[0] is live.generation
    assert live.ends == [live.run]
    events, is_last = live.read()
    assert is_last
    assert events[-1]["type"] == "response.incomplete"
    assert events[-1]["response"]["status"] == "cancelled"
    live.end(finish=FinishReason.CANCELLED)


# -- what is left of it ---------------------------------------------------------------


def test_an_ended_run_holds_nothing_of_what_it_came_from(live):
    live.write("ab")
    live.end()
    live.run.pull(0.0)
    generation = weakref.ref(live.generation)
    live.generation = None
    live.engine.generations.clear()
    gc.collect()
    assert generation() is None
    assert live.run.response()["output"] == live.run.output
    assert not live.run.is_live


def test_a_stream_that_cannot_be_written_ends_with_an_error_event(live, monkeypatch):
    next(stream := live.stream())

    def fail(delta):
        raise ValueError("broken")

    monkeypatch.setattr(live.run._writer, "add", fail)
    live.write("a")
    (event,) = named_events(b"".join(stream).decode())
    assert (event["type"], event["code"]) == ("error", "server_error")
    assert event["sequence_number"] == 1
    monkeypatch.undo()
    stream.close()
    assert live.engine.cancelled == [live.generation]
