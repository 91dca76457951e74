"""Logprobs of prompts: which logits are asked for, and that each comes once."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llamactypes import Context, ContextParams, Model
from llamactypes.batch import Batch
from llamactypes.engine import Engine, EngineConfig, GenerationRequest
from llamactypes.engine.planning.plan import PromptProbs
from llamactypes.engine.request import TokenProbs
from llamactypes.errors import DecodeAborted, KVCacheFull
from llamactypes.sampling_params import SamplingParams
from tests.support import models
from tests.support.builders import make_request, make_scheduler, make_sequence, step
from tests.support.fake_model import FakeModel
from tests.support.waiting import eventually

WAIT_S = 60.0
PROMPT = "Once upon a time there was a little girl who"


# -- what is planned -------------------------------------------------------------------


def rows(plan):
    return [list(chunk.prompt_rows) for chunk in plan.chunks]


def take_probs(scheduler, plan):
    """Answer a plan's rows as a runner does."""
    found = [
        PromptProbs(
            chunk.sequence, (TokenProbs(0, b"", 0.0, ()),) * len(chunk.prompt_rows)
        )
        for chunk in plan.chunks
        if chunk.prompt_rows
    ]
    scheduler.apply_prompt_probs(found)


def test_every_position_but_the_last_is_a_row():
    scheduler = make_scheduler(n_batch=32)
    scheduler.submit(make_sequence(5, prompt_probs=0))
    scheduler.submit(make_sequence(3, first=500))
    plan, _ = step(scheduler)
    assert rows(plan) == [[0, 1, 2, 3], []]


def test_rows_of_one_plan_are_bounded_over_all_prompts():
    scheduler = make_scheduler(n_batch=32, n_rows=6)
    scheduler.submit(make_sequence(5, prompt_probs=1))
    scheduler.submit(make_sequence(8, first=500, prompt_probs=1))
    scheduler.admit()
    for admission in scheduler.begin():
        scheduler.start(admission, admission.n_cached, 1.0)
    plan = scheduler.plan()
    assert rows(plan) == [[0, 1, 2, 3], [0, 1]]
    assert [chunk.n_tokens for chunk in plan.chunks] == [5, 2]


def test_a_prompt_without_rows_left_waits_and_others_go_on():
    scheduler = make_scheduler(n_slots=3, n_batch=32, n_rows=4)
    for first, options in ((100, {"prompt_probs": 1}), (500, {"prompt_probs": 1})):
        scheduler.submit(make_sequence(9, first=first, **options))
    plain = make_sequence(6, first=900)
    scheduler.submit(plain)
    plan, _ = step(scheduler)
    assert [chunk.n_tokens for chunk in plan.chunks] == [4, 6]
    assert plan.chunks[1].sequence is plain


def test_nothing_is_reused_for_a_prompt_whose_logprobs_are_wanted():
    scheduler = make_scheduler(n_batch=64)
    scheduler.submit(make_sequence(40, max_tokens=1))
    step(scheduler)
    wanted = make_sequence(40, max_tokens=1, prompt_probs=1)
    scheduler.submit(wanted)
    plan, _ = step(scheduler)
    assert (wanted.n_cached, plan.chunks[0].n_tokens) == (0, 40)


def test_others_reuse_what_was_computed_for_logprobs():
    scheduler = make_scheduler(n_batch=64)
    scheduler.submit(make_sequence(40, max_tokens=1, prompt_probs=1))
    step(scheduler)
    again = make_sequence(40, max_tokens=1)
    scheduler.submit(again)
    step(scheduler)
    assert again.n_cached == 39


def test_after_a_preemption_only_missing_rows_are_asked_for():
    scheduler = make_scheduler(n_batch=8)
    older = make_sequence(4, first=500)
    sequence = make_sequence(20, prompt_probs=1)
    scheduler.submit(older)
    scheduler.submit(sequence)
    plan, _ = step(scheduler)  # 4 of the older one, 4 of ours
    take_probs(scheduler, plan)
    scheduler.make_room()
    assert (sequence.slot, sequence.n_prompt_probs) == (None, 4)
    scheduler.end(older, None)
    scheduler.admit()
    (admission,) = scheduler.begin()
    assert admission.n_cached <= 4
    scheduler.start(admission, 0, 2.0)
    assert rows(scheduler.plan()) == [[4, 5, 6, 7]]


def test_an_interrupted_decode_is_not_believed_where_logprobs_are_missing():
    scheduler = make_scheduler(n_batch=8)
    sequence = make_sequence(20, prompt_probs=1)
    scheduler.submit(sequence)
    plan, _ = step(scheduler)
    take_probs(scheduler, plan)
    assert scheduler.resync(sequence, 14) == 8
    assert rows(scheduler.plan()) == [list(range(8, 16))]


# -- the engine, with a fake model -----------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    failures=st.lists(
        st.sampled_from([KVCacheFull("full", 1), DecodeAborted("aborted", 2), None]),
        max_size=6,
    ),
    lengths=st.lists(st.integers(1, 50), min_size=1, max_size=4),
    kv_unified=st.booleans(),
)
def test_each_token_is_told_once_and_in_order(failures, lengths, kv_unified):
    """Whatever is interrupted, preempted and computed again."""
    model = FakeModel(n_batch=16)
    pending = list(failures)

    def fail() -> None:
        error = pending.pop(0) if pending else None
        # Alone, a sequence that finds no room has no way on.
        if isinstance(error, KVCacheFull) and len(model.runner.plans[-1].chunks) < 2:
            return
        if error is not None:
            raise error

    model.runner.before_run = fail
    config = EngineConfig("fake.gguf", n_parallel=4, kv_unified=kv_unified)
    engine = Engine(config, load=model.load)
    engine.start()
    try:
        engine.wait_ready(WAIT_S)
        requests = [
            make_request(n, first=100 * i, max_tokens=2, prompt_probs=0)
            for i, n in enumerate(lengths, start=1)
        ]
        for generation in engine.submit_many(requests):
            assert generation.wait(WAIT_S).error is None
            prompt = generation.request.prompt_tokens
            assert told(generation) == [
                (token, -row) for row, token in enumerate(prompt[1:])
            ]
    finally:
        engine.stop(0)


def told(generation):
    """Return (token, value) of all prompt logprobs."""
    deltas, _ = generation.read(0)
    found = [each for delta in deltas for each in delta.prompt_probs]
    return [(each.token, each.value) for each in found]


def test_a_large_vocabulary_gets_fewer_rows():
    class Large(FakeModel):
        def _info(self, config):
            return replace(super()._info(config), n_vocab=1 << 20)

    model = Large(n_batch=32)
    engine = Engine(EngineConfig("fake.gguf"), load=model.load)
    engine.start()
    try:
        engine.wait_ready(WAIT_S)
        generation = engine.submit(make_request(30, max_tokens=1, prompt_probs=1))
        assert generation.wait(WAIT_S).error is None
    finally:
        engine.stop(0)
    chunks = [plan.chunks[0] for plan in model.runner.plans]
    # 64 MiB of float32 logits: 16 rows.
    assert [len(chunk.prompt_rows) for chunk in chunks] == [16, 13]


def test_a_negative_number_of_rivals_is_refused():
    engine = Engine(EngineConfig("fake.gguf"), load=FakeModel().load)
    engine.start()
    try:
        engine.wait_ready(WAIT_S)
        with pytest.raises(ValueError, match="prompt_probs"):
            engine.submit(make_request(prompt_probs=-1))
    finally:
        engine.stop(0)


# -- the numbers, with a real model ----------------------------------------------------


@contextmanager
def running(path, **options):
    options = {"n_ctx": 2048, "n_parallel": 4, **options}
    engine = Engine(EngineConfig(str(path), n_threads=1, **options))
    engine.start()
    try:
        engine.wait_ready(WAIT_S)
        yield engine
        eventually(lambda: engine.metrics().requests_processing == 0, WAIT_S)
    finally:
        engine.stop(0)
    assert engine.metrics().cache_repairs == 0


def direct(path, tokens) -> np.ndarray:
    """Return the log-softmax of every row of a prompt, computed in one decode."""
    n = len(tokens)
    params = ContextParams(n_ctx=1024, n_batch=1024, n_threads=1)
    with Model(path) as model, Context(model, params) as context, Batch(n) as batch:
        for position, token in enumerate(tokens):
            batch.add(token, position, 0, True)
        context.decode(batch)
        logits = np.array([context.logits(i) for i in range(n)], dtype=np.float64)
    logits -= logits.max(axis=1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def ask(engine, text, **options) -> GenerationRequest:
    tokens = tuple(engine.vocab.tokenize(text, add_special=True))
    options = {"max_tokens": 1, "prompt_probs": 3, **options}
    return GenerationRequest(tokens, SamplingParams(temperature=0.0), **options)


def check(path, generation, within: float = 0.05) -> None:
    """Compare a generation's prompt logprobs with a direct computation.

    Kernels round differently for other sizes of batches; a neighbour's logprobs would
    be off by more than 1.
    """
    assert generation.wait(WAIT_S).error is None
    tokens = generation.request.prompt_tokens
    found = [p for delta in generation.read(0)[0] for p in delta.prompt_probs]
    assert [each.token for each in found] == list(tokens[1:])
    expected = direct(path, tokens)
    for row, each in zip(expected, found, strict=False):
        assert each.value == pytest.approx(row[each.token], abs=within)
        for token, _, value in each.top:
            assert value == pytest.approx(row[token], abs=within)
        best = [value for _, _, value in each.top]
        assert best == pytest.approx(np.sort(row)[::-1][: len(best)], abs=within)
        assert len(best) == generation.request.prompt_probs


@pytest.mark.parametrize("n_batch", [16, 100, 512])
def test_numbers_are_those_of_a_direct_computation(tiny_model_path, n_batch):
    with running(tiny_model_path, n_batch=n_batch) as engine:
        within = 1e-6 if n_batch == 512 else 0.05
        check(tiny_model_path, engine.submit(ask(engine, PROMPT * 6)), within)


def test_a_cached_prompt_has_the_same_numbers(tiny_model_path):
    with running(tiny_model_path) as engine:
        for _ in range(2):
            generation = engine.submit(ask(engine, PROMPT * 2))
            check(tiny_model_path, generation)
            assert generation.result.n_cached == 0


@pytest.mark.parametrize("kv_unified", [True, False])
def test_numbers_of_many_prompts_at_once(tiny_model_path, kv_unified):
    with running(tiny_model_path, n_batch=64, kv_unified=kv_unified) as engine:
        requests = [
            ask(engine, f"{PROMPT} {i} " * (1 + i % 3), prompt_probs=i % 3)
            for i in range(8)
        ]
        for generation in engine.submit_many(requests):
            check(tiny_model_path, generation)


def test_numbers_beside_running_streams(tiny_model_path):
    with running(tiny_model_path, prefill_gap_ms=1) as engine:
        endless = ask(
            engine, "a", max_tokens=-1, ignore_eos=True, prompt_probs=None, n_keep=1
        )
        streams = engine.submit_many([endless, endless])
        for stream in streams:
            stream.read(0, WAIT_S)
        generation = engine.submit(ask(engine, PROMPT * 5))
        generation.wait(WAIT_S)
        parts = [delta for delta in generation.read(0)[0] if delta.prompt_probs]
        assert len(parts) > 2
        check(tiny_model_path, generation)
        for stream in streams:
            stream.cancel()


def test_numbers_survive_interrupts(tiny_model_path):
    with running(tiny_model_path, n_ubatch=32) as engine:
        done = threading.Event()

        def interrupt() -> None:
            while not done.wait(0.001):
                engine._interrupt()

        other = threading.Thread(target=interrupt)
        other.start()
        generations = engine.submit_many([ask(engine, PROMPT * 6)] * 2)
        done.wait(0.1)
        done.set()
        other.join()
        for generation in generations:
            check(tiny_model_path, generation)


@pytest.mark.parametrize("kind", ["swa", "mamba", "jamba"])
def test_numbers_of_memory_that_cannot_be_rolled_back(kind):
    path = models.memory_model(kind)
    with running(path, n_batch=64) as engine:
        for generation in engine.submit_many([ask(engine, PROMPT * 4)] * 2):
            check(path, generation)
        generation = engine.submit(ask(engine, PROMPT * 4))
        for _ in range(10):
            engine._interrupt()
            generation.wait(0.001)
        check(path, generation)


def test_numbers_of_a_prompt_that_fills_its_context(tiny_model_path):
    with running(tiny_model_path, n_ctx=256, n_parallel=1) as engine:
        tokens = tuple(3 + i % 200 for i in range(engine.info.n_ctx_slot - 1))
        request = GenerationRequest(tokens, max_tokens=0, prompt_probs=1)
        check(tiny_model_path, engine.submit(request))


def test_one_token_has_no_logprob(tiny_model_path):
    with running(tiny_model_path) as engine:
        request = GenerationRequest((5,), max_tokens=1, prompt_probs=1)
        generation = engine.submit(request)
        assert generation.wait(WAIT_S).n_decoded == 1
        assert told(generation) == []
