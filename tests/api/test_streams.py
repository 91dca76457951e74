"""Live generations: leaving, failing, waiting. The test appends to the logs itself."""

import threading

import pytest

from api import sse
from api.errors import ClientGone, ConstraintBroken, describe
from api.protocol.stream_format import StreamFormat
from api.streams.client import Client
from api.streams.event_stream import EventStream
from api.streams.reader import Reader, collect, wait_started
from llamactypes.engine.request import FinishReason, GenerationRequest
from llamactypes.errors import ConstraintError, EngineStopped, KVCacheFull
from tests.api.conftest import Api, parse_events
from tests.support.fake_engine import FakeEngine, delta, result, text_deltas
from tests.support.waiting import eventually

STAYING = Client({})


class Leaving(Client):
    """A client that is gone from the n-th look on."""

    def __init__(self, after: int = 0) -> None:
        super().__init__({})
        self.n_looks = 0
        self._after = after

    def is_gone(self) -> bool:
        self.n_looks += 1
        return self.n_looks > self._after


class PlainFormat(StreamFormat):
    ends_with_done = True

    def delta(self, index, delta):
        return [{"i": index, "text": delta.text}]

    def finish(self, index, result):
        return [{"i": index, "end": True}]


def start(n=1):
    engine = FakeEngine(is_manual=True)
    return engine, engine.submit_many([GenerationRequest((1,))] * n)


def stream_of(generations, client=STAYING, ping_interval_s=0):
    return EventStream(generations, PlainFormat(), client, ping_interval_s)


def test_everything_new_goes_out_in_one_piece():
    _, (generation,) = start()
    for each in text_deltas("abc"):
        generation.append(each, None)
    stream = stream_of([generation])
    texts = [event["text"] for event in parse_events(next(stream).decode())]
    assert texts == ["a", "b", "c"]
    generation.append(delta("d"), result())
    assert parse_events(next(stream).decode()) == [
        {"i": 0, "text": "d"},
        {"i": 0, "end": True},
        "[DONE]",
    ]
    assert list(stream) == []


def test_silence_is_broken_by_a_comment():
    _, (generation,) = start()
    stream = stream_of([generation], ping_interval_s=0.01)
    assert next(stream) == sse.PING
    generation.append(None, result())
    assert next(stream).endswith(sse.DONE)


def test_close_cancels_what_runs_once_and_ends_the_iteration():
    engine, generations = start(2)
    generations[0].append(None, result())
    stream = stream_of(generations)
    stream.close()
    stream.close()
    assert engine.cancelled == [generations[1]]
    assert list(stream) == []


def test_close_after_the_end_cancels_nothing():
    engine, (generation,) = start()
    generation.append(None, result())
    with stream_of([generation]) as stream:
        list(stream)
    assert engine.cancelled == []


def test_a_client_that_left_cancels_during_silence():
    engine, (generation,) = start()
    assert list(stream_of([generation], Leaving(after=1))) == []
    assert engine.cancelled == [generation]


def test_a_failure_becomes_an_error_event_without_done():
    engine, (generation, other) = start(2)
    generation.append(delta("a"), None)
    stream = stream_of([generation, other])
    next(stream)
    stopped = EngineStopped("the server is shutting down")
    generation.append(None, result(finish=FinishReason.ERROR, error=stopped))
    assert parse_events(b"".join(stream).decode()) == [
        {
            "error": {
                "code": 503,
                "message": "the server is shutting down",
                "type": "unavailable_error",
            }
        }
    ]
    assert engine.cancelled == [other]


def test_a_cancelled_generation_is_an_error_to_its_reader():
    _, (generation,) = start()
    generation.append(None, result(finish=FinishReason.CANCELLED))
    (event,) = parse_events(b"".join(stream_of([generation])).decode())
    assert event["error"]["code"] == 500


def test_a_broken_format_becomes_an_error_event(caplog):
    class Broken(PlainFormat):
        def delta(self, index, delta):
            raise ZeroDivisionError

    engine, (generation,) = start()
    generation.append(delta("a"), None)
    stream = EventStream([generation], Broken(), STAYING, 0)
    (event,) = parse_events(b"".join(stream).decode())
    assert event["error"]["type"] == "server_error"
    assert engine.cancelled == [generation]
    assert "ZeroDivisionError" in caplog.text


def test_streams_of_several_generations_tell_them_apart():
    _, generations = start(3)
    for index, generation in enumerate(generations):
        generation.append(delta(str(index)), result())
    events = parse_events(b"".join(stream_of(generations)).decode())
    assert [e["i"] for e in events[:-1]] == [0, 0, 1, 1, 2, 2]


def test_reader_waits_for_any_of_several():
    _, generations = start(2)
    reader = Reader(generations)
    assert reader.read(0.01) == []
    generations[1].append(delta("x"), result())
    seen = []
    eventually(lambda: seen.extend(reader.read(0.01)) or seen)
    assert seen[0][0] == 1
    assert not reader.is_done
    generations[0].append(None, result())
    eventually(lambda: reader.read(0.01) and reader.is_done)


def test_wait_started_raises_the_error_of_a_generation_that_never_began():
    engine, (first, second) = start(2)
    first.append(None, result(finish=FinishReason.ERROR, error=KVCacheFull("x", 1)))
    with pytest.raises(KVCacheFull):
        wait_started([first, second], STAYING)
    assert engine.cancelled == [second]


def test_wait_started_ends_when_the_client_leaves():
    engine, generations = start(2)
    with pytest.raises(ClientGone):
        wait_started(generations, Leaving())
    assert engine.cancelled == generations


def test_collect_ends_when_the_client_leaves():
    engine, generations = start(2)
    with pytest.raises(ClientGone):
        collect(generations, Leaving(after=2))
    assert engine.cancelled == generations


def test_collect_puts_choices_together():
    _, generations = start(2)
    for generation, text in zip(generations, ("ab", "c"), strict=True):
        for each in text_deltas(text):
            generation.append(each, None)
        generation.append(None, result())
    choices = collect(generations, STAYING)
    assert [(c.index, c.text, c.tokens) for c in choices] == [
        (0, "ab", [97, 98]),
        (1, "c", [99]),
    ]


def test_collect_keeps_the_texts_when_one_cannot_go_on():
    engine, generations = start(2)
    for generation, text in zip(generations, ("ab", "c"), strict=True):
        for each in text_deltas(text):
            generation.append(each, None)
    generations[1].append(None, result(error=ConstraintError("no way on", "lark")))
    with pytest.raises(ConstraintBroken, match="no way on") as caught:
        collect(generations, STAYING)
    assert caught.value.texts == ("ab", "c")
    assert engine.cancelled == generations[:1]
    reply = describe(caught.value)
    assert reply.status == 400
    assert reply.extra == {"param": "lark", "partial": ["ab", "c"]}


# -- through the app -----------------------------------------------------------------


def gone_environ(is_gone):
    return {"waitress.client_disconnected": is_gone}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "path", ["/completion", "/v1/completions", "/v1/chat/completions"]
)
def test_a_client_that_leaves_before_the_first_token_frees_its_slot(path, stream):
    api = Api(FakeEngine(is_manual=True))
    body = {
        "prompt": "a",
        "messages": [{"role": "user", "content": "a"}],
        "stream": stream,
    }
    reply = api.post(path, body, extras=gone_environ(lambda: True))
    assert reply.status_code == 499
    assert api.engine.cancelled == api.engine.generations != []


def test_the_status_of_a_stream_waits_for_the_start():
    api = Api(FakeEngine(is_manual=True))
    replies = []
    body = {"prompt": "a", "stream": True}
    thread = threading.Thread(
        target=lambda: replies.append(api.post("/completion", body))
    )
    thread.start()
    eventually(lambda: api.engine.generations)
    error = result(finish=FinishReason.ERROR, error=KVCacheFull("x", 1))
    api.engine.generations[0].append(None, error)
    thread.join(5)
    (reply,) = replies
    assert reply.status_code == 500
    assert reply.headers["content-type"] == "application/json; charset=utf-8"


def test_a_stream_tells_proxies_not_to_hold_it(api):
    reply = api.post("/completion", {"prompt": "a", "stream": True})
    assert reply.headers["x-accel-buffering"] == "no"
    assert reply.headers["cache-control"] == "no-cache, no-transform"
    assert "connection" not in reply.headers


def test_a_json_reply_has_a_length(api):
    reply = api.post("/completion", {"prompt": "a"})
    assert int(reply.headers["content-length"]) == len(reply.content)
