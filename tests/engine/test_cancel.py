"""Cancels at any moment of a long prompt: soon over, and nothing left behind."""

from __future__ import annotations

import random
import statistics
import time

import pytest

from llamactypes.engine import FinishReason, GenerationRequest
from tests.engine.test_engine_models import GREEDY, PROMPT, WAIT_S, ask, run, running

N_CANCELS = 8


def cancel_after(engine, request, seconds: float) -> float | None:
    """Submit, wait, cancel; return how long the end took, None when it was over."""
    generation = engine.submit(request)
    assert generation.wait_started(WAIT_S)
    generation.wait(seconds)
    started = time.perf_counter()
    generation.cancel()
    result = generation.wait(WAIT_S)
    assert result is not None
    assert result.error is None
    if result.finish is not FinishReason.CANCELLED:
        return None
    return time.perf_counter() - started


@pytest.mark.parametrize("kv_unified", [False, True])
def test_what_survives_a_cancel_is_true(stories_model_path, kv_unified):
    """`running` compares the books with the library's at each moment of rest."""
    options = {"n_ctx": 1024, "n_parallel": 1, "kv_unified": kv_unified}
    moments = random.Random(3)
    n_reused = 0
    with running(stories_model_path, cache_ram_mib=0, n_ubatch=32, **options) as engine:
        prompts = [f"{name} {PROMPT * 12}" for name in ("Tom", "Lily")]
        asked = [ask(engine, prompt, max_tokens=12) for prompt in prompts]
        started = time.perf_counter()
        expected = [run(engine, request)[0].text for request in asked]
        whole_s = (time.perf_counter() - started) / len(asked)
        for i in range(N_CANCELS):
            request = asked[i % len(asked)]
            cancel_after(engine, request, moments.uniform(0, whole_s))
            generation, result = run(engine, request)
            assert generation.text == expected[i % len(asked)]
            n_reused += 8 < result.n_cached < result.n_prompt - 1
    assert n_reused > N_CANCELS // 4


def test_long_prompt_ends_soon_after_its_cancel(smollm2_path):
    """A tenth of a second is meant; here other work may hold up the only thread."""
    options = {"n_ctx": 8192, "n_parallel": 1}
    moments = random.Random(5)
    with running(smollm2_path, **options) as engine:
        tokens = tuple(engine.vocab.tokenize(PROMPT * 700))[:7000]
        request = GenerationRequest(tokens, GREEDY, max_tokens=1, cache_prompt=False)
        times = [
            cancel_after(engine, request, moments.uniform(0, 0.2)) for _ in "12345"
        ]
        assert all(one is not None and one < 1.0 for one in times)
        assert statistics.median(times) < 0.3
        assert not engine.slots()[0].is_processing
