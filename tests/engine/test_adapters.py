"""LoRA adapters of requests: which set computes what, and when."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llamactypes.engine.planning.adapters import (
    NO_ADAPTERS,
    AdapterTurns,
    AdapterUse,
    adapter_use,
    scales_of,
)
from llamactypes.engine.slot_files import SlotFiles
from llamactypes.engine.slot_orders import restore_slot, save_slot
from llamactypes.errors import AdapterError
from tests.engine.test_engine_models import ask, run, running
from tests.support import tiny_gguf
from tests.support.builders import make_scheduler, make_sequence, step

USES = st.builds(AdapterUse, st.sampled_from([(), (1.0,), (0.5,)]), st.integers(0, 8))
PROMPT = "Once upon a time there was a little girl who " * 3


@given(USES, USES)
def test_tokens_are_alike_until_the_first_that_differs(a, b):
    n = a.n_alike(b)
    assert n == b.n_alike(a)
    assert all(a.at(i) == b.at(i) for i in range(min(n, 20)))
    if n < 20:
        assert a.at(n) != b.at(n)


def test_scales_that_are_not_given_are_off():
    assert scales_of({1: 0.5}, 3) == (0.0, 0.5, 0.0)


@pytest.mark.parametrize(("id", "n"), [(3, 3), (-1, 3), (0, 0)])
def test_an_adapter_that_does_not_exist_is_named(id, n):
    with pytest.raises(AdapterError, match=f"no LoRA adapter {id}"):
        scales_of({id: 1.0}, n)


def test_an_activated_adapter_begins_where_its_tokens_stand_last():
    tokens = [1, 7, 8, 2, 7, 8, 3, 7]
    assert adapter_use(tokens, (0.5,), [(7, 8)]) == AdapterUse((0.5,), 4)
    assert adapter_use([1, 7, 7, 8], (1.0,), [(7, 8)]).start == 2
    assert adapter_use([7, 7], (1.0,), [(7, 8)]) == NO_ADAPTERS
    assert adapter_use([], (1.0,), [(7, 8)]) == NO_ADAPTERS


def test_beside_an_ordinary_adapter_an_activated_one_is_ordinary():
    assert adapter_use([1], (1.0, 1.0), [(7,), ()]) == AdapterUse((1.0, 1.0))
    assert adapter_use([7], (0.0, 1.0), [(7,), ()]) == AdapterUse((0.0, 1.0))


def test_two_activated_adapters_are_refused():
    with pytest.raises(AdapterError, match="multiple aLoRAs"):
        adapter_use([7], (1.0, 1.0), [(7,), (8,)])
    assert adapter_use([7], (0.0, 0.0), [(7,), (8,)]) == NO_ADAPTERS


def test_a_shift_moves_where_an_activated_adapter_begins():
    use = AdapterUse((1.0,), 10)
    assert use.shifted(2, 5).start == 5
    assert use.shifted(2, 50).start == 2
    assert use.shifted(10, 5).start == 10


# -- planning --------------------------------------------------------------------------


def sequences(*scales, n_prompt=4, **options):
    made = [make_sequence(n_prompt, **options) for _ in scales]
    for sequence, each in zip(made, scales, strict=True):
        sequence.use = AdapterUse(each) if each else NO_ADAPTERS
    return made


def test_a_plan_has_one_set_and_the_sets_take_turns():
    scheduler = make_scheduler(4, 64, 32, has_adapters=True)
    for sequence in sequences((1.0,), (), (1.0,), (0.5,)):
        scheduler.submit(sequence)
    seen = []
    for now in range(12):
        plan, _ = step(scheduler, float(now))
        (scales,) = {chunk.sequence.use.scales for chunk in plan.chunks}
        assert scales == plan.scales
        seen.append(scales)
    assert seen[:3] == seen[3:6] == seen[6:9] == seen[9:]
    assert set(seen[:3]) == {(), (0.5,), (1.0,)}


def test_turns_without_a_difference_are_everyones():
    running = sequences((1.0,), (1.0,))
    for sequence in running:
        sequence.is_entered = True
    assert AdapterTurns().choose(running) is running


def test_a_prompt_of_another_set_leaves_streams_their_pace():
    pace = SimpleNamespace(n_prompt_max=16)
    scheduler = make_scheduler(2, 256, 64, has_adapters=True, pace=pace)
    stream, late = sequences((1.0,), ())
    scheduler.submit(stream)
    step(scheduler)
    (late,) = sequences((), n_prompt=60)
    scheduler.submit(late)
    scheduler.admit()
    for admission in scheduler.begin():
        scheduler.start(admission, 0, 1.0)
    plans = [scheduler.plan(), scheduler.plan()]
    assert sorted(plan.n_tokens for plan in plans) == [1, 16]


def test_a_chunk_ends_where_an_activated_adapter_begins():
    scheduler = make_scheduler(1, 64, 32, has_adapters=True)
    sequence = make_sequence(20)
    sequence.use = AdapterUse((1.0,), 9)
    scheduler.submit(sequence)
    plans = [step(scheduler, float(now))[0] for now in range(3)]
    assert [(p.chunks[0].n_tokens, p.scales) for p in plans] == [
        (9, ()),
        (11, (1.0,)),
        (1, (1.0,)),
    ]


def test_a_prefix_is_taken_only_from_the_same_set():
    scheduler = make_scheduler(3, 64, 64, has_adapters=True)
    first, same, other = sequences((1.0,), (1.0,), (0.5,), n_prompt=40, max_tokens=1)
    cached = []
    for sequence in (first, same, other):
        scheduler.submit(sequence)
        step(scheduler)
        cached.append(sequence.n_cached)
    assert cached == [0, 39, 0]


def test_what_comes_before_an_activated_adapter_is_everyones():
    scheduler = make_scheduler(3, 64, 64, has_adapters=True)
    plain, active = sequences((), (), n_prompt=40, max_tokens=1)
    active.use = AdapterUse((1.0,), 30)
    for sequence in (plain, active):
        scheduler.submit(sequence)
        while scheduler.has_work:
            step(scheduler)
    assert (plain.n_cached, active.n_cached) == (0, 30)


def test_nobody_waits_for_a_prefix_of_another_set():
    scheduler = make_scheduler(3, 256, 256, has_adapters=True)
    first, other, same = sequences((1.0,), (0.5,), (1.0,), n_prompt=100)
    for sequence in (first, other, same):
        scheduler.submit(sequence)
    scheduler.admit()
    assert other.waits_for is None
    assert same.waits_for is first


# -- on the real library ---------------------------------------------------------------


@pytest.fixture(scope="module")
def adapters(tmp_path_factory):
    """Paths of two ordinary adapters, and of one that ``<unk>`` activates."""
    folder = tmp_path_factory.mktemp("adapters")
    for name, seed, invocation in (("a", 1, ()), ("b", 2, ()), ("c", 3, (0, 0))):
        path = folder / f"{name}.gguf"
        tiny_gguf.write_lora(path, seed=seed, invocation=invocation)
    return [str(folder / f"{name}.gguf") for name in "abc"]


def written_with(path, lora, prompt=PROMPT):
    """Return what a server writes that has these adapters for everyone."""
    with running(path, lora=lora) as engine:
        return run(engine, ask(engine, prompt, max_tokens=12))[0].tokens


def test_requests_with_different_adapters_run_side_by_side(tiny_model_path, adapters):
    a, b = adapters[:2]
    wanted = {
        (): written_with(tiny_model_path, ()),
        ((0, 1.0),): written_with(tiny_model_path, ((a, 1.0),)),
        ((0, 0.5),): written_with(tiny_model_path, ((a, 0.5),)),
        ((1, 1.0),): written_with(tiny_model_path, ((b, 1.0),)),
        ((0, 1.0), (1, 2.0)): written_with(tiny_model_path, ((a, 1.0), (b, 2.0))),
    }
    assert len(set(map(tuple, wanted.values()))) == len(wanted)
    lora = ((a, 0.0), (b, 0.0))
    with running(tiny_model_path, lora=lora, n_parallel=4, n_ctx=2048) as engine:
        requests = [ask(engine, PROMPT, lora=each, max_tokens=12) for each in wanted]
        for _ in range(2):
            generations = engine.submit_many(requests * 2)
            for generation in generations:
                assert generation.wait(60) is not None
                assert generation.tokens == wanted[generation.request.lora]


def test_the_engines_own_adapters_change_for_later_requests(tiny_model_path, adapters):
    plain = written_with(tiny_model_path, ())
    with running(tiny_model_path, lora=((adapters[0], 1.0),)) as engine:
        with_adapter, _ = run(engine, ask(engine, PROMPT, max_tokens=12))
        assert [scale for _, scale in engine.adapters] == [1.0]
        engine.set_adapters({})
        without, result = run(engine, ask(engine, PROMPT, max_tokens=12))
        engine.set_adapters({0: 1.0})
        again, _ = run(engine, ask(engine, PROMPT, max_tokens=12))
        with pytest.raises(AdapterError):
            engine.set_adapters({1: 1.0})
        with pytest.raises(AdapterError):
            engine.submit(ask(engine, lora=((1, 1.0),)))
    assert without.tokens == plain != with_adapter.tokens == again.tokens
    assert result.n_cached == 0


def test_facts_about_adapters_are_those_of_their_files(tiny_model_path, adapters):
    with running(tiny_model_path, lora=((adapters[2], 0.0),)) as engine:
        ((info, scale),) = engine.adapters
    assert (info.path, scale) == (adapters[2], 0.0)
    assert (info.task_name, info.prompt_prefix) == ("tests", "prefix")
    assert info.invocation_tokens == (0, 0)
    assert info.invocation_text == "<unk><unk>"


def test_an_activated_adapter_shares_what_comes_before_it(tiny_model_path, adapters):
    prompt = PROMPT + "<unk><unk> he said"
    plain = written_with(tiny_model_path, (), prompt)
    with running(tiny_model_path, lora=((adapters[2], 1.0),)) as engine:
        request = ask(engine, prompt, max_tokens=12)
        start = request.prompt_tokens.index(0)
        run(engine, ask(engine, PROMPT, max_tokens=1, id_slot=0))
        fresh, _ = run(
            engine, ask(engine, prompt, max_tokens=12, cache_prompt=False, id_slot=1)
        )
        shared, result = run(engine, ask(engine, prompt, max_tokens=12, id_slot=0))
        without, _ = run(engine, ask(engine, prompt, max_tokens=12, lora=((0, 0.0),)))
    assert fresh.tokens == shared.tokens != plain == without.tokens
    assert start - 2 <= result.n_cached <= start


def test_a_slots_file_belongs_to_the_engines_adapters(
    tiny_model_path, adapters, tmp_path
):
    files = SlotFiles(tmp_path)
    with running(tiny_model_path, lora=((adapters[0], 0.0),)) as engine:
        run(engine, ask(engine, PROMPT, id_slot=0, lora=((0, 1.0),)))
        order = save_slot(0)
        engine.order(order)
        with pytest.raises(AdapterError, match="slot 0"):
            order.done.result(20)
        engine.set_adapters({0: 1.0})
        order = save_slot(0)
        engine.order(order)
        files.write("a.bin", order.done.result(20))
        restored = restore_slot(1, files.read("a.bin"))
        engine.order(restored)
        restored.done.result(20)
        _, other = run(engine, ask(engine, PROMPT, id_slot=1, lora=()))
        assert other.n_cached == 0
