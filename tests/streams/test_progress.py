"""How far a silent generation is: its place in the queue, its part of the prompt."""

from __future__ import annotations

import json
from typing import Any

import pytest

from api.streams.client import Client
from api.streams.log import StreamLog
from api.streams.log_body import LogBody
from api.streams.progress import PromptProgress
from llamactypes.engine import Generation, SlotState
from tests.support.builders import make_request
from tests.support.fake_engine import result


def generation(number: int) -> Generation:
    return Generation(number, make_request(), lambda each: None)


def test_a_place_in_the_queue_counts_earlier_ones_that_have_not_begun() -> None:
    progress = PromptProgress(list)
    each = [generation(number) for number in range(5)]
    progress.watch([*each, "an embedding"])
    each[0].mark_started()
    each[1].append(None, result())
    assert progress.of(each[4:]) == {
        "object": "stream.progress",
        "state": "queued",
        "ahead": 2,
    }
    assert progress.of(each[2:3])["ahead"] == 0


@pytest.mark.parametrize(("n_done", "percent"), [(0, 0), (333, 33), (1000, 100)])
def test_a_prompt_is_told_in_tokens_and_percent(n_done: int, percent: int) -> None:
    mine, other = generation(1), generation(2)
    mine.mark_started()
    states = [
        SlotState(0, 2048, True, 2, 50, 5, request=other.request),
        SlotState(1, 2048, True, 1, 1000, n_done, request=mine.request),
    ]
    found = PromptProgress(lambda: states).of([mine])
    assert found["state"] == "prompt"
    assert (found["processed"], found["total"], found["percent"]) == (
        n_done,
        1000,
        percent,
    )


def test_nothing_is_said_of_what_has_ended_or_is_nowhere() -> None:
    mine = generation(1)
    mine.mark_started()
    assert PromptProgress(list).of([mine]) == {}
    mine.append(None, result())
    assert PromptProgress(list).of([mine]) == {}
    assert PromptProgress(list).of([]) == {}


def silent_log(progress: dict[str, Any]) -> StreamLog:
    log = StreamLog(10_000, "text/event-stream")
    log.tell_progress = lambda: progress
    return log


def test_a_late_reader_of_a_silent_log_gets_a_comment_that_all_count() -> None:
    log = silent_log({"state": "queued", "ahead": 2})
    body = LogBody(log, Client({}), is_late=True)
    first = next(body)
    assert first == b': {"state":"queued","ahead":2}\n'
    assert log.n_total == len(first)
    log.greet()  # not twice in a second
    assert log.n_total == len(first)
    log.append_events(b"data: 1\n\n")
    assert next(body).startswith(b"data: 1\n")
    assert log.progress == {}


def test_who_asks_for_it_gets_events_that_nobody_counts() -> None:
    log = silent_log({"state": "prompt", "percent": 40})
    body = LogBody(log, Client({}), is_late=True, has_progress=True)
    event = b"" + next(body)
    while not event.startswith(b"event: progress\n"):
        event = next(body)
    assert json.loads(event.split(b"data: ")[1]) == {"state": "prompt", "percent": 40}
    assert event not in log.read_all()
