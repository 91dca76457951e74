"""An embedder without a library: put at the seam of `FakeModel`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ("FakeEmbedder",)


class FakeEmbedder:
    """An input's row is its length and its first token."""

    width = 2

    def __init__(
        self, *, pooling: str = "mean", n_tokens_batch: int = 8, n_tokens_input: int = 8
    ) -> None:
        self.pooling = pooling
        self.n_tokens_batch = n_tokens_batch
        self.n_tokens_input = n_tokens_input
        self.batches: list[list[tuple[int, ...]]] = []
        self.errors: list[Exception] = []
        """Raised by the next runs, first one first."""
        self.before_run: Callable[[], None] = lambda: None
        self.interrupted = threading.Event()

    def run(self, inputs: Sequence[tuple[int, ...]]) -> list[NDArray[np.float32]]:
        self.batches.append(list(inputs))
        self.before_run()
        if self.errors:
            raise self.errors.pop(0)
        return [self._rows(tokens) for tokens in inputs]

    def _rows(self, tokens: tuple[int, ...]) -> Any:
        n_rows = len(tokens) if self.pooling == "none" else 1
        row = [[len(tokens), tokens[0]]] * n_rows
        return np.array(row, dtype=np.float32)

    def interrupt(self) -> None:
        self.interrupted.set()
