"""What is written must not depend on who computed the beginning of the prompt.

Every prompt is answered twice: by itself and from nothing, and with what the engine
holds of it by then. Greedy texts must be the same.

The library's kernels add floats in an order that depends on how many tokens are
computed together, so the last bits of logits differ, and two tokens whose logits are
that close could swap. In these prompts none are.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager

import pytest

from llamactypes.engine import Engine, EngineConfig, GenerationRequest
from llamactypes.sampling_params import SamplingParams
from tests.support.models import (
    STORIES_REASON,
    memory_model,
    smollm2,
    stories_model,
    tiny_model,
)
from tests.support.waiting import eventually

WAIT_S = 60.0
GREEDY = SamplingParams(temperature=0.0)
N_ANSWER = 8
MEMORIES = ("swa", "mamba", "jamba")
KINDS = ("tiny", "stories", *MEMORIES)


def path_of(kind: str) -> str:
    path = {"tiny": tiny_model, "stories": stories_model, "smollm2": smollm2}.get(
        kind, lambda: memory_model(kind)
    )()
    if path is None:
        pytest.skip(STORIES_REASON if kind == "stories" else f"{kind} is not here")
    return str(path)


@contextmanager
def running(kind: str, *, unified: bool, **options):
    options.setdefault("n_parallel", 3)
    options.setdefault("n_ctx", options["n_parallel"] * 512)
    # A small physical batch: the window then really forgets.
    config = EngineConfig(
        path_of(kind),
        n_ubatch=32,
        n_threads=1,
        warmup=False,
        kv_unified=unified,
        **options,
    )
    engine = Engine(config)
    engine.start()
    try:
        engine.wait_ready(WAIT_S)
        yield engine
        eventually(lambda: engine.metrics().requests_processing == 0, WAIT_S)
    finally:
        engine.stop(0)
        gc.collect()
    assert engine.metrics().cache_repairs == 0


def ask(tokens: list[int], **options) -> GenerationRequest:
    options.setdefault("max_tokens", N_ANSWER)
    return GenerationRequest(tuple(tokens), sampling=GREEDY, **options)


def answer(engine: Engine, tokens: list[int], **options):
    generation = engine.submit(ask(tokens, **options))
    result = generation.wait(WAIT_S)
    assert result is not None
    assert result.n_cached + result.timings.prompt_n == len(tokens)
    return generation.text, result.n_cached


def words(n: int, seed: int = 0) -> list[int]:
    """Return `n` ordinary tokens; the first differs with the seed."""
    return [260 + (7 * i * i + i + seed) % 61 for i in range(n)]


_alone: dict[tuple[str, tuple[int, ...]], str] = {}


def expected(kind: str, prompts: list[list[int]]) -> list[str]:
    """Return what an engine writes that computes each prompt alone and from nothing."""
    keys = [(kind, tuple(prompt)) for prompt in prompts]
    missing = {key for key in keys if key not in _alone}
    if missing:
        with running(kind, unified=False) as engine:
            for key in missing:
                _alone[key], _ = answer(engine, list(key[1]), cache_prompt=False)
    return [_alone[key] for key in keys]


FIRST = words(300)
TURNS = [
    FIRST,
    FIRST,
    FIRST + words(20, 5),
    FIRST[:296] + words(30, 7),
    FIRST[:150] + words(100, 9),
    FIRST[:150] + words(100, 11),
    FIRST[:150] + words(100, 13),
]
"""Prompts of a conversation and its neighbours."""


@pytest.mark.parametrize("unified", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_prompts_that_begin_alike_are_answered_as_alone(kind, unified):
    with running(kind, unified=unified) as engine:
        found = [answer(engine, prompt) for prompt in TURNS]
    assert [text for text, _ in found] == expected(kind, TURNS)
    cached = [n_cached for _, n_cached in found]
    if kind not in MEMORIES:
        assert cached == [0, 299, 300, 296, 150, 150, 150]
        return
    # Four tokens before a prompt's end there is a checkpoint, and one where prompts
    # went apart (299, 150) as soon as that has happened.
    assert cached[:4] in ([0, 296, 299, 296], [0, 299, 300, 296], [0, 299, 299, 296])
    assert cached[5:] == [150, 150]


@pytest.mark.parametrize("unified", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_prompts_at_once_share_their_beginning_and_are_answered_as_alone(kind, unified):
    first = words(200)
    prompts = [first, first, first[:120] + words(50, 3)]
    with running(kind, unified=unified, n_parallel=4) as engine:
        other = engine.submit(ask(words(40, 21), max_tokens=200))
        eventually(lambda: other.tokens, WAIT_S)
        each = engine.submit_many([ask(prompt) for prompt in prompts])
        results = [one.wait(WAIT_S) for one in each]
        other.cancel()
    assert [one.text for one in each] == expected(kind, prompts)
    assert [one.n_cached for one in results] == [0, 199, 120]
    assert [one.n_cached + one.timings.prompt_n for one in results] == [200, 200, 170]


@pytest.mark.parametrize("unified", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_conversations_from_ram_are_answered_as_alone(kind, unified):
    prompts = [
        [*words(200 + 20 * turn, chat), 300 + turn]
        for turn in range(3)
        for chat in range(2)
    ]
    with running(kind, unified=unified, n_parallel=1) as engine:
        found = [answer(engine, prompt) for prompt in prompts]
    assert [text for text, _ in found] == expected(kind, prompts)
    back = [197, 197, 217, 217] if kind in MEMORIES else [200, 200, 220, 220]
    assert [n_cached for _, n_cached in found] == [0, 0, *back]


@pytest.mark.parametrize("kind", MEMORIES)
def test_without_checkpoints_everything_is_computed_again(kind):
    with running(kind, unified=False, n_ctx_checkpoints=0) as engine:
        found = [answer(engine, prompt) for prompt in TURNS]
    assert [text for text, _ in found] == expected(kind, TURNS)
    assert found[4][1] == 0


@pytest.mark.parametrize("kind", ["tiny", *MEMORIES])
def test_interrupted_decodes_do_not_change_what_is_written(kind):
    prompts = [words(300), words(310, 3)]
    with running(kind, unified=False) as engine:
        each = [engine.submit(ask(prompt)) for prompt in prompts]
        for _ in range(60):
            engine._core._runner.interrupt()
            if each[-1].wait(0.002) is not None:
                break
        results = [one.wait(WAIT_S) for one in each]
    assert [one.text for one in each] == expected(kind, prompts)
    assert [one.n_cached + one.timings.prompt_n for one in results] == [300, 310]


def test_demo_model_continues_a_conversation_as_from_nothing():
    first, other = words(40), words(12, 8)
    prompts = [first, first + other, first[:30] + other]
    with running("smollm2", unified=True, n_parallel=1, n_ctx=256) as engine:
        alone = [answer(engine, prompt, cache_prompt=False)[0] for prompt in prompts]
        found = [answer(engine, prompt) for prompt in prompts]
    assert [text for text, _ in found] == alone
    assert [n_cached for _, n_cached in found] == [30, 40, 30]


@pytest.mark.parametrize("kind", ["tiny", "swa", "jamba"])
def test_idle_conversation_that_must_leave_a_full_buffer_comes_back_from_ram(kind):
    prompts = [words(300), words(300, 3), words(310)]
    with running(kind, unified=True, n_parallel=2, n_ctx=512) as engine:
        found = [answer(engine, prompt) for prompt in prompts]
    assert [text for text, _ in found] == expected(kind, prompts)
    assert found[2][1] >= 296
    with running(
        kind, unified=True, n_parallel=2, n_ctx=512, cache_idle_slots=False
    ) as engine:
        found = [answer(engine, prompt) for prompt in prompts]
    assert found[2][1] == 0


@pytest.mark.parametrize("kind", ["tiny", "swa", "jamba"])
def test_preempted_request_goes_on_from_ram(kind):
    prompts = [words(200), words(200, 3)]
    with running(kind, unified=True, n_parallel=2, n_ctx=512) as engine:
        each = engine.submit_many(
            [ask(prompt, max_tokens=100, ignore_eos=True) for prompt in prompts]
        )
        results = [one.wait(WAIT_S) for one in each]
        metrics = engine.metrics()
    assert metrics.preemptions > 0
    assert metrics.prompt_tokens < 500
    assert [one.n_cached + one.timings.prompt_n for one in results] == [200, 200]
    with running(kind, unified=True) as engine:
        alone = [
            answer(engine, prompt, max_tokens=100, ignore_eos=True)[0]
            for prompt in prompts
        ]
    assert [one.text for one in each] == alone
