from __future__ import annotations

import random

import pytest

from benchmarks import soak_load
from benchmarks.soak import counters, grown
from benchmarks.soak_load import KINDS, ViolationError, Worker, events

STEADY = {"rss_mib": 200.0, "threads": 30, "descriptors": 9}


def course(n=90, **growth):
    """Return `n` seconds of usage; keywords: what grows, by how much a second."""
    return [
        {"at": float(i), **{k: v + growth.get(k, 0) * i for k, v in STEADY.items()}}
        for i in range(n)
    ]


def test_grown_finds_nothing_in_a_steady_run():
    assert grown(course()) == []


@pytest.mark.parametrize(
    ("name", "a_second"), [("rss_mib", 1.0), ("threads", 1), ("descriptors", 1)]
)
def test_grown_names_what_grew(name, a_second):
    (found,) = grown(course(**{name: a_second}))
    assert {"rss_mib": "memory"}.get(name, name) in found


def test_grown_allows_for_warming_up_and_noise():
    usage = course()
    for i, one in enumerate(usage):
        one["rss_mib"] -= max(0, 30 - i) * 5
        one["threads"] += i % 5
    assert grown(usage) == []


def test_events_are_read_between_the_lines_of_chunks():
    data = b'HTTP/1.1 200 OK\r\n\r\n1a\r\ndata: {"a": 1}\n\n\r\n8\r\ndata: [DONE]\n\n'
    assert list(events(data)) == [{"a": 1}, None]


def test_counters_are_read_from_prometheus_text():
    text = "# HELP a_total words\n# TYPE a_total counter\na_total 3\nb_bucket 4\n"
    assert counters(text) == {"a_total": 3.0}


class FakeWorker(Worker):
    """Every request gets one reply."""

    def __init__(self, status, reply):
        super().__init__(0, random.Random(1), n_slots=4, n_ctx_slot=64, sentinel="s")
        self.answer = status, reply

    def post(self, path, body, **options):
        return self.answer


USAGE = {"completion_tokens": 1, "prompt_tokens": 2, "total_tokens": 3}


def test_a_server_error_is_a_violation_of_every_whole_request():
    worker = FakeWorker(500, {"error": {}})
    whole = ("short", "long_prompt", "chat", "bad_request", "too_long", "several")
    for kind, _ in KINDS:
        if kind.__name__ in (*whole, "logprobs", "tokens", "sentinel"):
            with pytest.raises(ViolationError):
                kind(worker)


def test_usage_that_does_not_add_up_is_a_violation():
    soak_load.short(FakeWorker(200, {"usage": USAGE}))
    with pytest.raises(ViolationError, match="does not add up"):
        soak_load.short(FakeWorker(200, {"usage": {**USAGE, "total_tokens": 4}}))


def test_an_accepted_bad_request_is_a_violation():
    soak_load.bad_request(FakeWorker(400, {"error": {}}))
    with pytest.raises(ViolationError, match="answered 200"):
        soak_load.bad_request(FakeWorker(200, {}))


def test_another_greedy_text_is_a_violation():
    soak_load.sentinel(FakeWorker(200, {"choices": [{"text": "s"}]}))
    with pytest.raises(ViolationError, match="greedy text changed"):
        soak_load.sentinel(FakeWorker(200, {"choices": [{"text": "t"}]}))
