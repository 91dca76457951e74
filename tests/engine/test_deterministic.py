"""Deterministic mode: fixed pieces, one sequence per decode, and the same bits."""

from __future__ import annotations

import random
from contextlib import contextmanager

import pytest

from llamactypes.engine import Engine, EngineConfig, GenerationRequest
from llamactypes.engine.planning.deterministic import Turns, without_chance
from llamactypes.errors import ContextError
from llamactypes.sampling_params import SamplingParams
from tests.support.builders import make_request, make_scheduler, make_sequence, step
from tests.support.models import memory_model

CUT = 8
WAIT_S = 60.0


def scheduler_of(n_slots=3):
    return make_scheduler(n_slots, n_ctx_slot=256, n_batch=64, turns=Turns(CUT))


def next_chunk(scheduler):
    """Do a step, which must decode one piece of one sequence."""
    (chunk,) = step(scheduler)[0].chunks
    return chunk


def expected_pieces(sequence, n_pieces):
    """Return the first pieces after what was cached, from the request alone."""
    n_prompt = sequence.n_prompt
    starts = range(sequence.n_cached, n_prompt, CUT)
    in_prompt = [(start, min(CUT, n_prompt - start)) for start in starts]
    return (in_prompt + [(n_prompt + i, 1) for i in range(n_pieces)])[:n_pieces]


# -- plans ---------------------------------------------------------------------------


def test_prompt_is_cut_at_fixed_positions_and_the_answer_into_tokens():
    scheduler = scheduler_of()
    scheduler.submit(make_sequence(19, max_tokens=3))
    chunks = [next_chunk(scheduler) for _ in range(5)]
    found = [(chunk.start, chunk.n_tokens) for chunk in chunks]
    assert found == [(0, 8), (8, 8), (16, 3), (19, 1), (20, 1)]
    assert [chunk.wants_logits for chunk in chunks] == [False, False, True, True, True]
    assert not scheduler.has_work


def random_sequence(dice):
    options = {"first": dice.choice((100, 500)), "max_tokens": dice.randrange(9)}
    return make_sequence(dice.randrange(1, 60), **options)


@pytest.mark.parametrize("seed", range(40))
def test_pieces_do_not_depend_on_company_arrivals_and_cancels(seed):
    dice, scheduler, chunks = random.Random(seed), scheduler_of(), []
    everyone = [random_sequence(dice) for _ in range(12)]
    arriving = list(everyone)
    while arriving or scheduler.has_work:
        if arriving and dice.random() < 0.3:
            scheduler.submit(arriving.pop())
        if scheduler.running and dice.random() < 0.05:
            scheduler.cancel(dice.choice(scheduler.running))
        if scheduler.has_work:
            chunks += step(scheduler)[0].chunks
    for sequence in everyone:
        own = [one for one in chunks if one.sequence is sequence]
        found = [(chunk.start, chunk.n_tokens) for chunk in own]
        assert sequence.n_cached % CUT == 0
        assert found == expected_pieces(sequence, len(found))


def test_preempted_sequence_computes_its_tokens_one_by_one_again():
    scheduler = scheduler_of(n_slots=2)
    first, second = make_sequence(9), make_sequence(9, first=300)
    for sequence in (first, second):
        scheduler.submit(sequence)
    while second.n_decoded < 3:
        next_chunk(scheduler)
    scheduler.make_room()
    scheduler.cancel(first)
    chunks = [next_chunk(scheduler) for _ in range(5)]
    found = [(chunk.start, chunk.n_tokens) for chunk in chunks]
    assert found == [(0, 8), (8, 1), (9, 1), (10, 1), (11, 1)]
    wanted = [chunk.wants_logits for chunk in chunks]
    assert wanted == [False, False, False, False, True]


def test_streams_get_one_token_between_two_pieces_of_prompts():
    scheduler = scheduler_of(n_slots=4)
    streams = [make_sequence(4, first=n * 50, max_tokens=50) for n in (2, 3)]
    prompts = [make_sequence(40, first=n * 50, max_tokens=1) for n in (12, 14)]
    for sequence in streams:
        scheduler.submit(sequence)
    while not all(sequence.is_generating for sequence in streams):
        next_chunk(scheduler)
    next_chunk(scheduler)  # the round that began before ends
    for sequence in prompts:
        scheduler.submit(sequence)
    rounds = [[next_chunk(scheduler).sequence for _ in range(3)] for _ in range(10)]
    assert rounds == [[prompts[0], *streams]] * 5 + [[prompts[1], *streams]] * 5


def test_prefix_is_reused_in_whole_pieces_of_a_prompt_only():
    scheduler = scheduler_of(n_slots=2)
    first = make_sequence(20, max_tokens=30)
    scheduler.submit(first)
    while scheduler.has_work:
        next_chunk(scheduler)
    longer = make_sequence(tokens=(*first.tokens, 1, 2, 3))
    scheduler.submit(longer)
    next_chunk(scheduler)
    assert longer.n_cached == 16  # of 49 that are computed: 20 were a prompt


def test_prompt_in_the_making_is_awaited_as_far_as_it_can_be_reused():
    scheduler = scheduler_of(n_slots=2)
    shared = tuple(range(1000, 1045))
    first, second = (make_sequence(tokens=(*shared, n)) for n in (1, 2))
    scheduler.submit(first)
    scheduler.submit(second)
    for _ in range(5):
        assert next_chunk(scheduler).sequence is first
    while not second.is_entered:
        next_chunk(scheduler)
    assert second.n_cached == 40


# -- configuration -------------------------------------------------------------------


def test_resolved_configuration_has_a_whole_buffer_for_each_slot():
    config = EngineConfig("m", deterministic=True).resolved()
    assert (config.is_unified, config.swa_full, config.cache_ram_mib) == (
        False,
        True,
        0,
    )
    assert config.n_slots == 4
    assert config.resolved() == config


def test_ordinary_configuration_is_left_as_it_is():
    config = EngineConfig("m", context_shift=True, kv_unified=True)
    assert config.resolved() is config


@pytest.mark.parametrize("name", ["kv_unified", "context_shift"])
def test_what_cannot_be_had_is_refused(name):
    with pytest.raises(ContextError, match="--" + name.replace("_", "-")):
        Engine(EngineConfig("m", deterministic=True, **{name: True}))


def test_nothing_in_a_request_is_left_to_chance():
    sampling = SamplingParams(seed=7, backend_sampling=True)
    given = make_request(sampling=sampling, n_cache_reuse=8)
    requests = without_chance([make_request(), given, make_request()])
    assert [request.sampling.seed for request in requests] == [0, 7, 2]
    assert not any(request.sampling.backend_sampling for request in requests)
    assert not any(request.n_cache_reuse for request in requests)


# -- real models ---------------------------------------------------------------------


@contextmanager
def running(path):
    options = {"n_ctx": 2048, "n_parallel": 4, "n_ubatch": 16, "n_threads": 1}
    engine = Engine(EngineConfig(str(path), deterministic=True, **options))
    engine.start()
    try:
        engine.wait_ready(WAIT_S)
        yield engine
    finally:
        engine.stop(0)
    assert engine.metrics().cache_repairs == 0


def ask(engine, text, *, max_tokens=12, cache_prompt=True, **sampling):
    tokens = engine.vocab.tokenize(text, add_special=True)
    return GenerationRequest(
        tuple(tokens),
        SamplingParams(n_probs=3, **sampling),
        max_tokens=max_tokens,
        cache_prompt=cache_prompt,
    )


def answer(generation):
    """Return all that must be equal: tokens, text and every logprob, exactly."""
    assert generation.wait(WAIT_S).error is None
    probs = [one for delta in generation.read(0)[0] for one in delta.probs]
    return generation.tokens, generation.text, probs


STORY = "Once upon a time there was a little girl who liked to play outside. " * 2
TEXTS = ("Hello", STORY + "Her name was Lily.", STORY + "One day it rained.")
MODES = ({"temperature": 0.0}, {"temperature": 1.0, "seed": 5}, {})


def questions(engine, texts, modes, **options):
    return [ask(engine, text, **mode, **options) for text in texts for mode in modes]


def check_same_bits(path, max_tokens, n_reused=16, texts=TEXTS, modes=MODES):
    with running(path) as engine:
        options = {"max_tokens": max_tokens}
        requests = questions(engine, texts, modes, **options)
        alone = questions(engine, texts, modes, **options, cache_prompt=False)
        expected = [answer(engine.submit(request)) for request in alone]
        # From prefixes of those before, in another order.
        for place in (-1, -len(modes) - 1):
            generation = engine.submit(requests[place])
            assert answer(generation) == expected[place]
            assert generation.result.n_cached >= n_reused
        # All at once, more than there are slots; some others come and go.
        generations = []
        for place, request in enumerate(requests):
            other = engine.submit(ask(engine, f"{place} noise", max_tokens=max_tokens))
            generations.append(engine.submit(request))
            if place % 2:
                other.wait_started(WAIT_S)
                other.cancel()
            engine._interrupt()  # as if meant for another: computed once more
        assert [answer(generation) for generation in generations] == expected


def test_same_bits_alone_after_others_and_beside_others(stories_model_path):
    check_same_bits(stories_model_path, max_tokens=20)


def test_same_bits_with_kernels_that_differ_by_the_rows(smollm2_path):
    check_same_bits(smollm2_path, 3, texts=TEXTS[1:], modes=MODES[:2])


@pytest.mark.parametrize("kind", ["swa", "mamba", "jamba"])
def test_same_bits_whatever_the_memory(kind):
    check_same_bits(memory_model(kind), max_tokens=20, n_reused=0)


def test_choices_differ_from_each_other_and_not_from_their_like(stories_model_path):
    with running(stories_model_path) as engine:
        requests = [ask(engine, "Once upon a time", temperature=2.0)] * 3
        first = [answer(one) for one in engine.submit_many(requests)]
        again = [answer(one) for one in engine.submit_many(requests)]
    assert first == again
    assert first[0] != first[1] != first[2]
