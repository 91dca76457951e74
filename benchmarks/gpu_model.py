"""Write a model of a given shape with random weights: fast, and of no other use.

    python -m benchmarks.gpu_model 8b model.gguf

The weights are random bits in Q4_0 blocks whose scales keep the activations, and with
them the logits, finite. One pool of random blocks is written again and again: what a
device reads has its real size, and 4.5 GB take seconds. The vocabulary is made up as
well, of the size a real model has, because sampling looks at all of it.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

__all__ = ("SHAPES", "Shape", "write_model")

_ALIGNMENT = 32
_POOL_BLOCKS = 1 << 19
_F32, _Q4_0 = 0, 2
_BLOCK = 32
_BLOCK_BYTES = 18  # a float16 scale and 32 weights of 4 bits
_STD = 4.6  # of 4-bit weights -8 … 7, all equally frequent
_UINT32, _FLOAT32, _STRING, _ARRAY, _INT32 = 4, 6, 8, 9, 5
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a Llama model."""

    n_embd: int
    n_layer: int
    n_ff: int
    n_head: int
    n_head_kv: int
    n_vocab: int
    is_tied: bool
    """The output matrix is the token embedding's."""

    @property
    def n_kv(self) -> int:
        """Width of keys and of values."""
        return self.n_embd // self.n_head * self.n_head_kv


SHAPES = {
    "tiny": Shape(256, 2, 512, 4, 2, 1024, is_tied=True),
    "1b": Shape(2048, 16, 8192, 32, 8, 128256, is_tied=True),
    "8b": Shape(4096, 32, 14336, 32, 8, 128256, is_tied=False),
}


@dataclass(frozen=True, slots=True)
class _Tensor:
    name: str
    n_in: int
    n_out: int
    """0: a vector of ones."""

    @property
    def n_bytes(self) -> int:
        if not self.n_out:
            return 4 * self.n_in
        return self.n_in * self.n_out // _BLOCK * _BLOCK_BYTES


def write_model(path: Path, shape: Shape, seed: int = 0) -> int:
    """Write the file; return its size in bytes."""
    tensors = list(_tensors(shape))
    dice = np.random.default_rng(seed)
    pool = dice.integers(0, 256, (_POOL_BLOCKS, _BLOCK_BYTES), np.uint8)
    with path.open("wb") as file:
        file.write(_header(shape, tensors))
        _pad(file)
        for tensor in tensors:
            _write_tensor(file, tensor, pool)
            _pad(file)
        return file.tell()


def _tensors(shape: Shape) -> Iterator[_Tensor]:
    n, n_kv, n_ff = shape.n_embd, shape.n_kv, shape.n_ff
    yield _Tensor("token_embd.weight", n, shape.n_vocab)
    for i in range(shape.n_layer):
        block = f"blk.{i}."
        yield _Tensor(block + "attn_norm.weight", n, 0)
        yield _Tensor(block + "attn_q.weight", n, n)
        yield _Tensor(block + "attn_k.weight", n, n_kv)
        yield _Tensor(block + "attn_v.weight", n, n_kv)
        yield _Tensor(block + "attn_output.weight", n, n)
        yield _Tensor(block + "ffn_norm.weight", n, 0)
        yield _Tensor(block + "ffn_gate.weight", n, n_ff)
        yield _Tensor(block + "ffn_up.weight", n, n_ff)
        yield _Tensor(block + "ffn_down.weight", n_ff, n)
    yield _Tensor("output_norm.weight", n, 0)
    if not shape.is_tied:
        yield _Tensor("output.weight", n, shape.n_vocab)


def _write_tensor(file: BinaryIO, tensor: _Tensor, pool: Any) -> None:
    if not tensor.n_out:
        file.write(np.ones(tensor.n_in, np.float32).tobytes())
        return
    # Weights of deviation 1 / sqrt(n_in): what comes out is as large as what goes in.
    scale = np.float16(1.0 / (_STD * tensor.n_in**0.5))
    pool[:, :2] = np.frombuffer(scale.tobytes(), np.uint8)
    left, data = tensor.n_bytes, memoryview(pool).cast("B")
    while left > 0:
        left -= file.write(data[:left])


def _header(shape: Shape, tensors: list[_Tensor]) -> bytes:
    entries = [_entry(key, value) for key, value in _metadata(shape)]
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(entries))
    parts, offset = [head, *entries], 0
    for tensor in tensors:
        parts.append(_text(tensor.name) + _dimensions(tensor, offset))
        offset += -(-tensor.n_bytes // _ALIGNMENT) * _ALIGNMENT
    return b"".join(parts)


def _dimensions(tensor: _Tensor, offset: int) -> bytes:
    if not tensor.n_out:
        return struct.pack("<IQIQ", 1, tensor.n_in, _F32, offset)
    return struct.pack("<IQQIQ", 2, tensor.n_in, tensor.n_out, _Q4_0, offset)


def _metadata(shape: Shape) -> Iterator[tuple[str, Any]]:
    yield "general.architecture", "llama"
    yield "general.name", "random weights"
    yield "general.file_type", 2
    yield "general.quantization_version", 2
    sizes = {
        "context_length": 8192,
        "embedding_length": shape.n_embd,
        "block_count": shape.n_layer,
        "feed_forward_length": shape.n_ff,
        "attention.head_count": shape.n_head,
        "attention.head_count_kv": shape.n_head_kv,
        "rope.dimension_count": shape.n_embd // shape.n_head,
        "vocab_size": shape.n_vocab,
    }
    yield from ((f"llama.{key}", value) for key, value in sizes.items())
    yield "llama.attention.layer_norm_rms_epsilon", 1e-5
    yield "llama.rope.freq_base", 500000.0
    yield "tokenizer.ggml.model", "llama"
    vocabulary = list(_vocabulary(shape.n_vocab))
    yield "tokenizer.ggml.tokens", [text for text, _ in vocabulary]
    yield "tokenizer.ggml.scores", [-float(i) for i in range(shape.n_vocab)]
    yield "tokenizer.ggml.token_type", [kind for _, kind in vocabulary]
    yield "tokenizer.ggml.unknown_token_id", 0
    yield "tokenizer.ggml.bos_token_id", 1
    yield "tokenizer.ggml.eos_token_id", 2


def _vocabulary(n: int) -> Iterator[tuple[str, int]]:
    yield from (("<unk>", _UNKNOWN), ("<s>", _CONTROL), ("</s>", _CONTROL))
    yield from ((f"<0x{byte:02X}>", _BYTE) for byte in range(256))
    yield from ((f"▁w{i:x}", _NORMAL) for i in range(n - 259))


def _entry(key: str, value: Any) -> bytes:
    return _text(key) + _value(value)


def _value(value: Any) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _text(value)
    if isinstance(value, float):
        return struct.pack("<If", _FLOAT32, value)
    if isinstance(value, int):
        return struct.pack("<II", _UINT32, value)
    head = struct.pack("<IIQ", _ARRAY, _item_type(value[0]), len(value))
    if isinstance(value[0], str):
        return head + b"".join(map(_text, value))
    code = "f" if isinstance(value[0], float) else "i"
    return head + struct.pack(f"<{len(value)}{code}", *value)


def _item_type(item: Any) -> int:
    if isinstance(item, str):
        return _STRING
    return _FLOAT32 if isinstance(item, float) else _INT32


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _pad(file: BinaryIO) -> None:
    file.write(bytes(-file.tell() % _ALIGNMENT))


def main() -> int:
    """Write one model."""
    if len(sys.argv) != 3 or sys.argv[1] not in SHAPES:
        print(f"usage: gpu_model {'|'.join(SHAPES)} FILE", file=sys.stderr)
        return 2
    size = write_model(Path(sys.argv[2]), SHAPES[sys.argv[1]])
    print(f"{sys.argv[2]}: {size / 1e9:.2f} GB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
