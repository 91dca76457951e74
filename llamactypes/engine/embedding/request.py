"""Embedding work: what goes into the engine and what comes out of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from llamactypes.errors import LlamaError

__all__ = ("EUCLIDEAN", "UNCHANGED", "EmbeddingRequest", "EmbeddingResult", "shaped")

UNCHANGED = -1
EUCLIDEAN = 2
_MAX_ABSOLUTE = 0
_INT16_RANGE = 32760.0


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """Inputs to embed, or pairs to rank. They are computed in any order."""

    inputs: tuple[tuple[int, ...], ...]
    """The tokens of each, special ones included; at least one input."""
    normalize: int = EUCLIDEAN
    """Length of a pooled row: -1 unchanged, 0 the largest number becomes 32760, 1 the
    sum is 1, 2 the Euclidean length is 1, above: that p-norm is 1."""
    dimensions: int | None = None
    """Keep the first so many numbers of a pooled row; None: all."""

    @property
    def n_tokens(self) -> int:
        """All inputs together."""
        return sum(map(len, self.inputs))


@dataclass(frozen=True, slots=True)
class EmbeddingResult:
    """How an embedding request ended."""

    rows: tuple[NDArray[np.float32], ...] = ()
    """For each input an array of shape (n_rows, width): one row, or one for each token
    where nothing is pooled. Empty when it failed."""
    error: LlamaError | None = None
    is_cancelled: bool = False


def shaped(rows: NDArray[np.float32], request: EmbeddingRequest) -> NDArray[np.float32]:
    """Return pooled rows cut to the request's dimensions and normalised.

    Args:
        rows: float32 array of shape (n_rows, width).
        request: Says how long rows are to be. A row of zeros stays one.
    """
    rows = rows[:, : request.dimensions]
    if request.normalize == UNCHANGED:
        return rows
    lengths = _lengths(np.abs(rows.astype(np.float64)), request.normalize)
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
    return (rows * scale[:, None]).astype(np.float32)


def _lengths(sizes: NDArray[np.float64], kind: int) -> NDArray[np.float64]:
    """Return what one is, for each row (common.cpp, ``common_embd_normalize``)."""
    largest: NDArray[np.float64] = sizes.max(axis=1, initial=0.0)
    if kind == _MAX_ABSOLUTE:
        return largest / _INT16_RANGE
    # Powers of small numbers vanish: compute with the largest as 1.
    relative = sizes / np.where(largest > 0.0, largest, 1.0)[:, None]
    total = np.power(relative, kind).sum(axis=1)
    return np.asarray(largest * np.power(total, 1.0 / kind), dtype=np.float64)
