"""Nothing stays behind: neither Python's objects nor the library's memory."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from llamactypes import (
    Batch,
    Context,
    ContextParams,
    LoraAdapter,
    Model,
    SamplerChain,
    SamplingParams,
    restore_sequence,
    save_sequence,
)
from llamactypes._handle import NativeObject
from tests.objects.greedy import prefill

SMALL = ContextParams(n_ctx=512, n_threads=1, n_ubatch=64)
_SLACK_BYTES = 3_000_000


def rss() -> int:
    gc.collect()
    return int(psutil.Process().memory_info().rss)


def finalizers() -> int:
    """How many native objects wait to be freed."""
    gc.collect()
    return len(weakref.finalize._registry)  # type: ignore[attr-defined]


def assert_steady(step: Callable[[], None], n: int, object_bytes: int) -> None:
    """Fail if `n` steps of an object of `object_bytes` grow the process by many."""
    assert n * object_bytes > 3 * _SLACK_BYTES, "too few steps to see a leak"
    for _ in range(max(3, n // 10)):
        step()
    before, waiting = rss(), finalizers()
    for _ in range(n):
        step()
    assert finalizers() == waiting
    assert rss() - before < _SLACK_BYTES


def test_models_leave_nothing(tiny_model_path: Path) -> None:
    def step() -> None:
        with Model(tiny_model_path) as model:
            model.vocab.tokenize("the day")

    assert_steady(step, 40, tiny_model_path.stat().st_size)


def test_contexts_leave_nothing(model: Model) -> None:
    def step() -> None:
        with Context(model, SMALL) as context:
            prefill(context, [1, 300])

    assert_steady(step, 40, 2 * 512 * 2 * 32 * 2 * 4)


def test_contexts_left_to_the_collector_leave_nothing(model: Model) -> None:
    assert_steady(lambda: prefill(Context(model, SMALL), [1]), 40, 2 * 512 * 2 * 32 * 8)


def test_sampler_chains_leave_nothing(model: Model) -> None:
    params = SamplingParams(
        dry_multiplier=1.0, dry_penalty_last_n=20_000, repeat_penalty=1.1
    )
    assert_steady(
        lambda: SamplerChain.from_params(model, params).close(), 300, 20_000 * 8
    )


def test_a_chain_that_failed_leaves_nothing(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = finalizers()
    monkeypatch.setattr(SamplerChain, "_add", lambda self, sampler: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        SamplerChain.from_params(model, SamplingParams())
    assert finalizers() == waiting


def test_adapters_leave_nothing(model: Model, tiny_lora_path: Path) -> None:
    def step() -> None:
        LoraAdapter(model, tiny_lora_path).close()

    assert_steady(step, 1500, tiny_lora_path.stat().st_size)


def test_batches_leave_nothing() -> None:
    assert_steady(lambda: Batch(4096).close(), 200, 4096 * 25)


def test_states_leave_nothing(model: Model) -> None:
    with Context(model, SMALL) as context:
        prefill(context, [1] * 500)
        size = len(save_sequence(context, 0))

        def step() -> None:
            restore_sequence(context, 0, save_sequence(context, 0))

        assert_steady(step, 100, size)


def test_aborted_loads_leave_nothing(tiny_model_path: Path, tmp_path: Path) -> None:
    data = tiny_model_path.read_bytes()
    (tmp_path / "short.gguf").write_bytes(data[: len(data) // 2])

    def step() -> None:
        with pytest.raises(Exception, match="cannot be loaded"):
            Model(tmp_path / "short.gguf")
        with pytest.raises(Exception, match="cancelled"):
            Model(tiny_model_path, progress=lambda done: False)

    assert_steady(step, 40, tiny_model_path.stat().st_size)


def test_logits_views_leave_nothing(model: Model) -> None:
    with Context(model, SMALL) as context:
        prefill(context, [1])
        assert_steady(lambda: context.logits(0).sum(), 10_000, 413 * 4)


def test_a_parent_forgets_dead_children(model: Model) -> None:
    gc.collect()
    before = len(model._children)
    for _ in range(5):
        SamplerChain.from_params(model, SamplingParams())
    assert len(model._children) == before
    assert isinstance(model, NativeObject)
