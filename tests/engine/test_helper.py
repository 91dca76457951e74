"""The thread that works beside a decode, alone and under a whole engine."""

from __future__ import annotations

import random
import threading

import pytest

from llamactypes.engine import Engine, EngineConfig
from llamactypes.engine.request import FinishReason
from llamactypes.engine.threads.helper import Helper
from llamactypes.errors import DecodeAborted, EngineStopped, KVCacheFull
from tests.support.builders import make_request
from tests.support.fake_model import FakeModel
from tests.support.waiting import eventually

N_STREAMS = 24
"""More than the engine delivers by itself."""
WAIT_S = 30.0


@pytest.fixture
def helper():
    helper = Helper("helper")
    yield helper
    helper.close()


def test_work_is_done_on_another_thread_by_the_time_of_join(helper):
    done: list[str] = []
    for number in range(3):
        helper.begin(lambda: done.append(threading.current_thread().name))
        helper.join()
        assert done == ["helper"] * (number + 1)


def test_begin_does_not_wait_for_the_work(helper):
    may_end = threading.Event()
    helper.begin(lambda: may_end.wait(WAIT_S))
    may_end.set()
    helper.join()


def test_join_raises_what_the_work_raised_and_work_goes_on(helper):
    helper.begin(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        helper.join()
    helper.join()
    done = threading.Event()
    helper.begin(done.set)
    helper.join()
    assert done.is_set()


def test_close_ends_the_thread_and_may_come_again():
    helper = Helper("helper-to-close")
    helper.close()
    helper.begin(lambda: None)
    helper.join()
    helper.close()
    helper.close()
    assert "helper-to-close" not in names_of_threads()


def names_of_threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


# -- the engine's deltas ---------------------------------------------------------------


class Streams:
    """Many generations of a fake model: each token is the one before plus one."""

    def __init__(self, **config) -> None:
        self.model = FakeModel(n_ctx_slot=400, n_batch=512)
        self.deltas_by: set[str] = set()
        config = {"n_parallel": N_STREAMS, "cache_ram_mib": 0} | config
        self.engine = Engine(EngineConfig("fake", **config), load=self.model.load)
        self.engine.start()
        self.engine.wait_ready(WAIT_S)

    def submit(self, n_tokens=lambda i: 40 + 3 * i, **options):
        requests = [
            make_request(3, first=0x4E00 + 0x200 * i, max_tokens=n_tokens(i), **options)
            for i in range(N_STREAMS)
        ]
        before_run, all_are_here = self.model.runner.before_run, threading.Event()

        def wait_for_all() -> None:
            assert all_are_here.wait(WAIT_S)
            before_run()

        self.model.runner.before_run = wait_for_all
        self.generations = self.engine.submit_many(requests)
        for generation in self.generations:
            self._watch(generation)
        all_are_here.set()
        return self.generations

    def _watch(self, generation) -> None:
        append = generation.append

        def watched(delta, result) -> None:
            self.deltas_by.add(threading.current_thread().name)
            append(delta, result)

        generation.append = watched

    def check(self) -> None:
        """Every log is whole: its text is its tokens', and these count up."""
        for generation in self.generations:
            result, tokens = generation.wait(WAIT_S), generation.tokens
            first = generation.request.prompt_tokens[-1] + 1
            assert tokens == list(range(first, first + len(tokens)))
            assert generation.text == "".join(map(chr, tokens))
            assert result.n_decoded == len(tokens)


@pytest.fixture
def streams():
    made: list[Streams] = []

    def make(**config):
        made.append(Streams(**config))
        return made[-1]

    yield make
    for one in made:
        one.engine.stop(0.0)
    assert "llamactypes-deltas" not in names_of_threads()


def test_many_streams_get_their_deltas_beside_the_decode_and_their_ends_from_us(
    streams,
):
    many = streams()
    many.submit()
    many.check()
    assert many.deltas_by == {"llamactypes-deltas", "llamactypes-engine"}
    finishes = {one.result.finish for one in many.generations}
    assert finishes == {FinishReason.LENGTH}


def test_no_thread_helps_an_idle_engine(streams):
    many = streams()
    for _ in range(2):
        many.submit(lambda i: 5)
        many.check()
        eventually(lambda: "llamactypes-deltas" not in names_of_threads())


def test_stop_strings_and_probs_are_as_exact_among_many(streams):
    many = streams()
    for generation in many.submit(stop=(chr(0x4E00 + 7), chr(0x5000 + 9))):
        generation.wait(WAIT_S)
    first, second = many.generations[:2]
    assert (len(first.text), first.result.stopping_word) == (4, chr(0x4E07))
    assert (len(second.text), second.result.stopping_word) == (6, chr(0x5009))
    assert first.result.n_decoded == 5


@pytest.mark.parametrize("seed", range(4))
def test_logs_are_whole_after_cancels_preemptions_and_aborts_at_any_moment(
    streams, seed
):
    many, dice = streams(kv_unified=True), random.Random(seed)

    def disturb() -> None:
        if dice.random() < 0.1:
            many.model.runner.errors.append(
                dice.choice((KVCacheFull("full", 1), DecodeAborted("stopped", 2)))
            )
        if dice.random() < 0.1:
            dice.choice(many.generations).cancel()

    many.model.runner.before_run = disturb
    many.submit()
    many.check()
    assert len(many.deltas_by) == 2


def test_stop_ends_streams_whose_deltas_were_not_taken_yet(streams):
    many = streams()
    n_runs = iter(range(1000))
    stopped = threading.Event()

    def stop_at_run_20() -> None:
        if next(n_runs) == 20:
            many.engine._stop_at = 0.0
            stopped.set()

    many.model.runner.before_run = stop_at_run_20
    many.submit(lambda i: 300)
    many.check()
    assert stopped.is_set()
    errors = {type(one.result.error) for one in many.generations}
    assert errors == {EngineStopped}
    assert {one.result.n_decoded for one in many.generations} == {20 + 1}
