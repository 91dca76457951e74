"""The real runner on a small model: what the engine cannot see from outside."""

from __future__ import annotations

import pytest

from llamactypes import Context, ContextParams, Model, SamplerChain
from llamactypes.engine.compute.runner import LlamaRunner
from llamactypes.engine.planning.plan import Chunk, Plan
from llamactypes.errors import DecodeAborted
from llamactypes.sampling_params import SamplingParams
from tests.support.builders import make_sequence


@pytest.fixture
def runner(tiny_model_path):
    params = ContextParams(n_ctx=1024, n_seq_max=4, n_threads=1)
    with Model(tiny_model_path) as model, Context(model, params) as context:
        runner = LlamaRunner(context, model.vocab)
        yield runner
        runner.close()


def plan_for(*slots: int, n_tokens: int = 3) -> Plan:
    chunks = []
    for slot in slots:
        sequence = make_sequence(tokens=tuple(range(3, 3 + n_tokens)))
        sequence.slot = slot
        chunks.append(Chunk(sequence, 0, n_tokens, wants_logits=False))
    return Plan((), tuple(chunks))


def test_batch_is_filled_in_the_order_of_the_slots(runner):
    runner.run(plan_for(3, 0, 2))
    raw = runner._batch.raw
    order = [raw.seq_id[i][0] for i in range(raw.n_tokens)]
    assert order == [0, 0, 0, 2, 2, 2, 3, 3, 3]


def test_forget_cuts_and_says_what_remains(runner):
    runner.run(plan_for(1))
    assert runner.forget(1, 2) == 2
    assert runner.n_computed(1) == 2
    assert runner.forget(1, 0) == 0
    assert runner.n_computed(1) == 0


def test_forget_of_more_than_is_there_empties_the_slot(runner):
    assert runner.forget(2, 5) == 0


def test_share_copies_a_prefix_and_leaves_the_source(runner):
    runner.run(plan_for(0))
    assert runner.share(0, 3, 2) == 2
    assert (runner.n_computed(0), runner.n_computed(3)) == (3, 2)


def test_saved_state_is_loaded_into_another_slot(runner):
    runner.run(plan_for(0))
    data = runner.save(0)
    assert runner.load(2, data, 2) == 2
    assert (runner.n_computed(0), runner.n_computed(2)) == (3, 2)


def test_states_wait_for_copies_that_the_next_decode_makes(runner):
    runner.run(plan_for(0))
    data = runner.save(0)
    runner.share(0, 3, 2)
    assert runner.save(3) is None
    assert runner.load(2, data, 2) == 0
    runner.run(plan_for(1))
    assert runner.save(3) is not None
    assert runner.load(2, data, 2) == 2


def test_broken_state_leaves_an_empty_slot(runner):
    runner.run(plan_for(0))
    assert runner.load(0, b"no state", 2) == 0
    assert runner.n_computed(0) == 0


def test_interrupt_ends_one_decode_only(runner):
    runner.interrupt()
    with pytest.raises(DecodeAborted):
        runner.run(plan_for(0))
    runner.forget(0, 0)
    runner.run(plan_for(0))
    assert runner.n_computed(0) == 3


def sample_eight(runner, model, n_helpers: int, *, n_probs: int = 0) -> list[int]:
    """Decode eight sequences and sample them; return their tokens by slot."""
    runner.sampling.n_helpers = n_helpers
    chunks = []
    for slot in range(8):
        sampling = SamplingParams(
            seed=slot, temperature=2.0, n_probs=n_probs * slot % 2
        )
        sequence = make_sequence(tokens=tuple(range(3, 8 + slot)), sampling=sampling)
        sequence.slot = slot
        runner.attach(sequence, SamplerChain.from_params(model, sampling))
        chunks.append(Chunk(sequence, 0, len(sequence.tokens), wants_logits=True))
    sampled = runner.run(Plan((), tuple(chunks)))
    for chunk in chunks:
        runner.detach(chunk.sequence)
        runner.forget(chunk.sequence.slot, 0)
    slots = [sequence.slot for sequence in sampled.sequences]
    return [token for _, token in sorted(zip(slots, sampled.tokens, strict=True))]


@pytest.mark.parametrize("n_probs", [0, 1])
def test_threads_that_help_sampling_choose_the_same_tokens(tiny_model_path, n_probs):
    params = ContextParams(n_ctx=2048, n_seq_max=8, n_threads=1)
    with Model(tiny_model_path) as model, Context(model, params) as context:
        runner = LlamaRunner(context, model.vocab)
        alone = sample_eight(runner, model, 0, n_probs=n_probs)
        assert sample_eight(runner, model, 1, n_probs=n_probs) == alone
        assert sample_eight(runner, model, 3, n_probs=n_probs) == alone
        runner.close()
    assert len(set(alone)) > 1
