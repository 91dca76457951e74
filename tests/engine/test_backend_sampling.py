"""Requests sampled inside the graph: the same text, whatever happens around them."""

from __future__ import annotations

import logging

import pytest

from llamactypes.engine import FinishReason
from llamactypes.sampling_params import SamplingParams
from tests.engine.test_engine_models import PROMPT, WAIT_S, ask, run, running
from tests.support.waiting import eventually

GREEDY = {"temperature": 0.0}
SEEDED = {"seed": 4, "temperature": 1.0}


def pair(engine, text=PROMPT, *, sampling=GREEDY, **options):
    """Return one request twice: sampled here, sampled in the graph."""
    options.setdefault("cache_prompt", False)
    return tuple(
        ask(
            engine,
            text,
            sampling=SamplingParams(backend_sampling=is_there, **sampling),
            **options,
        )
        for is_there in (False, True)
    )


def n_set(engine):
    return len(engine._loaded._context.samplers)


@pytest.mark.parametrize("kv_unified", [False, True])
@pytest.mark.parametrize("sampling", [GREEDY, SEEDED])
def test_text_is_the_same_alone_and_in_a_crowd(
    stories_model_path, kv_unified, sampling
):
    options = {"n_parallel": 4, "n_ctx": 2048, "kv_unified": kv_unified}
    with running(stories_model_path, **options) as engine:
        here, there = pair(engine, sampling=sampling)
        expected = run(engine, here)[0].text
        assert run(engine, there)[0].text == expected
        crowd = [here, there, there, here, there, there]
        texts = [g.text for g in engine.submit_many(crowd) if g.wait(WAIT_S)]
        assert texts == [expected] * len(crowd)
        assert n_set(engine) == 0


def test_smollm2_writes_the_same(smollm2_path):
    with running(smollm2_path) as engine:
        here, there = pair(engine, "The capital of France is", max_tokens=12)
        assert run(engine, there)[0].text == run(engine, here)[0].text


def test_prompt_in_many_pieces_is_sampled_once(stories_model_path):
    with running(stories_model_path, n_batch=16) as engine:
        here, there = pair(engine, PROMPT * 6, sampling=SEEDED)
        assert run(engine, there)[0].text == run(engine, here)[0].text


def test_preempted_requests_go_on_where_they_were(stories_model_path):
    """A chain can be set once: who comes back into a slot brings a copy of it."""
    options = {"n_parallel": 4, "n_ctx": 192, "kv_unified": True}
    with running(stories_model_path, **options) as engine:
        here, there = pair(engine, sampling=SEEDED, max_tokens=100)
        expected = run(engine, here)[0].text
        generations = engine.submit_many([there] * 4)
        texts = [g.text for g in generations if g.wait(WAIT_S)]
        assert engine.metrics().preemptions > 0
        assert [text[:40] for text in texts] == [expected[:40]] * 4
        assert all(g.result.finish is FinishReason.LENGTH for g in generations)
        assert n_set(engine) == 0


def test_cancelled_request_leaves_its_slot_to_others(stories_model_path):
    with running(stories_model_path, n_parallel=1) as engine:
        here, there = pair(engine)
        expected = run(engine, here)[0].text
        long = ask(engine, max_tokens=900, sampling=there.sampling)
        generation = engine.submit(long)
        eventually(lambda: generation.tokens, WAIT_S)
        assert n_set(engine) == 1
        generation.cancel()
        assert generation.wait(WAIT_S).finish is FinishReason.CANCELLED
        assert run(engine, here)[0].text == expected
        assert run(engine, there)[0].text == expected


def test_logprobs_are_of_the_models_logits(stories_model_path):
    with running(stories_model_path) as engine:
        probs = [
            [delta.probs for delta in run(engine, request)[0].read(0)[0]]
            for request in pair(engine, sampling={**GREEDY, "n_probs": 3})
        ]
        assert probs[0] == probs[1]
        assert probs[0]


def test_what_no_device_runs_is_sampled_here_and_said_once(stories_model_path, caplog):
    caplog.set_level(logging.WARNING, logger="llamactypes.engine")
    with running(stories_model_path) as engine:
        sampling = {**GREEDY, "dry_multiplier": 0.8}
        here, there = pair(engine, sampling=sampling)
        expected = run(engine, here)[0].text
        assert [run(engine, there)[0].text for _ in range(2)] == [expected] * 2
    said = [r for r in caplog.records if "backend sampling" in r.message]
    assert len(said) == 1


def test_part_of_a_chain_runs_there_and_the_rest_here(stories_model_path):
    with running(stories_model_path) as engine:
        here, there = pair(engine, sampling={**GREEDY, "typical_p": 0.8})
        assert run(engine, there)[0].text == run(engine, here)[0].text
