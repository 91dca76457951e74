from __future__ import annotations

import gguf
import numpy as np
import pytest

from benchmarks.gpu_model import SHAPES, write_model
from benchmarks.gpu_run import _add_ratios, _is_met
from llamactypes.batch import Batch
from llamactypes.context import Context, ContextParams
from llamactypes.model import Model


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    path = tmp_path_factory.mktemp("gpu") / "tiny.gguf"
    assert write_model(path, SHAPES["tiny"]) == path.stat().st_size
    return path


def test_model_has_the_tensors_of_its_shape(tiny):
    shape = SHAPES["tiny"]
    found = {t.name: list(t.shape) for t in gguf.GGUFReader(tiny).tensors}
    assert len(found) == 2 + 9 * shape.n_layer
    assert found["token_embd.weight"] == [shape.n_embd, shape.n_vocab]
    assert found["blk.1.ffn_down.weight"] == [shape.n_ff, shape.n_embd]
    assert found["blk.0.attn_k.weight"] == [shape.n_embd, shape.n_embd // 2]


def test_model_gives_finite_logits(tiny):
    params = ContextParams(n_ctx=64, n_batch=64, n_threads=1, n_threads_batch=1)
    with Model(tiny) as model, Context(model, params) as context, Batch(8) as batch:
        batch.extend([1, 300, 301], 0, 0, last_logits=True)
        context.decode(batch)
        logits = context.logits(2).copy()
    assert np.isfinite(logits).all()
    assert 0.1 < logits.std() < 10


def test_ratios_are_left_out_without_a_raw_rate():
    row = {"streams": 32, "raw": 1000.0, "engine": 960.0, "server": None}
    _add_ratios(row)
    assert row["engine_ratio"] == pytest.approx(0.96)
    assert "server_ratio" not in row
    row = {"streams": 1, "engine": 100.0}
    _add_ratios(row)
    assert row["engine_step_ms"] == pytest.approx(10)
    assert "engine_ratio" not in row


def test_target_is_judged_at_32_streams_and_no_error_is_forgiven():
    row = {"streams": 32, "engine_ratio": 0.96}
    assert _is_met({"rows": [{"streams": 1, "engine_ratio": 0.5}, row]})
    assert not _is_met({"rows": [{"streams": 32, "engine_ratio": 0.94}]})
    assert not _is_met({"rows": [row], "errors": ["raw: failed"]})
