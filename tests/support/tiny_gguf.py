"""Write small models with random weights: always there, the same bytes each time.

They speak nonsense, but load, decode, sample and save as real models do.
"""

from __future__ import annotations

import os
import string
import tempfile
from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

N_CTX_TRAIN = 2048
N_EMBD = 64
N_FF = 96
N_HEAD = 4
N_HEAD_KV = 2
N_LAYER = 2
N_LORA_RANK = 4

INFILL_TOKENS = {"fim_pre": 3, "fim_suf": 4, "fim_mid": 5}
"""Tokens for bytes that no text has, used as marks."""

_UNKNOWN, _CONTROL, _NORMAL, _BYTE = 2, 3, 1, 6
_SPACE = "▁"  # how SentencePiece spells a space
_SYLLABLES = [a + b for a in "bdfglmnprst" for b in "aeiou"]
_WORDS = ["the", "and", "is", "in", "it", "of", "to", "was", "a", "he", "she", "day"]

TEMPLATE = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}"


def vocabulary() -> list[tuple[str, float, int]]:
    """Return (text, score, type) of every token: specials, bytes, letters, pieces."""
    special = [("<unk>", _UNKNOWN), ("<s>", _CONTROL), ("</s>", _CONTROL)]
    tokens = [(text, 0.0, kind) for text, kind in special]
    tokens += [(f"<0x{byte:02X}>", 0.0, _BYTE) for byte in range(256)]
    longer = _SYLLABLES + [_SPACE + word for word in _WORDS]
    pieces = [_SPACE, *string.ascii_letters, *string.digits, *".,!?'\"-:;()é", *longer]
    # A later piece is a worse merge: scores fall, as SentencePiece's do.
    tokens += [(text, -1.0 - index, _NORMAL) for index, text in enumerate(pieces)]
    # Bigrams on the way to the words, so that merging can reach them.
    known = {text for text, _, _ in tokens}
    for word in longer:
        for end in range(2, len(word)):
            if word[:end] not in known:
                known.add(word[:end])
                tokens.append((word[:end], -1.0 - len(tokens), _NORMAL))
    return tokens


def write_model(
    path: Path,
    *,
    seed: int = 0,
    template: str | None = TEMPLATE,
    causal: bool = True,
    has_vocabulary: bool = True,
    has_infill: bool = False,
    split_max_tensors: int = 0,
) -> None:
    """Write a llama model of about 500 kB with a SentencePiece vocabulary.

    With `split_max_tensors` it becomes several files ``…-00001-of-0000N.gguf``.
    """
    writer = gguf.GGUFWriter(path, "llama", split_max_tensors=split_max_tensors)
    writer.add_name("llamactypes tiny test model")
    writer.add_file_type(0)
    writer.add_context_length(N_CTX_TRAIN)
    writer.add_embedding_length(N_EMBD)
    writer.add_block_count(N_LAYER)
    writer.add_feed_forward_length(N_FF)
    writer.add_head_count(N_HEAD)
    writer.add_head_count_kv(N_HEAD_KV)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(N_EMBD // N_HEAD)
    if not causal:
        writer.add_causal_attention(False)
    if has_vocabulary:
        add_vocabulary(writer)
    else:
        writer.add_tokenizer_model("none")
        writer.add_vocab_size(len(vocabulary()))
    if has_infill:
        for name, token in INFILL_TOKENS.items():
            writer.add_uint32(f"tokenizer.ggml.{name}_token_id", token)
    if template is not None:
        writer.add_chat_template(template)
    _add_tensors(writer, np.random.default_rng(seed))
    finish(writer)


def write_lora(
    path: Path, *, seed: int = 1, alpha: float = 8.0, invocation: tuple[int, ...] = ()
) -> None:
    """Write a LoRA adapter for the attention of `write_model`'s model.

    With `invocation` tokens it is an activated one (aLoRA).
    """
    random = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    writer.add_string("adapter.lora.task_name", "tests")
    writer.add_string("adapter.lora.prompt_prefix", "prefix")
    if invocation:
        key, kind = "adapter.alora.invocation_tokens", gguf.GGUFValueType.ARRAY
        part = gguf.GGUFValueType.UINT32
        writer.add_key_value(key, list(invocation), kind, sub_type=part)
    n_kv = N_EMBD // N_HEAD * N_HEAD_KV
    for layer in range(N_LAYER):
        for name, n_out in (("attn_q", N_EMBD), ("attn_v", n_kv)):
            tensor = f"blk.{layer}.{name}.weight"
            writer.add_tensor(
                f"{tensor}.lora_a", random_weights(random, N_LORA_RANK, N_EMBD)
            )
            writer.add_tensor(
                f"{tensor}.lora_b", random_weights(random, n_out, N_LORA_RANK)
            )
    finish(writer)


def cached(path: Path, write: Callable[[Path], None]) -> Path:
    """Return `path`, written by `write` if it is not there; safe for parallel runs."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        os.close(handle)
        write(Path(name))
        os.replace(name, path)
    return path


def add_vocabulary(writer: gguf.GGUFWriter) -> None:
    tokens = vocabulary()
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _, _ in tokens])
    writer.add_token_scores([score for _, score, _ in tokens])
    writer.add_token_types([kind for _, _, kind in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)


def _add_tensors(writer: gguf.GGUFWriter, random: np.random.Generator) -> None:
    n_vocab, n_kv = len(vocabulary()), N_EMBD // N_HEAD * N_HEAD_KV
    ones = np.ones(N_EMBD, dtype=np.float32)
    writer.add_tensor("token_embd.weight", random_weights(random, n_vocab, N_EMBD))
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", random_weights(random, n_vocab, N_EMBD))
    shapes = {
        "attn_q": (N_EMBD, N_EMBD),
        "attn_k": (n_kv, N_EMBD),
        "attn_v": (n_kv, N_EMBD),
        "attn_output": (N_EMBD, N_EMBD),
        "ffn_gate": (N_FF, N_EMBD),
        "ffn_up": (N_FF, N_EMBD),
        "ffn_down": (N_EMBD, N_FF),
    }
    for layer in range(N_LAYER):
        writer.add_tensor(f"blk.{layer}.attn_norm.weight", ones)
        writer.add_tensor(f"blk.{layer}.ffn_norm.weight", ones)
        for name, shape in shapes.items():
            writer.add_tensor(
                f"blk.{layer}.{name}.weight", random_weights(random, *shape)
            )


def random_weights(random: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    return (random.standard_normal(shape) * 0.3).astype(np.float32)


def finish(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
