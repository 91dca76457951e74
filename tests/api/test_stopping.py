"""Signals as the process gets them; the real server is stopped in tests/faults."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from api.serving.stopping import StopSignal

NUMBERS = (signal.SIGTERM, signal.SIGINT)


@pytest.fixture
def stop() -> Iterator[StopSignal]:
    before = [signal.getsignal(number) for number in NUMBERS]
    stop = StopSignal()
    stop.install()
    yield stop
    for number, handler in zip(NUMBERS, before, strict=True):
        signal.signal(number, handler)


def test_signals_that_come_together_are_one(stop: StopSignal) -> None:
    woken: list[int] = []
    stop.wake_with(lambda: woken.append(1))
    for number in (*NUMBERS, *NUMBERS):
        os.kill(os.getpid(), number)
    assert stop.is_set
    assert woken == [1]


def test_ignored_signals_are_ignored_to_the_end_of_the_process(
    stop: StopSignal,
) -> None:
    stop.ignore()
    for number in NUMBERS:
        os.kill(os.getpid(), number)
        assert signal.getsignal(number) is signal.SIG_IGN
    assert not stop.is_set
