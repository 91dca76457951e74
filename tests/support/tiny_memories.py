"""Small random models whose memory is not a plain KV cache.

=============  =========  =====================================================
`write_swa`    ``olmo2``  three layers with a sliding window, one without
`write_mamba`  ``mamba``  recurrent states only
`write_jamba`  ``jamba``  hybrid: one layer with a recurrent state, one with KV
=============  =========  =====================================================
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

from tests.support.tiny_gguf import (
    N_CTX_TRAIN,
    N_EMBD,
    N_FF,
    N_HEAD,
    N_HEAD_KV,
    add_vocabulary,
    finish,
    random_weights,
    vocabulary,
)

__all__ = ("N_SWA", "write_jamba", "write_mamba", "write_swa")

N_SWA = 32
"""Window of the model that has one, in tokens."""

_N_KV = N_EMBD // N_HEAD * N_HEAD_KV
_D_CONV, _D_INNER, _D_STATE, _DT_RANK = 4, 2 * N_EMBD, 8, 4


class _Tensors:
    """Adds tensors with random weights; the same seed writes the same bytes."""

    def __init__(self, writer: gguf.GGUFWriter, seed: int) -> None:
        self._writer = writer
        self._random = np.random.default_rng(seed)

    def ones(self, name: str, n: int = N_EMBD) -> None:
        self._writer.add_tensor(name, np.ones(n, dtype=np.float32))

    def random(self, name: str, *shape: int) -> None:
        self._writer.add_tensor(name, random_weights(self._random, *shape))

    def frame(self) -> None:
        """Add what stands before and after the layers."""
        self.random("token_embd.weight", len(vocabulary()), N_EMBD)
        self.ones("output_norm.weight")
        self.random("output.weight", len(vocabulary()), N_EMBD)

    def attention(self, layer: str) -> None:
        self.random(f"{layer}.attn_q.weight", N_EMBD, N_EMBD)
        self.random(f"{layer}.attn_k.weight", _N_KV, N_EMBD)
        self.random(f"{layer}.attn_v.weight", _N_KV, N_EMBD)
        self.random(f"{layer}.attn_output.weight", N_EMBD, N_EMBD)

    def feed_forward(self, layer: str) -> None:
        self.random(f"{layer}.ffn_gate.weight", N_FF, N_EMBD)
        self.random(f"{layer}.ffn_up.weight", N_FF, N_EMBD)
        self.random(f"{layer}.ffn_down.weight", N_EMBD, N_FF)

    def mamba(self, layer: str) -> None:
        self.random(f"{layer}.ssm_in.weight", 2 * _D_INNER, N_EMBD)
        self.random(f"{layer}.ssm_conv1d.weight", _D_INNER, _D_CONV)
        self.random(f"{layer}.ssm_conv1d.bias", _D_INNER)
        self.random(f"{layer}.ssm_x.weight", _DT_RANK + 2 * _D_STATE, _D_INNER)
        self.random(f"{layer}.ssm_dt.weight", _D_INNER, _DT_RANK)
        self.random(f"{layer}.ssm_dt.bias", _D_INNER)
        # Negative, so that the state fades and stays finite.
        decay = -np.ones((_D_INNER, _D_STATE), dtype=np.float32) / 8
        self._writer.add_tensor(f"{layer}.ssm_a", decay)
        self.ones(f"{layer}.ssm_d", _D_INNER)
        self.random(f"{layer}.ssm_out.weight", N_EMBD, _D_INNER)


def write_swa(path: Path, *, seed: int = 0) -> None:
    """Write a model whose first three layers see the last `N_SWA` tokens only."""
    n_layer = 4
    writer = _writer(path, "olmo2", n_layer)
    _add_attention_sizes(writer)
    writer.add_sliding_window(N_SWA)
    tensors = _Tensors(writer, seed)
    tensors.frame()
    for index in range(n_layer):
        layer = f"blk.{index}"
        tensors.attention(layer)
        tensors.ones(f"{layer}.attn_q_norm.weight")
        tensors.ones(f"{layer}.attn_k_norm.weight", _N_KV)
        tensors.ones(f"{layer}.post_attention_norm.weight")
        tensors.feed_forward(layer)
        tensors.ones(f"{layer}.post_ffw_norm.weight")
    finish(writer)


def write_mamba(path: Path, *, seed: int = 0) -> None:
    """Write a model without attention."""
    n_layer = 2
    writer = _writer(path, "mamba", n_layer)
    writer.add_head_count(0)
    writer.add_feed_forward_length(0)
    _add_ssm_sizes(writer)
    tensors = _Tensors(writer, seed)
    tensors.frame()
    for index in range(n_layer):
        tensors.ones(f"blk.{index}.attn_norm.weight")
        tensors.mamba(f"blk.{index}")
    finish(writer)


def write_jamba(path: Path, *, seed: int = 0) -> None:
    """Write a model of one mamba layer and one with attention."""
    n_layer = 2
    writer = _writer(path, "jamba", n_layer)
    _add_attention_sizes(writer, [0, N_HEAD_KV])
    _add_ssm_sizes(writer)
    tensors = _Tensors(writer, seed)
    tensors.frame()
    for index in range(n_layer):
        layer = f"blk.{index}"
        tensors.ones(f"{layer}.attn_norm.weight")
        if index == 0:
            tensors.mamba(layer)
            tensors.ones(f"{layer}.ssm_dt_norm.weight", _DT_RANK)
            tensors.ones(f"{layer}.ssm_b_norm.weight", _D_STATE)
            tensors.ones(f"{layer}.ssm_c_norm.weight", _D_STATE)
        else:
            tensors.attention(layer)
        tensors.ones(f"{layer}.ffn_norm.weight")
        tensors.feed_forward(layer)
    finish(writer)


def _writer(path: Path, architecture: str, n_layer: int) -> gguf.GGUFWriter:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name(f"llamactypes tiny {architecture}")
    writer.add_file_type(0)
    writer.add_context_length(N_CTX_TRAIN)
    writer.add_embedding_length(N_EMBD)
    writer.add_block_count(n_layer)
    writer.add_layer_norm_rms_eps(1e-5)
    add_vocabulary(writer)
    return writer


def _add_attention_sizes(
    writer: gguf.GGUFWriter, n_head_kv: int | list[int] = N_HEAD_KV
) -> None:
    writer.add_feed_forward_length(N_FF)
    writer.add_head_count(N_HEAD)
    writer.add_head_count_kv(n_head_kv)
    writer.add_rope_dimension_count(N_EMBD // N_HEAD)


def _add_ssm_sizes(writer: gguf.GGUFWriter) -> None:
    writer.add_ssm_conv_kernel(_D_CONV)
    writer.add_ssm_inner_size(_D_INNER)
    writer.add_ssm_state_size(_D_STATE)
    writer.add_ssm_time_step_rank(_DT_RANK)
