"""``suffix`` of OpenAI's legacy completions: text that comes after the answer. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from api.protocol.completion.infill import FillVocab
from api.protocol.fields import Body, text
from api.protocol.invalid import InvalidRequest

__all__ = ("SuffixVocab", "read_suffix", "with_suffix")


class SuffixVocab(FillVocab, Protocol):
    """What a suffix needs of a vocabulary beside that."""

    @property
    def eos(self) -> int | None:
        """Ends a sequence."""

    @property
    def add_eos(self) -> bool:
        """Whether prompts end with `eos`."""


def read_suffix(body: Body) -> str | None:
    """Return the suffix; an empty one is none."""
    return text(body, "suffix") or None


def with_suffix(
    prompts: Sequence[tuple[int, ...]],
    suffix: str,
    vocab: SuffixVocab,
    *,
    is_spm: bool,
) -> list[tuple[int, ...]]:
    """Return the prompts that ask for what lies between each of `prompts` and `suffix`.

    Args:
        prompts: Tokens of the prefixes, as they would be without a suffix.
        suffix: What comes after.
        vocab: The model's vocabulary.
        is_spm: The suffix comes first, as some models prefer it.

    Raises:
        InvalidRequest: The model has no tokens for filling in.
    """
    pre, suf, mid = vocab.fim_pre, vocab.fim_suf, vocab.fim_mid
    if pre is None or suf is None or mid is None:
        raise InvalidRequest.field(
            "suffix",
            "the model has no tokens for a prefix, a suffix and the middle; "
            "leave it out, or use a model for filling in",
        )
    after = (suf, *vocab.tokenize(suffix, add_special=False, parse_special=False))
    found = []
    for prompt in prompts:
        bos, prefix = _split(prompt, vocab)
        before = (pre, *prefix)
        parts = (after, before) if is_spm else (before, after)
        found.append((*bos, *parts[0], *parts[1], mid))
    return found


def _split(
    prompt: tuple[int, ...], vocab: SuffixVocab
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the BOS of a prompt, or nothing, and the rest without an EOS."""
    n_bos = int(vocab.add_bos and prompt[:1] == (vocab.bos,))
    has_eos = vocab.add_eos and prompt[-1:] == (vocab.eos,)
    return prompt[:n_bos], prompt[n_bos : len(prompt) - int(has_eos)]
