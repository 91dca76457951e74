"""Large bodies take turns; small ones, and what was submitted, do not wait for them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from api.http.bulk import LARGE_BYTES
from tests.support.app_server import AppServer
from tests.support.fake_engine import FakeEngine, FakeVocab, delta, result
from tests.support.raw_http import raw_request
from tests.support.waiting import eventually

LARGE = "a" * LARGE_BYTES


class SlowVocab(FakeVocab):
    """Counts who tokenizes a long text, and lets nobody out before the test does."""

    def __init__(self) -> None:
        super().__init__()
        self.n_inside = 0
        self.may_leave = threading.Event()

    def tokenize(self, text: str, **options: Any) -> list[int]:
        if len(text) < LARGE_BYTES:
            return super().tokenize(text, **options)
        self.n_inside += 1
        assert self.may_leave.wait(20)
        return [1]


@pytest.fixture
def vocab() -> SlowVocab:
    return SlowVocab()


@pytest.fixture
def server(vocab: SlowVocab) -> Iterator[AppServer]:
    engine = FakeEngine(is_manual=True, vocab=vocab)
    with AppServer(engine, threads_http=24) as server:
        yield server
        vocab.may_leave.set()


def send(stack: contextlib.ExitStack, server: AppServer, path: str) -> None:
    """Send a large body, and wait for nothing."""
    body = {"content": LARGE, "prompt": "short"}
    stack.enter_context(raw_request(server.url, path, body))


def test_two_are_worked_on_at_a_time_and_small_ones_pass(
    server: AppServer, vocab: SlowVocab
) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(6):
            send(stack, server, "/tokenize")
        eventually(lambda: vocab.n_inside == 2)
        small = requests.post(
            server.url + "/tokenize", json={"content": "a"}, timeout=5
        )
        assert small.json() == {"tokens": [97]}
        assert vocab.n_inside == 2
        vocab.may_leave.set()
        eventually(lambda: vocab.n_inside == 6)


def test_a_turn_ends_when_the_generation_is_submitted(
    server: AppServer, vocab: SlowVocab
) -> None:
    vocab.may_leave.set()
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            send(stack, server, "/completion")
        eventually(lambda: len(server.engine.generations) == 5)  # none has ended
        for generation in server.engine.generations:
            generation.append(delta("a"), result())


def test_who_leaves_the_line_takes_no_turn(server: AppServer, vocab: SlowVocab) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            send(stack, server, "/tokenize")
        eventually(lambda: vocab.n_inside == 2)
        with contextlib.ExitStack() as impatient:
            send(impatient, server, "/tokenize")
            eventually(lambda: server.n_connections() == 3)
        eventually(lambda: server.n_connections() == 2)
        vocab.may_leave.set()
        eventually(lambda: server.n_connections() == 0 or vocab.n_inside == 2)
        assert vocab.n_inside == 2
