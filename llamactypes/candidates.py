"""Candidate tokens as a sampler chain sees them: numpy on one side, C on the other."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from llamactypes import bindings as C  # noqa: N812
from llamactypes.errors import SamplingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ("TOKEN_DATA", "CandidateBuffer", "Candidates")

TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""`llama_token_data` for numpy."""

_token_data_p = ctypes.POINTER(C.llama_token_data)


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a chain left of the vocabulary, and what it picked."""

    data: NDArray[np.void]
    """Rows of `TOKEN_DATA`, a copy; ``p`` is filled by the chain's last sampler."""
    selected: int
    """The token picked (an id, not an index)."""
    is_sorted: bool
    """Whether the rows are in descending order of logit."""

    @property
    def ids(self) -> NDArray[np.int32]:
        """The tokens left."""
        return self.data["id"]

    @property
    def logits(self) -> NDArray[np.float32]:
        """Their logits after the chain."""
        return self.data["logit"]

    @property
    def probs(self) -> NDArray[np.float32]:
        """Their probabilities."""
        return self.data["p"]


class CandidateBuffer:
    """Memory for `llama_token_data_array`, used again and again. One thread at a time.

    PERF: the views and the pointer are made once; making them takes longer than
    filling them.
    """

    def __init__(self, n_max: int) -> None:
        """Make room for `n_max` candidates."""
        data = np.zeros(n_max, dtype=TOKEN_DATA)
        self._data = data  # keeps the memory alive
        self._ids, self._logits, self._probs = data["id"], data["logit"], data["p"]
        self._pointer = ctypes.cast(data.ctypes.data, _token_data_p)
        self._array = C.llama_token_data_array()
        self._reference = ctypes.byref(self._array)

    def apply(
        self,
        chain: C.llama_sampler_p,
        tokens: NDArray[np.integer[Any]],
        logits: NDArray[np.float32],
    ) -> int:
        """Run `chain` on these tokens and return the one it picks; nothing is accepted.

        Args:
            chain: Valid for the length of the call.
            tokens: Shape (n,), n at most `n_max`.
            logits: Theirs, of the same shape.

        Raises:
            SamplingError: No sampler of the chain picks a token.

        C: llama.h `llama_sampler_apply`.
        """
        count = len(tokens)
        self._ids[:count] = tokens
        self._logits[:count] = logits
        self._probs[:count] = 0.0
        array = self._array
        array.data = self._pointer
        array.size = count
        array.selected = -1
        array.sorted = False
        C.llama_sampler_apply(chain, self._reference)
        selected: int = array.selected
        if not 0 <= selected < array.size:
            raise SamplingError("no sampler of this chain picks a token")
        return int(array.data[selected].id)

    def left(self, selected: int) -> Candidates:
        """Return what the last `apply` left, with what it returned."""
        array = self._array
        # A sampler may point `data` elsewhere: read where it points now.
        kind = ctypes.POINTER(C.llama_token_data * array.size)
        rows: Any = ctypes.cast(array.data, kind).contents
        data = np.frombuffer(rows, dtype=TOKEN_DATA).copy()
        return Candidates(data, selected, bool(array.sorted))
