"""Sampler chains inside the compute graph: the same tokens, and nothing dangling."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from llamactypes import (
    Batch,
    ClosedError,
    Context,
    ContextError,
    Model,
    SamplerChain,
    SamplingError,
    SamplingParams,
    ThreadMisuse,
)
from tests.objects.conftest import MakeContext
from tests.objects.greedy import prefill

PROMPT = [1, 300, 301, 302, 303]


def chain_of(model: Model, **params: object) -> SamplerChain:
    return SamplerChain.from_params(model, SamplingParams(**params))  # type: ignore[arg-type]


def write(context: Context, chains: dict[int, SamplerChain], n: int) -> list[list[int]]:
    """Sample `n` tokens per sequence, all sequences in one batch."""
    context.memory.clear(True)
    written: list[list[int]] = [[] for _ in chains]
    with Batch(64) as batch:
        for seq_id in chains:
            batch.extend([*PROMPT, 310 + seq_id], 0, seq_id, last_logits=True)
        rows = [(len(PROMPT) + 1) * (i + 1) - 1 for i in range(len(chains))]
        for step in range(n):
            context.decode(batch)
            batch.clear()
            for i, (seq_id, chain) in enumerate(chains.items()):
                written[i].append(chain.sample(context, rows[i]))
                batch.add(written[i][-1], len(PROMPT) + 1 + step, seq_id, True)
            rows = list(range(len(chains)))
    return written


@pytest.mark.parametrize("kv_unified", [False, True])
@pytest.mark.parametrize(
    "params",
    [
        {"temperature": 0.0},
        {"seed": 5},
        {"seed": 5, "temperature": 1.5, "top_k": 0, "min_p": 0.0},
        {"seed": 5, "repeat_penalty": 1.3, "logit_bias": ((305, 2.0),)},
        {"temperature": 0.0, "typical_p": 0.9},
        {"seed": 5, "mirostat": 2},
    ],
)
def test_graph_picks_what_the_chain_picks(
    make_context: MakeContext,
    model: Model,
    params: dict[str, object],
    kv_unified: bool,
) -> None:
    context = make_context(n_seq_max=4, n_ctx=512, kv_unified=kv_unified)
    here = {seq_id: chain_of(model, **params) for seq_id in range(4)}
    there = {seq_id: chain_of(model, **params) for seq_id in range(4)}
    expected = write(context, here, 8)
    for seq_id in (0, 2, 3):  # one of the four stays here
        assert context.set_sampler(seq_id, there[seq_id])
    assert write(context, there, 8) == expected


def test_names_tell_what_the_device_runs(context: Context, model: Model) -> None:
    chain = chain_of(model, xtc_probability=0.5)
    context.set_sampler(0, chain)
    names = chain.names()
    assert {"+top-k", "+min-p", "xtc", "temp-ext", "dist"} <= set(names)


def test_chain_of_which_nothing_runs_there_is_not_set(
    context: Context, model: Model
) -> None:
    chain = chain_of(model, dry_multiplier=0.8, temperature=0.0)
    assert not context.set_sampler(0, chain)
    assert context.samplers == {}
    expected = write(context, {0: chain_of(model, temperature=0.0)}, 4)
    assert write(context, {0: chain}, 4) == expected


def test_chain_is_set_once_and_a_clone_goes_on(context: Context, model: Model) -> None:
    expected = write(context, {0: chain_of(model, seed=3)}, 8)
    chain = chain_of(model, seed=3)
    context.set_sampler(0, chain)
    first = write(context, {0: chain}, 4)
    twin = chain.clone()
    assert context.set_sampler(0, None) is False
    with pytest.raises(SamplingError, match="clone"):
        context.set_sampler(0, chain)
    with pytest.raises(SamplingError, match="clone"):
        chain.sample(context, 0)
    assert context.set_sampler(0, twin)
    context.memory.clear(True)
    prefill(context, [*PROMPT, 310, *first[0]])
    assert twin.sample(context, -1) == expected[0][4]


def test_clone_samples_here_what_the_graph_would(
    context: Context, model: Model
) -> None:
    chain = chain_of(model, seed=3)
    context.set_sampler(0, chain)
    twin = chain.clone()
    expected = write(context, {0: chain}, 6)
    context.set_sampler(0, None)
    assert write(context, {0: twin}, 6) == expected


def test_set_chain_does_not_look_at_given_logits(
    context: Context, model: Model
) -> None:
    prefill(context, PROMPT)
    logits = context.logits(-1).copy()
    chain = chain_of(model)
    context.set_sampler(0, chain)
    with pytest.raises(SamplingError, match="clone"):
        chain.apply(logits)


def test_closing_a_chain_takes_it_out_first(context: Context, model: Model) -> None:
    chain = chain_of(model)
    context.set_sampler(0, chain)
    chain.close()
    assert context.samplers == {}
    prefill(context, PROMPT)


def test_context_keeps_its_chains_alive(context: Context, model: Model) -> None:
    chain = chain_of(model)
    context.set_sampler(0, chain)
    gone = weakref.ref(chain)
    del chain
    gc.collect()
    assert gone() is not None
    prefill(context, PROMPT)
    context.set_sampler(0, None)
    gc.collect()
    assert gone() is None


def test_another_thread_cannot_close_a_set_chain(
    context: Context, model: Model
) -> None:
    chain = chain_of(model)
    context.set_sampler(0, chain)
    errors: list[BaseException] = []

    def close() -> None:
        try:
            chain.close()
        except ThreadMisuse as error:
            errors.append(error)

    thread = threading.Thread(target=close)
    thread.start()
    thread.join(10)
    assert len(errors) == 1
    assert not chain.closed


def test_closing_the_model_closes_context_and_chains(
    model: Model, make_context: MakeContext
) -> None:
    with Model(model.path) as own:
        chain = chain_of(own)
        context = Context(own, make_context().params)
        context.set_sampler(0, chain)
        thread = threading.Thread(target=own.close)
        thread.start()
        thread.join(10)
    assert chain.closed
    assert context.closed
    with pytest.raises(ClosedError):
        context.set_sampler(0, None)


def test_wrong_sequences_and_models_are_refused(context: Context, model: Model) -> None:
    chain = chain_of(model)
    with pytest.raises(ContextError, match="sequences are 0 … 0"):
        context.set_sampler(1, chain)
    with Model(model.path) as other, pytest.raises(ContextError, match="model"):
        context.set_sampler(0, chain_of(other))
