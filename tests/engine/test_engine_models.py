"""The engine over the real library: what a model writes must not depend on company."""

from __future__ import annotations

import gc
import time
from contextlib import contextmanager

import numpy as np
import pytest

from llamactypes import Context, ContextParams, Model
from llamactypes.batch import Batch
from llamactypes.engine import Engine, EngineConfig, FinishReason, GenerationRequest
from llamactypes.errors import SamplingError
from llamactypes.sampling_params import SamplingParams
from tests.support.waiting import eventually

GREEDY = SamplingParams(temperature=0.0)
WAIT_S = 60.0
PROMPT = "Once upon a time there was a little girl who"


@contextmanager
def running(path, **options):
    options.setdefault("n_ctx", 1024)
    options.setdefault("n_parallel", 2)
    engine = Engine(EngineConfig(str(path), n_threads=1, **options))
    engine.start()
    try:
        engine.wait_ready(WAIT_S)
        yield engine
        eventually(lambda: engine.metrics().requests_processing == 0, WAIT_S)
    finally:
        engine.stop(0)
        gc.collect()
    # On idle the engine compared its books with the library's, slot by slot.
    assert engine.metrics().cache_repairs == 0


@pytest.fixture(scope="module")
def tiny(tiny_model_path):
    with running(tiny_model_path, n_parallel=4, n_ctx=4096) as engine:
        yield engine


@pytest.fixture(scope="module")
def stories(stories_model_path):
    with running(stories_model_path, n_parallel=4, n_ctx=2048) as engine:
        yield engine


def ask(engine, text=PROMPT, **options) -> GenerationRequest:
    options.setdefault("sampling", GREEDY)
    options.setdefault("max_tokens", 32)
    return GenerationRequest(
        tuple(engine.vocab.tokenize(text, add_special=True)), **options
    )


def run(engine, request):
    generation = engine.submit(request)
    result = generation.wait(WAIT_S)
    assert result is not None
    return generation, result


def test_seed_42_writes_what_llama_server_writes(stories):
    request = ask(
        stories,
        "I believe the meaning of life is",
        sampling=SamplingParams(seed=42),
        max_tokens=8,
    )
    generation, result = run(stories, request)
    assert generation.text == " going to bed. I"
    assert (result.n_prompt, result.n_decoded, result.seed) == (18, 8, 42)


def test_same_seed_writes_the_same_and_another_does_not(stories):
    def text(seed):
        sampling = SamplingParams(seed=seed, temperature=1.0)
        return run(stories, ask(stories, sampling=sampling))[0].text

    assert text(5) == text(5)
    assert text(5) != text(6)


def test_greedy_text_is_the_same_with_and_without_a_cached_prefix(stories):
    fresh, _ = run(stories, ask(stories, cache_prompt=False))
    again, result = run(stories, ask(stories))
    assert result.n_cached == result.n_prompt - 1
    assert again.text == fresh.text


def test_greedy_text_is_the_same_for_every_batch_size(stories_model_path):
    texts = set()
    for n_batch in (16, 64, 512):
        with running(stories_model_path, n_batch=n_batch) as engine:
            texts.add(run(engine, ask(engine))[0].text)
    assert len(texts) == 1


def test_chunked_prompt_counts_every_token_once(stories_model_path):
    with running(stories_model_path, n_batch=16) as engine:
        request = ask(engine, PROMPT * 8)
        _, result = run(engine, request)
    assert result.timings.prompt_n == len(request.prompt_tokens)
    assert result.n_cached == 0


def test_parallel_requests_do_not_mix(stories):
    names = ["Lily", "Tom", "Ben", "Sue", "Max", "Anna", "Sam", "Mia"]
    prompts = [f"Once there was a child named {name}. {name} liked" for name in names]
    alone = [run(stories, ask(stories, p, cache_prompt=False))[0].text for p in prompts]
    requests = [ask(stories, p, cache_prompt=False) for p in prompts]
    together = [g for g in stories.submit_many(requests) if g.wait(WAIT_S)]
    # Batched kernels may round differently; the beginnings agree, and no text strays.
    assert [g.text[:12] for g in together] == [text[:12] for text in alone]


def test_random_bytes_never_break_the_text(tiny):
    """The generated model writes arbitrary byte tokens."""
    requests = [
        ask(tiny, sampling=SamplingParams(seed=i, temperature=2.0, top_k=0, min_p=0.0))
        for i in range(8)
    ]
    for generation in tiny.submit_many(requests):
        assert generation.wait(WAIT_S).error is None
        raw = b"".join(tiny.vocab.piece(token) for token in generation.tokens)
        assert generation.text.encode()  # valid Unicode, no surrogates
        if b"\xff" not in raw and _is_utf8(raw):
            assert "�" not in generation.text


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_deltas_hold_every_token_once(tiny):
    generation, result = run(tiny, ask(tiny, max_tokens=40, ignore_eos=True))
    assert len(generation.tokens) == result.n_decoded == 40


def test_logprobs_are_the_log_softmax_of_the_models_logits(stories, stories_model_path):
    request = ask(stories, sampling=SamplingParams(temperature=0.0, n_probs=4))
    generation, _ = run(stories, request)
    deltas, _ = generation.read(0)
    first = deltas[0].probs[0]
    logits = _last_logits(stories_model_path, request.prompt_tokens)
    logprobs = logits - np.log(np.exp(logits).sum())
    best = np.argsort(-logprobs)[:4]
    assert [token for token, _, _ in first.top] == best.tolist()
    assert first.value == pytest.approx(float(logprobs[first.token]), abs=2e-3)
    assert all(a[2] >= b[2] for a, b in zip(first.top, first.top[1:], strict=False))


def _last_logits(path, tokens) -> np.ndarray:
    with (
        Model(path) as model,
        Context(model, ContextParams(n_ctx=256, n_threads=1)) as context,
        Batch(len(tokens)) as batch,
    ):
        batch.extend(tokens, 0, 0, last_logits=True)
        context.decode(batch)
        return context.logits(-1).astype(np.float64)


def test_post_sampling_probs_sum_to_one_over_the_survivors(stories):
    sampling = SamplingParams(seed=1, top_k=5, n_probs=10)
    generation, _ = run(
        stories, ask(stories, sampling=sampling, post_sampling_probs=True)
    )
    for delta in generation.read(0)[0]:
        for probs in delta.probs:
            assert len(probs.top) <= 5
            assert sum(p for _, _, p in probs.top) == pytest.approx(1.0, abs=1e-3)
            assert 0.0 < probs.value <= 1.0


def test_post_sampling_probs_choose_the_same_tokens(stories):
    sampling = SamplingParams(seed=3, n_probs=3)
    plain, _ = run(stories, ask(stories, sampling=sampling))
    post, _ = run(stories, ask(stories, sampling=sampling, post_sampling_probs=True))
    assert plain.text == post.text


def test_logit_bias_forbids_a_token(stories):
    generation, _ = run(stories, ask(stories, max_tokens=1))
    forbidden = ((generation.tokens[0], float("-inf")),)
    sampling = SamplingParams(temperature=0.0, logit_bias=forbidden)
    other, _ = run(stories, ask(stories, max_tokens=1, sampling=sampling))
    assert other.tokens[0] != generation.tokens[0]


def test_repeat_penalty_looks_back_into_the_prompt(stories):
    plain, _ = run(stories, ask(stories, "the the the the the the the", max_tokens=24))
    sampling = SamplingParams(temperature=0.0, repeat_penalty=5.0)
    penalised, _ = run(
        stories,
        ask(stories, "the the the the the the the", max_tokens=24, sampling=sampling),
    )
    assert penalised.text != plain.text


def test_bad_sampling_is_refused_at_submit(stories):
    with pytest.raises(SamplingError, match="repeat_penalty"):
        stories.submit(ask(stories, sampling=SamplingParams(repeat_penalty=0.0)))


def test_cancel_during_a_long_prompt_frees_the_slot_within_a_second(smollm2_path):
    with running(smollm2_path, n_ctx=8192, n_parallel=1, n_ubatch=2048) as engine:
        tokens = tuple(engine.vocab.tokenize("word " * 7000))[:7000]
        generation = engine.submit(GenerationRequest(tokens, GREEDY))
        assert generation.wait_started(WAIT_S)
        started = time.monotonic()
        generation.cancel()
        assert generation.wait(WAIT_S).finish is FinishReason.CANCELLED
        assert time.monotonic() - started < 1.0
        assert not engine.slots()[0].is_processing
        text = run(engine, ask(engine, "The capital of France is", max_tokens=6))[
            0
        ].text
        assert "Paris" in text


def test_interrupted_prompt_goes_on_where_it_was(stories_model_path):
    """An interrupt that was meant for another request costs work, never correctness."""
    with running(stories_model_path, n_ctx=2048, n_parallel=1) as engine:
        request = ask(engine, PROMPT * 20)
        expected, _ = run(engine, request)
        generation = engine.submit(ask(engine, PROMPT * 20, cache_prompt=False))
        for _ in range(20):
            engine._interrupt()
            generation.wait(0.001)
        assert generation.wait(WAIT_S).error is None
        assert generation.text == expected.text


def test_shared_buffer_serves_more_than_it_holds(stories_model_path):
    options = {"n_ctx": 256, "n_parallel": 4, "kv_unified": True}
    with running(stories_model_path, **options) as engine:
        requests = [
            ask(engine, f"{PROMPT} {i}", max_tokens=150, ignore_eos=True)
            for i in range(6)
        ]
        results = [g.wait(WAIT_S) for g in engine.submit_many(requests)]
    assert [result.n_decoded for result in results] == [150] * 6
    assert all(result.error is None for result in results)


@pytest.mark.parametrize("kv_unified", [True, False])
def test_greedy_text_is_the_same_from_a_copied_prefix(stories_model_path, kv_unified):
    options = {"n_ctx": 2048, "n_parallel": 4, "kv_unified": kv_unified}
    names = ["Lily", "Tom", "Ben", "Sue"]
    with running(stories_model_path, **options) as engine:
        prompts = [f"{PROMPT * 6} was called {name}." for name in names]
        alone = []
        for prompt in prompts:
            request = ask(engine, prompt, cache_prompt=False, max_tokens=24)
            alone.append(run(engine, request)[0].text)
        requests = [ask(engine, prompt, max_tokens=24) for prompt in prompts]
        generations = engine.submit_many(requests)
        results = [generation.wait(WAIT_S) for generation in generations]
    assert [result.n_cached > 60 for result in results] == [True] * 4
    assert [g.text[:12] for g in generations] == [text[:12] for text in alone]


@pytest.mark.parametrize("kv_unified", [True, False])
def test_conversations_come_back_from_ram(stories_model_path, kv_unified):
    options = {"n_ctx": 1024, "n_parallel": 1, "kv_unified": kv_unified}
    prompts = [f"{name} {PROMPT} " * 8 for name in ("Lily", "Tom", "Ben")]
    with running(stories_model_path, cache_ram_mib=16, **options) as engine:
        first = [run(engine, ask(engine, prompt)) for prompt in prompts]
        again = [run(engine, ask(engine, prompt)) for prompt in prompts]
    for (before, _), (after, result) in zip(first, again, strict=True):
        assert after.text == before.text
        assert result.n_cached == result.n_prompt - 1


def test_several_choices_compute_their_prompt_once(stories):
    requests = [ask(stories, f"zebra {PROMPT * 5}", max_tokens=4)] * 4
    results = [g.wait(WAIT_S) for g in stories.submit_many(requests)]
    computed = sorted(result.timings.prompt_n for result in results)
    assert computed[:3] == [1, 1, 1]
    assert len({g.text for g in stories.submit_many(requests) if g.wait(WAIT_S)}) == 1


def test_one_request_fills_its_context_and_ends_with_length(stories_model_path):
    with running(stories_model_path, n_ctx=256, n_parallel=1) as engine:
        _, result = run(engine, ask(engine, max_tokens=-1, ignore_eos=True))
    assert result.finish is FinishReason.LENGTH
    assert result.truncated
    assert result.n_tokens_in_slot == 255


def test_context_shift_writes_beyond_the_context(stories_model_path):
    options = {"n_ctx": 256, "n_parallel": 1, "context_shift": True}
    with running(stories_model_path, **options) as engine:
        generation, result = run(engine, ask(engine, max_tokens=400, ignore_eos=True))
    assert (result.n_decoded, result.truncated) == (400, True)
    assert "<unk>" not in generation.text


def test_lora_changes_what_is_written(tiny_model_path, tiny_lora_path):
    with running(tiny_model_path) as engine:
        plain, _ = run(engine, ask(engine))
    with running(tiny_model_path, lora=((str(tiny_lora_path), 0.0),)) as engine:
        off, _ = run(engine, ask(engine))
    with running(tiny_model_path, lora=((str(tiny_lora_path), 8.0),)) as engine:
        on, _ = run(engine, ask(engine))
    assert off.tokens == plain.tokens
    assert on.tokens != plain.tokens


def test_smollm2_knows_the_capital_of_france(smollm2_path):
    with running(smollm2_path) as engine:
        text = run(engine, ask(engine, "The capital of France is", max_tokens=6))[
            0
        ].text
    assert "Paris" in text
