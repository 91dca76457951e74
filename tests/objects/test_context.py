from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from llamactypes import (
    AbortFlag,
    Batch,
    Context,
    ContextError,
    ContextParams,
    DecodeAborted,
    InvalidBatch,
    KVCacheFull,
    Model,
    ModelParams,
    ThreadMisuse,
)
from tests.objects.conftest import MakeContext
from tests.objects.greedy import continue_greedily, prefill
from tests.support import tiny_gguf


def test_sizes_are_those_in_use(make_context: MakeContext) -> None:
    context = make_context(n_ctx=1024, n_seq_max=4, n_batch=128, n_ubatch=64)
    assert (context.n_ctx, context.n_ctx_seq, context.n_seq_max) == (1024, 256, 4)
    assert (context.n_batch, context.n_ubatch) == (128, 64)
    assert make_context(n_ctx=1024, n_seq_max=4, kv_unified=True).n_ctx_seq == 1024


def test_context_size_zero_is_what_the_model_was_trained_with(
    make_context: MakeContext, model: Model
) -> None:
    assert make_context(n_ctx=0).n_ctx == model.n_ctx_train


def test_logits_have_one_row_per_token_that_asked(
    context: Context, batch: Batch, model: Model
) -> None:
    batch.extend([1, 300, 301], 0, 0, last_logits=True)
    context.decode(batch)
    row = context.logits(2)
    assert row.shape == (model.vocab.n_tokens,)
    assert row.dtype == np.float32
    assert np.isfinite(row).all()
    assert (context.logits(-1) == row).all()
    for index in (0, 1, 3, -2, 10**6):
        with pytest.raises(IndexError, match="produced no logits"):
            context.logits(index)


def test_logits_before_any_decode_are_an_index_error(context: Context) -> None:
    with pytest.raises(IndexError):
        context.logits(0)


def test_one_batch_and_token_by_token_agree(make_context: MakeContext) -> None:
    tokens = [1, 300, 301, 302, 303]
    whole, single = make_context(), make_context()
    prefill(whole, tokens)
    for pos, token in enumerate(tokens):
        prefill(single, [token], pos=pos)
    assert np.allclose(whole.logits(-1), single.logits(-1), atol=1e-3)


def test_the_context_of_stories_tells_a_story(stories_model_path: Path) -> None:
    with (
        Model(stories_model_path) as model,
        Context(model, ContextParams(n_ctx=256, n_threads=1)) as context,
    ):
        prompt = model.vocab.tokenize("Once upon a time", add_special=True)
        prefill(context, prompt[:-1])
        made = continue_greedily(context, prompt[-1], len(prompt) - 1, 12)
        assert "there was a little girl" in model.vocab.detokenize(made)


# -- refused batches -------------------------------------------------------------------


def test_an_empty_or_too_large_batch_is_invalid(make_context: MakeContext) -> None:
    context = make_context(n_batch=32)
    with pytest.raises(InvalidBatch, match="has 0 tokens; this context takes 1 … 32"):
        context.decode(Batch(4))
    batch = Batch(64)
    batch.extend([1] * 33, 0, 0, last_logits=True)
    with pytest.raises(InvalidBatch, match="has 33 tokens"):
        context.decode(batch)


def test_without_causal_attention_a_batch_must_fit_one_ubatch(tmp_path: Path) -> None:
    tiny_gguf.write_model(tmp_path / "all.gguf", causal=False)
    params = ContextParams(n_ctx=256, n_batch=64, n_ubatch=32, n_threads=1)
    with Model(tmp_path / "all.gguf") as model, Context(model, params) as context:
        prefill(context, [1] * 32)
        with pytest.raises(InvalidBatch, match="takes 1 … 32"):
            prefill(context, [1] * 33)


def test_encoding_needs_an_encoder(context: Context, batch: Batch) -> None:
    batch.add(1, 0, 0, True)
    with pytest.raises(InvalidBatch, match="no encoder"):
        context.encode(batch)


@pytest.mark.parametrize(
    ("token", "pos", "seq_id"),
    [(-1, 0, 0), (10**6, 0, 0), (1, 0, 1), (1, 0, -1), (1, 0, 300)],
)
def test_unknown_tokens_and_sequences_are_invalid(
    context: Context, batch: Batch, token: int, pos: int, seq_id: int
) -> None:
    batch.add(token, pos, seq_id, True)
    with pytest.raises(InvalidBatch) as error:
        context.decode(batch)
    assert error.value.code == -1
    assert context.memory.seq_pos_max(0) == -1


def test_positions_out_of_order_are_invalid_and_change_nothing(
    context: Context,
) -> None:
    prefill(context, [1, 300, 301])
    with pytest.raises(InvalidBatch):
        prefill(context, [302], pos=7)
    with pytest.raises(InvalidBatch):
        prefill(context, [302], pos=1)
    assert context.memory.seq_pos_max(0) == 2


def test_a_full_cache_raises_and_keeps_what_was_there(context: Context) -> None:
    prefill(context, [1] * context.n_ctx)
    with pytest.raises(KVCacheFull) as error:
        prefill(context, [300], pos=context.n_ctx)
    assert error.value.code == 1
    assert context.memory.seq_pos_max(0) == context.n_ctx - 1
    context.memory.seq_rm(0, context.n_ctx - 1, -1)
    prefill(context, [300], pos=context.n_ctx - 1)


# -- threads ---------------------------------------------------------------------------


def in_thread(work: object) -> BaseException | None:
    caught: list[BaseException] = []

    def run() -> None:
        try:
            work()  # type: ignore[operator]
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    return caught[0] if caught else None


def test_another_thread_is_refused_until_it_adopts(
    context: Context, batch: Batch
) -> None:
    batch.add(1, 0, 0, True)
    for use in (
        lambda: context.decode(batch),
        lambda: context.logits(0),
        lambda: context.memory.seq_rm(0),
        lambda: context.memory.seq_pos_max(0),
        lambda: context.set_threads(1),
        lambda: context.set_abort(None),
        lambda: context.synchronize(),
        lambda: context.warm_up(),
    ):
        assert isinstance(in_thread(use), ThreadMisuse)

    def take() -> None:
        context.adopt()
        context.decode(batch)

    assert in_thread(take) is None
    with pytest.raises(ThreadMisuse, match="adopt"):
        context.decode(batch)


def test_threads_are_set_and_read(context: Context) -> None:
    assert (context.n_threads, context.n_threads_batch) == (1, 1)
    context.set_threads(1, 2)
    assert (context.n_threads, context.n_threads_batch) == (1, 2)
    for wrong in (0, -1, 513):
        with pytest.raises(ContextError, match="threads must be within 1 … 512"):
            context.set_threads(wrong)


# -- aborting --------------------------------------------------------------------------


def test_a_callback_that_says_so_aborts_until_it_is_removed(context: Context) -> None:
    context.set_abort(lambda: True)
    with pytest.raises(DecodeAborted) as error:
        prefill(context, [1, 300])
    assert error.value.code == 2
    context.memory.clear()
    context.set_abort(None)
    prefill(context, [1, 300])


def test_an_abort_flag_aborts_while_it_is_set(context: Context) -> None:
    flag = AbortFlag()
    context.set_abort(flag)
    prefill(context, [1])
    flag.set()
    assert flag.is_set()
    with pytest.raises(DecodeAborted):
        prefill(context, [300], pos=1)
    flag.clear()
    context.memory.clear()
    prefill(context, [1])


def test_an_abort_flag_ends_a_running_decode_from_another_thread(
    make_context: MakeContext,
) -> None:
    context = make_context(n_ctx=2048, n_ubatch=32)
    flag = AbortFlag()
    context.set_abort(flag)
    timer = threading.Timer(0.005, flag.set)
    started = time.monotonic()
    timer.start()

    def decode_for_long() -> None:
        for _ in range(1000):
            prefill(context, [1] * 2000)
            context.memory.clear()

    with pytest.raises(DecodeAborted):
        decode_for_long()
    timer.join(5)
    assert time.monotonic() - started < 10
    assert -1 <= context.memory.seq_pos_max(0) < 2000


# -- parameters ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_seq_max": 257}, "n_seq_max must be within 1 … 256"),
        ({"n_seq_max": 0}, "n_seq_max"),
        ({"n_batch": 0}, "n_batch"),
        ({"n_ubatch": -1}, "n_ubatch"),
        ({"n_ctx": -5}, "n_ctx"),
        ({"n_threads": 0}, "threads"),
        ({"type_k": "q3"}, "type_k 'q3' is unknown; use f32, f16"),
        ({"flash_attn": "maybe"}, "use auto, on, off"),
        ({"pooling": "max"}, "pooling"),
        ({"rope_scaling": "cubic"}, "rope_scaling"),
        ({"type_v": "q8_0", "flash_attn": "off"}, "requires flash_attn"),
        ({"n_ctx": 2**31}, "n_ctx must be within 0 …"),
    ],
)
def test_impossible_parameters_are_named(
    model: Model, params: dict[str, object], words: str
) -> None:
    with pytest.raises(ContextError, match=words):
        Context(model, ContextParams(**({"n_ctx": 256, "n_threads": 1} | params)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "params",
    [
        {"type_k": "f32", "type_v": "bf16"},
        {"flash_attn": "on"},
        {"flash_attn": "off"},
        {"rope_scaling": "linear", "rope_freq_scale": 0.5, "rope_freq_base": 1e4},
        {"rope_scaling": "yarn", "yarn_orig_ctx": 128, "yarn_ext_factor": 1.0},
        {"swa_full": True, "op_offload": False, "offload_kqv": False, "no_perf": False},
    ],
)
def test_possible_parameters_decode(
    make_context: MakeContext, params: dict[str, object]
) -> None:
    context = make_context(**params)
    prefill(context, [1, 300])
    assert np.isfinite(context.logits(-1)).all()


def test_a_vocab_only_model_makes_no_context(tiny_model_path: Path) -> None:
    with (
        Model(tiny_model_path, ModelParams(vocab_only=True)) as model,
        pytest.raises(ContextError, match="vocab_only"),
    ):
        Context(model)


def test_warm_up_leaves_an_empty_memory(context: Context) -> None:
    context.warm_up()
    assert context.memory.seq_pos_max(0) == -1


def test_freeing_is_logged(
    make_context: MakeContext, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="llamactypes.objects"):
        make_context().close()
    assert caplog.messages == ["context freed"]
