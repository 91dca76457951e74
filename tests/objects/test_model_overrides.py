"""Metadata and placement changed at load."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from llamactypes.context import Context, ContextParams
from llamactypes.errors import ModelLoadError
from llamactypes.model import Model, ModelParams
from tests.objects.greedy import continue_greedily


def greedy(model: Model) -> list[int]:
    with Context(model, ContextParams(n_ctx=64, n_threads=1)) as context:
        return continue_greedily(context, 5, 0, 8)


def refusal(path: Path, **params: Any) -> str:
    with pytest.raises(ModelLoadError) as caught:
        Model(path, ModelParams(**params))
    return str(caught.value)


def test_values_replace_those_of_the_file(tiny_model_path: Path):
    overrides = (
        ("llama.context_length", 777),
        ("tokenizer.ggml.add_bos_token", False),
        ("general.name", "another"),
        ("llama.attention.layer_norm_rms_epsilon", 1e-4),
    )
    with Model(tiny_model_path, ModelParams(metadata_overrides=overrides)) as model:
        assert model.n_ctx_train == 777
        assert not model.vocab.add_bos


def test_value_of_another_type_is_ignored_with_a_warning(
    tiny_model_path: Path, caplog: pytest.LogCaptureFixture
):
    overrides = (("llama.context_length", "many"),)
    with Model(tiny_model_path, ModelParams(metadata_overrides=overrides)) as model:
        assert model.n_ctx_train == 2048
    assert "expected int but got str" in caplog.text


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("k" * 128, 1, "must have 1 to 127 bytes"),
        ("", 1, "must have 1 to 127 bytes"),
        ("k", "v" * 128, "the value of k to override must have"),
        ("k", 2**63, "does not fit 64 bits"),
    ],
)
def test_too_long_override_is_refused(
    tiny_model_path: Path, key: str, value: Any, message: str
):
    assert message in refusal(tiny_model_path, metadata_overrides=((key, value),))


def test_tensors_go_where_a_pattern_says(tiny_model_path: Path):
    placed = ModelParams(tensor_placement=((r"blk\.\d+\.ffn_.*", "CPU"),))
    with Model(tiny_model_path, placed) as model, Model(tiny_model_path) as plain:
        assert greedy(model) == greedy(plain)


def test_unknown_buffer_type_names_those_there_are(tiny_model_path: Path):
    placement = (("x", "nowhere"),)
    message = refusal(tiny_model_path, tensor_placement=placement)
    assert "no buffer type 'nowhere'; there are CPU" in message


def test_pattern_that_is_none_is_refused(tiny_model_path: Path):
    placement = (("(", "CPU"),)
    assert "cannot be loaded" in refusal(tiny_model_path, tensor_placement=placement)


@pytest.mark.parametrize(
    "params",
    [
        ModelParams(direct_io=True),
        ModelParams(lazy_mode="on"),
        ModelParams(repack=False, no_host=True),
    ],
    ids=["direct_io", "lazy", "no_repack"],
)
def test_ways_of_loading_change_no_text(tiny_model_path: Path, params: ModelParams):
    with Model(tiny_model_path, params) as model, Model(tiny_model_path) as plain:
        assert greedy(model) == greedy(plain)


def test_unknown_lazy_mode_is_refused(tiny_model_path: Path):
    assert "lazy_mode 'x' is unknown; use off" in refusal(
        tiny_model_path, lazy_mode="x"
    )
