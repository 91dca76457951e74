"""Write small encoders with random weights: for embeddings, and with a head to rank."""

from __future__ import annotations

import string
from pathlib import Path

import gguf
import numpy as np

from tests.support.tiny_gguf import finish, random_weights

__all__ = ("N_CTX", "N_EMBD", "write_bert", "write_reranker")

N_CTX = 128
N_EMBD = 32
_N_FF = 64
_N_HEAD = 2
_N_LAYER = 2
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_SPACE = "▁"  # before a word; what goes on inside one has none
_WORDS = ("the", "cat", "sat", "hello", "world", "machine", "learning", "paris")
_NORMAL, _CONTROL = 1, 3


def vocabulary() -> list[str]:
    """Return every token: special ones, words, letters that begin or go on."""
    letters = string.ascii_lowercase + string.digits + ".,!?-"
    begins = [_SPACE + each for each in (*_WORDS, *letters)]
    return [*_SPECIAL, *begins, *letters]


def write_bert(path: Path, *, seed: int = 0, pooling: str = "mean") -> None:
    """Write an encoder of about 100 kB with a WordPiece vocabulary."""
    _write(path, seed, gguf.PoolingType[pooling.upper()])


def write_reranker(path: Path, *, seed: int = 0) -> None:
    """Write one that gives a pair of texts a score."""
    _write(path, seed, gguf.PoolingType.RANK)


def _write(path: Path, seed: int, pooling: gguf.PoolingType) -> None:
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_name("llamactypes tiny encoder")
    writer.add_file_type(0)
    writer.add_context_length(N_CTX)
    writer.add_embedding_length(N_EMBD)
    writer.add_block_count(_N_LAYER)
    writer.add_feed_forward_length(_N_FF)
    writer.add_head_count(_N_HEAD)
    writer.add_layer_norm_eps(1e-6)
    writer.add_causal_attention(False)
    writer.add_pooling_type(pooling)
    _add_vocabulary(writer)
    random = np.random.default_rng(seed)
    _add_tensors(writer, random)
    if pooling is gguf.PoolingType.RANK:
        writer.add_array("bert.classifier.output_labels", ["LABEL_0"])
        _add_dense(writer, random, "cls", N_EMBD, N_EMBD)
        _add_dense(writer, random, "cls.output", N_EMBD, 1)
    finish(writer)


def _add_vocabulary(writer: gguf.GGUFWriter) -> None:
    tokens = vocabulary()
    writer.add_tokenizer_model("bert")
    writer.add_token_list(tokens)
    kinds = [_CONTROL if token in _SPECIAL else _NORMAL for token in tokens]
    writer.add_token_types(kinds)
    writer.add_token_type_count(2)
    writer.add_pad_token_id(0)
    writer.add_unk_token_id(1)
    writer.add_bos_token_id(2)
    writer.add_eos_token_id(3)
    writer.add_sep_token_id(3)
    writer.add_mask_token_id(4)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)


def _add_tensors(writer: gguf.GGUFWriter, random: np.random.Generator) -> None:
    tables = {
        "token_embd": len(vocabulary()),
        "position_embd": N_CTX,
        "token_types": 2,
    }
    for name, n_rows in tables.items():
        writer.add_tensor(f"{name}.weight", random_weights(random, n_rows, N_EMBD))
    _add_norm(writer, "token_embd_norm")
    for layer in range(_N_LAYER):
        block = f"blk.{layer}"
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            _add_dense(writer, random, f"{block}.{name}", N_EMBD, N_EMBD)
        _add_dense(writer, random, f"{block}.ffn_up", N_EMBD, _N_FF)
        _add_dense(writer, random, f"{block}.ffn_down", _N_FF, N_EMBD)
        _add_norm(writer, f"{block}.attn_output_norm")
        _add_norm(writer, f"{block}.layer_output_norm")


def _add_dense(
    writer: gguf.GGUFWriter,
    random: np.random.Generator,
    name: str,
    n_in: int,
    n_out: int,
) -> None:
    writer.add_tensor(f"{name}.weight", random_weights(random, n_out, n_in))
    writer.add_tensor(f"{name}.bias", random_weights(random, n_out))


def _add_norm(writer: gguf.GGUFWriter, name: str) -> None:
    writer.add_tensor(f"{name}.weight", np.ones(N_EMBD, dtype=np.float32))
    writer.add_tensor(f"{name}.bias", np.zeros(N_EMBD, dtype=np.float32))
