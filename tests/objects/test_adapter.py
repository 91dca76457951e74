from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from llamactypes import (
    ClosedError,
    Context,
    ContextError,
    ContextParams,
    LoraAdapter,
    Model,
    ModelLoadError,
    ThreadMisuse,
)
from tests.objects.greedy import prefill

TOKENS = [1, 300, 301, 302]


@pytest.fixture
def adapter(model: Model, tiny_lora_path: Path) -> LoraAdapter:
    return LoraAdapter(model, tiny_lora_path)


def logits_with(context: Context, adapters: list[tuple[LoraAdapter, float]]) -> object:
    context.set_adapters(adapters)
    context.memory.clear()
    prefill(context, TOKENS)
    return context.logits(-1).copy()


def test_an_adapter_changes_the_output_by_its_scale(
    context: Context, adapter: LoraAdapter
) -> None:
    plain = logits_with(context, [])
    full = logits_with(context, [(adapter, 1.0)])
    assert not np.allclose(plain, full, atol=1e-3)
    assert not np.allclose(full, logits_with(context, [(adapter, 0.5)]), atol=1e-3)
    assert np.array_equal(plain, logits_with(context, [(adapter, 0.0)]))
    assert np.array_equal(plain, logits_with(context, []))
    assert context.adapters == ()


def test_a_model_lists_its_open_adapters(model: Model, tiny_lora_path: Path) -> None:
    assert model.adapters == ()
    first, second = (LoraAdapter(model, tiny_lora_path) for _ in range(2))
    assert model.adapters == (first, second)
    first.close()
    assert model.adapters == (second,)


def test_metadata_is_that_of_the_file(adapter: LoraAdapter) -> None:
    assert adapter.metadata["adapter.type"] == "lora"
    assert float(adapter.metadata["adapter.lora.alpha"]) == 8.0
    assert adapter.alora_tokens == ()


def test_closing_takes_it_out_of_the_contexts_that_use_it(
    context: Context, adapter: LoraAdapter
) -> None:
    plain = logits_with(context, [])
    logits_with(context, [(adapter, 1.0)])
    adapter.close()
    adapter.close()
    assert context.adapters == ()
    context.memory.clear()
    prefill(context, TOKENS)
    assert np.array_equal(plain, context.logits(-1))
    with pytest.raises(ClosedError):
        context.set_adapters([(adapter, 1.0)])


def test_closing_the_model_needs_no_thread_of_a_context(
    tiny_model_path: Path, tiny_lora_path: Path
) -> None:
    model = Model(tiny_model_path)
    adapter = LoraAdapter(model, tiny_lora_path)

    def make() -> Context:
        context = Context(model, ContextParams(n_ctx=256, n_threads=1))
        context.set_adapters([(adapter, 1.0)])
        return context

    with ThreadPoolExecutor(1) as pool:
        context = pool.submit(make).result(timeout=30)
    with pytest.raises(ThreadMisuse):
        adapter.close()
    model.close()
    assert context.closed
    assert adapter.closed


def test_a_context_keeps_its_adapters_alive(
    context: Context, model: Model, tiny_lora_path: Path
) -> None:
    logits_with(context, [(LoraAdapter(model, tiny_lora_path), 1.0)])
    assert not context.adapters[0][0].closed
    prefill(context, [303], pos=4)


def test_files_that_are_no_adapter_are_refused(
    model: Model, tiny_model_path: Path, tmp_path: Path
) -> None:
    (tmp_path / "text").write_text("no adapter")
    for path, words in (
        (tmp_path / "absent", "does not exist"),
        (tmp_path / "text", "cannot be loaded: "),
        (tiny_model_path, "cannot be loaded: "),
    ):
        with pytest.raises(ModelLoadError, match=words):
            LoraAdapter(model, path)


def test_an_adapter_of_another_model_is_refused(
    context: Context, tiny_model_path: Path, tiny_lora_path: Path
) -> None:
    with Model(tiny_model_path) as other:
        adapter = LoraAdapter(other, tiny_lora_path)
        with pytest.raises(ContextError, match="the model it was loaded for"):
            context.set_adapters([(adapter, 1.0)])


def test_an_adapter_of_another_shape_is_refused(
    tiny_lora_path: Path, smollm2_path: Path
) -> None:
    with (
        Model(smollm2_path) as model,
        pytest.raises(ModelLoadError, match="incorrect shape"),
    ):
        LoraAdapter(model, tiny_lora_path)
