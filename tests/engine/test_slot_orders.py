"""Slots saved, restored and erased between requests, on the real library."""

from __future__ import annotations

import pytest

from llamactypes.engine import Engine, EngineConfig
from llamactypes.engine.prefixes.state_cache import SavedState
from llamactypes.engine.slot_files import SlotFiles
from llamactypes.engine.slot_orders import erase_slot, restore_slot, save_slot
from llamactypes.errors import EngineStopped, StateError
from tests.engine.test_engine_models import ask, run, running
from tests.engine.test_engine_threads import hold_decodes
from tests.support import models
from tests.support.builders import make_request
from tests.support.fake_model import FakeModel
from tests.support.waiting import eventually

WAIT_S = 20.0
FRANCE = "What is the capital of France?"
GERMANY = "What is the capital of Germany?"


def wait(engine: Engine, order):
    engine.order(order)
    return order.done.result(WAIT_S)


@pytest.fixture(params=[True, False], ids=["unified", "split"])
def engine(request, tiny_model_path):
    options = {"n_ctx": 1024, "kv_unified": request.param, "cache_ram_mib": 0}
    with running(tiny_model_path, **options) as engine:
        yield engine


def test_a_restored_slot_goes_on_as_the_saved_one_would(engine, tmp_path):
    files = SlotFiles(tmp_path)
    first, result = run(engine, ask(engine, FRANCE, id_slot=1))
    saved = wait(engine, save_slot(1))
    assert len(saved.tokens) == result.n_tokens_in_slot
    n_written = files.write("a.bin", saved)
    assert wait(engine, erase_slot(1)) == len(saved.tokens)
    again, computed = run(engine, ask(engine, FRANCE, id_slot=1))
    assert computed.n_cached == 0
    assert wait(engine, erase_slot(1)) == len(saved.tokens)
    assert wait(engine, restore_slot(0, files.read("a.bin"))) == n_written
    restored, reused = run(engine, ask(engine, FRANCE, id_slot=0))
    assert reused.n_cached == reused.n_prompt - 1
    assert first.tokens == again.tokens == restored.tokens


def test_a_restored_prefix_is_shared_with_another_slot(engine, tmp_path):
    run(engine, ask(engine, FRANCE * 3, id_slot=0))
    saved = wait(engine, save_slot(0))
    SlotFiles(tmp_path).write("a.bin", saved)
    wait(engine, erase_slot(0))
    wait(engine, restore_slot(0, SlotFiles(tmp_path).read("a.bin")))
    _, result = run(engine, ask(engine, FRANCE * 3, id_slot=1))
    assert result.n_cached == result.n_prompt - 1


def test_a_damaged_state_is_refused_and_the_slot_works_on(engine, tmp_path):
    files = SlotFiles(tmp_path)
    first, _ = run(engine, ask(engine, FRANCE, id_slot=0))
    saved = wait(engine, save_slot(0))
    for broken in (
        SavedState(saved.tokens, saved.data[: len(saved.data) // 2]),
        SavedState(saved.tokens, b""),
        SavedState(saved.tokens, b"\xff" * len(saved.data)),
        SavedState(saved.tokens[:-1], saved.data),
        SavedState([], saved.data),
        SavedState([10**6], saved.data),
        SavedState([-2], saved.data),
        SavedState([1] * 5000, saved.data),
    ):
        files.write("a.bin", broken)
        with pytest.raises(StateError):
            wait(engine, restore_slot(0, files.read("a.bin")))
        again, _ = run(engine, ask(engine, FRANCE, id_slot=0))
        assert again.tokens == first.tokens


def test_idle_slots_give_way_to_a_restored_one(tiny_model_path, tmp_path):
    files = SlotFiles(tmp_path)
    options = {"n_ctx": 256, "n_parallel": 3, "kv_unified": True}
    with running(tiny_model_path, **options) as engine:
        for slot in (0, 1):
            run(engine, ask(engine, "a" * 90, id_slot=slot, cache_prompt=False))
        saved = wait(engine, save_slot(1))
        assert len(saved.tokens) > 85
        files.write("a.bin", saved)
        wait(engine, restore_slot(2, files.read("a.bin")))
        _, result = run(engine, ask(engine, "a" * 90, id_slot=2))
    assert result.n_cached == result.n_prompt - 1


def test_what_a_restored_slot_replaces_is_kept_in_ram(tiny_model_path, tmp_path):
    files = SlotFiles(tmp_path)
    with running(tiny_model_path, n_parallel=1) as engine:
        run(engine, ask(engine, "a" * 90))
        files.write("a.bin", wait(engine, save_slot(0)))
        run(engine, ask(engine, "b" * 90))
        wait(engine, restore_slot(0, files.read("a.bin")))
        _, result = run(engine, ask(engine, "b" * 90))
    assert result.n_cached == result.n_prompt - 1


@pytest.mark.parametrize("kind", ["mamba", "swa", "jamba"])
def test_checkpoints_are_restored_with_memory_that_cannot_be_cut(kind, tmp_path):
    path = models.memory_model(kind)
    files = SlotFiles(tmp_path)
    beginning = "once upon a time " * 8
    options = {"n_batch": 32, "n_ubatch": 32, "cache_ram_mib": 0}
    with running(path, **options) as engine:
        run(engine, ask(engine, beginning + "the end", id_slot=0))
        saved = wait(engine, save_slot(0))
        assert saved.checkpoints
        files.write("a.bin", saved)
        fresh, _ = run(engine, ask(engine, beginning + "was it", cache_prompt=False))
        wait(engine, erase_slot(0))
        wait(engine, erase_slot(1))
        wait(engine, restore_slot(1, files.read("a.bin")))
        again, result = run(engine, ask(engine, beginning + "was it", id_slot=1))
    assert result.n_cached > 0
    assert again.tokens == fresh.tokens


def test_a_shifted_slot_is_saved_as_far_as_it_stands_for_itself(
    tiny_model_path, tmp_path
):
    options = {"n_ctx": 256, "n_parallel": 1, "context_shift": True}
    with running(tiny_model_path, **options) as engine:
        request = ask(engine, max_tokens=300, ignore_eos=True, n_keep=8)
        _, result = run(engine, request)
        assert result.truncated
        saved = wait(engine, save_slot(0))
        assert saved.tokens == list(request.prompt_tokens[: len(saved.tokens)])
        assert 8 <= len(saved.tokens) <= result.n_prompt
        SlotFiles(tmp_path).write("a.bin", saved)
        wait(engine, restore_slot(0, SlotFiles(tmp_path).read("a.bin")))


# -- with a fake model -----------------------------------------------------------------


@pytest.fixture
def held():
    """An engine whose decodes wait, the event that lets them go, and its model."""
    model = FakeModel()
    release = hold_decodes(model)
    engine = Engine(EngineConfig("x", n_parallel=2), load=model.load)
    engine.start()
    engine.wait_ready(WAIT_S)
    yield engine, release, model
    release.set()
    engine.stop(0)


def test_an_order_for_a_busy_slot_waits_until_it_is_idle(held):
    engine, release, _ = held
    generation = engine.submit(make_request(id_slot=0, max_tokens=1))
    eventually(lambda: engine.slots()[0].is_processing)
    orders = [save_slot(0), erase_slot(0), save_slot(0)]
    for order in orders:
        engine.order(order)
    assert not orders[0].done.done()
    release.set()
    saved, n_erased, empty = (order.done.result(WAIT_S) for order in orders)
    assert generation.wait(WAIT_S) is not None
    assert (len(saved.tokens), n_erased, empty.tokens) == (4, 4, [])


def test_an_order_comes_before_requests_that_wait_for_the_slot(held):
    engine, release, _ = held
    engine.submit(make_request(id_slot=0, max_tokens=1))
    later = engine.submit(make_request(id_slot=0, max_tokens=1, first=200))
    eventually(lambda: engine.slots()[0].is_processing)
    order = save_slot(0)
    engine.order(order)
    release.set()
    assert order.done.result(WAIT_S).tokens == [100, 101, 102, 103]
    assert later.wait(WAIT_S) is not None


def test_an_order_that_was_taken_back_is_not_carried_out(held):
    engine, release, _ = held
    generation = engine.submit(make_request(id_slot=0, max_tokens=1))
    eventually(lambda: engine.slots()[0].is_processing)
    order, after = erase_slot(0), save_slot(0)
    engine.order(order)
    engine.order(after)
    assert order.done.cancel()
    release.set()
    assert generation.wait(WAIT_S) is not None
    assert after.done.result(WAIT_S).tokens


def test_orders_are_answered_when_the_engine_stops(held):
    engine, _, _ = held
    engine.submit(make_request(id_slot=0))
    eventually(lambda: engine.slots()[0].is_processing)
    order = save_slot(0)
    engine.order(order)
    engine.stop(0)
    with pytest.raises(EngineStopped):
        order.done.result(WAIT_S)
    with pytest.raises(EngineStopped):
        engine.order(save_slot(0))


def test_a_slot_that_does_not_exist_is_refused(held):
    engine, _, _ = held
    for slot in (-1, 2):
        with pytest.raises(ValueError, match="Invalid slot ID"):
            engine.order(erase_slot(slot))
