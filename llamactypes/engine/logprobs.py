"""Probabilities of tokens from one row of logits. Pure (numpy only)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ("top_logprobs",)


def top_logprobs(
    logits: NDArray[np.float32], token: int, n_top: int
) -> tuple[float, list[tuple[int, float]]]:
    """Return the natural logprob of `token`, and of the `n_top` best tokens.

    Softmax over the whole row, in float64: small probabilities keep their digits.

    Args:
        logits: float32 array of shape (n_vocab,); read, not kept.
        token: The token that was chosen.
        n_top: How many rivals; at most n_vocab are returned.
    """
    n_top = min(n_top, len(logits))
    peak = float(logits.max())
    total = peak + float(np.log(np.exp(logits.astype(np.float64) - peak).sum()))
    if n_top <= 0:
        return float(logits[token]) - total, []
    best = np.argpartition(logits, len(logits) - n_top)[-n_top:]
    best = best[np.argsort(-logits[best], kind="stable")]
    pairs = [(int(i), float(logits[i]) - total) for i in best]
    return float(logits[token]) - total, pairs
