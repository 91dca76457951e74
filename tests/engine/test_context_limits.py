"""When the KV cache is full: nobody fails, and texts stay what they are."""

from __future__ import annotations

import pytest

from llamactypes.engine import FinishReason
from llamactypes.errors import PromptTooLong
from tests.engine.test_engine_models import PROMPT, WAIT_S, ask, run, running

NAMES = ("Lily", "Tom", "Ben", "Sue", "Max", "Anna")


def test_streams_beyond_the_shared_buffer_write_what_they_write_alone(
    stories_model_path,
):
    """Six texts of 120 tokens in a buffer of 256: the youngest wait, then go on."""
    options = {"n_ctx": 256, "n_parallel": 4, "kv_unified": True, "cache_ram_mib": 0}
    with running(stories_model_path, **options) as engine:
        requests = [
            ask(engine, f"{PROMPT} was called {name}.", max_tokens=120, ignore_eos=True)
            for name in NAMES
        ]
        alone = [run(engine, request)[0].text for request in requests]
        generations = engine.submit_many(requests)
        results = [generation.wait(WAIT_S) for generation in generations]
        n_preemptions = engine.metrics().preemptions
    assert n_preemptions > 0
    assert {result.finish for result in results} == {FinishReason.LENGTH}
    assert [result.n_decoded for result in results] == [120] * len(NAMES)
    # Batched kernels may round differently: the beginnings agree.
    assert [g.text[:40] for g in generations] == [text[:40] for text in alone]


@pytest.mark.parametrize("kv_unified", [False, True])
def test_each_of_several_streams_ends_with_length_at_its_context(
    stories_model_path, kv_unified
):
    options = {"n_ctx": 256, "n_parallel": 2, "kv_unified": kv_unified}
    with running(stories_model_path, **options) as engine:
        n_ctx = engine.info.n_ctx_slot
        requests = [
            ask(engine, f"{PROMPT} {name}", max_tokens=-1, ignore_eos=True)
            for name in NAMES[:3]
        ]
        results = [g.wait(WAIT_S) for g in engine.submit_many(requests)]
    assert {result.finish for result in results} == {FinishReason.LENGTH}
    assert all(result.truncated for result in results)
    assert {result.n_prompt + result.n_decoded for result in results} == {n_ctx}


def test_prompt_that_fills_the_context_is_refused_with_both_numbers(
    stories_model_path,
):
    with running(stories_model_path, n_ctx=256, n_parallel=1) as engine:
        request = ask(engine, PROMPT * 20)
        with pytest.raises(PromptTooLong) as caught:
            engine.submit(request)
        assert (caught.value.n_prompt_tokens, caught.value.n_ctx) == (
            len(request.prompt_tokens),
            256,
        )


@pytest.mark.parametrize("n_keep", [0, 10, -1])
def test_shift_keeps_the_beginning_that_was_asked_for(stories_model_path, n_keep):
    options = {"n_ctx": 256, "n_parallel": 1, "context_shift": True}
    with running(stories_model_path, **options) as engine:
        request = ask(engine, max_tokens=300, ignore_eos=True, n_keep=n_keep)
        _, result = run(engine, request)
        slot = engine._core.scheduler.slots.slots[0]
        n_kept = 1 + (n_keep if n_keep >= 0 else result.n_prompt - 1)
        assert (result.n_decoded, result.truncated) == (300, True)
        assert tuple(slot.tokens[:n_kept]) == request.prompt_tokens[:n_kept]
