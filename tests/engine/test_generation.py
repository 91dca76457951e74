from __future__ import annotations

import threading

import pytest

from llamactypes.engine.generation import Generation
from llamactypes.engine.request import Delta, FinishReason, Result, Timings
from llamactypes.errors import EngineFailed
from tests.support.builders import make_request


def delta(text: str) -> Delta:
    return Delta(text, (1,), (), 1, Timings())


def result(finish=FinishReason.LENGTH, error=None) -> Result:
    return Result(finish, "", 1, 1, 0, 1, False, False, Timings(), 0, 0, error)


@pytest.fixture
def cancelled():
    return []


@pytest.fixture
def generation(cancelled):
    return Generation(1, make_request(), cancelled.append)


def test_read_returns_nothing_when_nothing_comes(generation):
    assert generation.read(0, 0.01) == ([], None)


def test_read_returns_everything_from_an_index_at_once(generation):
    for text in "abc":
        generation.append(delta(text), None)
    deltas, _ = generation.read(1, 0.01)
    assert [one.text for one in deltas] == ["b", "c"]


def test_late_reader_gets_the_whole_log_and_the_result(generation):
    generation.append(delta("a"), None)
    generation.append(delta("b"), result())
    deltas, end = generation.read(0)
    assert ([one.text for one in deltas], end.finish) == (
        ["a", "b"],
        FinishReason.LENGTH,
    )


def test_read_wakes_a_waiting_reader(generation):
    seen = []
    reader = threading.Thread(target=lambda: seen.append(generation.read(0, 5)))
    reader.start()
    generation.append(delta("a"), result())
    reader.join(5)
    assert seen[0][0][0].text == "a"


def test_append_after_the_end_changes_nothing(generation):
    generation.append(None, result())
    generation.append(delta("late"), result(FinishReason.ERROR))
    assert (generation.text, generation.result.finish) == ("", FinishReason.LENGTH)


def test_iteration_yields_text_and_raises_the_error(generation):
    generation.append(delta("a"), None)
    generation.append(None, result(FinishReason.ERROR, EngineFailed("boom")))
    seen = []
    with pytest.raises(EngineFailed, match="boom"):
        seen.extend(generation)
    assert seen == ["a"]


def test_cancel_tells_the_engine_once(generation, cancelled):
    generation.cancel()
    generation.cancel()
    assert cancelled == [generation]


def test_cancel_after_the_end_tells_nobody(generation, cancelled):
    generation.append(None, result())
    generation.cancel()
    assert cancelled == []


def test_wait_started_is_true_once_a_slot_began(generation):
    assert not generation.wait_started(0.01)
    generation.mark_started()
    assert generation.wait_started(0.01)


def test_wait_returns_none_when_the_end_does_not_come(generation):
    assert generation.wait(0.01) is None
