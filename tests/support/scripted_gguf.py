"""Write a small model that recites: the last byte of a prompt chooses the text.

Its tokens cut characters in the middle, as those of real models do. A token's logits
depend on nothing but the token before it, so the text is the same at any temperature,
whatever else is in the batch, and whoever tokenizes the prompt.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

from tests.support.tiny_gguf import finish

FLEX = "🏋️‍♀️💪🏼"
"""Two people's emoji of five code points: many bytes that are no text on their own."""
FLEX_CUTS = (3, 2, 3, 3, 2, 2, 3, 3, 3)
CROOKED = "歪"
GREEK = "alpha beta gamma delta"
GREEK_CUTS = (2, 3, 3, 3, 2, 3, 3, 3)

# Prompts that end with these; any other prompt, also an empty one, begins GREEK.
ASK_FLEX, ASK_CROOKED, ASK_GREEK = "1", "2", "3"

N_CTX_TRAIN = 1024
_N_EMBD = 32
_EOS = 0
_NORMAL, _CONTROL = 1, 3
_TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}"


def pieces(text: str, cuts: tuple[int, ...]) -> list[bytes]:
    """Cut the bytes of `text` into pieces of `cuts` bytes."""
    ends = np.cumsum(cuts)
    data = text.encode()
    if ends[-1] != len(data):
        raise ValueError(f"{text!r} has {len(data)} bytes, not {ends[-1]}")
    return [data[end - n : end] for end, n in zip(ends, cuts, strict=True)]


def write_scripted(path: Path) -> None:
    """Write a llama model with a byte-level BPE vocabulary, of about 60 kB."""
    spell = _byte_letters()
    flex = pieces(FLEX, FLEX_CUTS)
    crooked = pieces(CROOKED * 2, (2, 2, 2))
    greek = pieces(GREEK, GREEK_CUTS)
    scripts = [(greek, False), (flex, True), (crooked, True)]
    # <eos>, one token for each byte, then those of the scripts.
    tokens = ["<eos>", *spell]
    states = [0] * len(tokens)
    states[1 + ord(ASK_FLEX)], states[1 + ord(ASK_CROOKED)] = 1, 2
    after: dict[int, int] = {}  # the token that follows a state
    n_states = len(scripts)
    for script, (parts, is_endless) in enumerate(scripts):
        first = after[script] = len(tokens)
        for part in parts:
            tokens.append("".join(spell[byte] for byte in part))
            states.append(n_states)
            after[n_states] = len(tokens)
            n_states += 1
        after[n_states - 1] = first if is_endless else _EOS
    _write(path, tokens, states, after)


def _byte_letters() -> list[str]:
    """Return the letter for each byte in byte-level BPE, as GPT-2 introduced it."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(b) if b in printable else chr(next(others)) for b in range(256)]


def _write(
    path: Path, tokens: list[str], states: list[int], after: dict[int, int]
) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("llamactypes scripted test model")
    writer.add_file_type(0)
    writer.add_context_length(N_CTX_TRAIN)
    writer.add_embedding_length(_N_EMBD)
    writer.add_block_count(1)
    writer.add_feed_forward_length(_N_EMBD)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(_N_EMBD)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    # No merge makes a script's token: prompts are always single bytes.
    space = _byte_letters()[ord(" ")]
    tokens = [*tokens, space * 2]
    states = [*states, 0]
    writer.add_token_list(tokens)
    writer.add_token_types([_CONTROL] + [_NORMAL] * (len(tokens) - 1))
    writer.add_token_merges([f"{space} {space}"])
    writer.add_eos_token_id(_EOS)
    writer.add_add_bos_token(False)
    writer.add_chat_template(_TEMPLATE)
    embedding = np.zeros((len(tokens), _N_EMBD), dtype=np.float32)
    embedding[np.arange(len(tokens)), states] = 1
    output = np.zeros_like(embedding)
    for state, token in after.items():
        output[token, state] = 10
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output.weight", output)
    writer.add_tensor("output_norm.weight", np.ones(_N_EMBD, dtype=np.float32))
    # The layer adds nothing.
    for name in ("attn_norm", "ffn_norm"):
        ones = np.ones(_N_EMBD, dtype=np.float32)
        writer.add_tensor(f"blk.0.{name}.weight", ones)
    square = np.zeros((_N_EMBD, _N_EMBD), dtype=np.float32)
    layers = ("attn_q", "attn_k", "attn_v", "attn_output")
    for name in (*layers, "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", square)
    finish(writer)
