"""Which inputs are computed together: whole ones, from all requests in turn. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from llamactypes.engine.embedding.request import EmbeddingRequest

__all__ = ("EmbeddingQueue", "Pending", "Piece")


@dataclass(slots=True, eq=False)
class Pending:
    """A request with inputs that are not computed yet."""

    id: int
    request: EmbeddingRequest
    todo: deque[int] = field(init=False)
    """Inputs that nobody computes, by their index."""
    rows: list[NDArray[np.float32] | None] = field(init=False)
    """What was computed, by the same index."""
    t_submit: float = 0.0
    """When it was submitted (``time.perf_counter``)."""
    t_start: float = 0.0
    """When its first input was computed; 0: not yet."""

    def __post_init__(self) -> None:
        n_inputs = len(self.request.inputs)
        self.todo = deque(range(n_inputs))
        self.rows = [None] * n_inputs

    @property
    def is_complete(self) -> bool:
        """Whether every input was computed."""
        return all(rows is not None for rows in self.rows)


@dataclass(frozen=True, slots=True)
class Piece:
    """One input of a request."""

    pending: Pending
    place: int
    """Its index among the inputs."""

    @property
    def tokens(self) -> tuple[int, ...]:
        """The input."""
        return self.pending.request.inputs[self.place]


class EmbeddingQueue:
    """Requests take turns, input by input: a short one does not wait for a long one.

    Those that wait begin the next batch, so nobody is passed over for ever.
    """

    def __init__(self, n_tokens: int, n_sequences: int) -> None:
        """Create an empty queue.

        Args:
            n_tokens: Most tokens of a batch; an input that alone has more is one.
            n_sequences: Most inputs of a batch.
        """
        self._n_tokens = n_tokens
        self._n_sequences = n_sequences
        self._waiting: deque[Pending] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, pending: Pending) -> None:
        """Let a request wait behind all others."""
        self._waiting.append(pending)

    def remove(self, pending: Pending) -> None:
        """Forget a request; nothing happens when it does not wait."""
        if pending in self._waiting:
            self._waiting.remove(pending)

    def take(self, n_sequences: int | None = None) -> list[Piece]:
        """Return the next batch; `n_sequences` makes it smaller for once."""
        n_most = n_sequences or self._n_sequences
        batch: list[Piece] = []
        passed_over: list[Pending] = []
        room = self._n_tokens
        while self._waiting and len(batch) < n_most:
            pending = self._waiting.popleft()
            piece = Piece(pending, pending.todo[0])
            if batch and len(piece.tokens) > room:
                passed_over.append(pending)
                continue
            pending.todo.popleft()
            batch.append(piece)
            room -= len(piece.tokens)
            if pending.todo:
                self._waiting.append(pending)
        self._waiting.extendleft(reversed(passed_over))
        return batch

    def put_back(self, batch: Sequence[Piece]) -> None:
        """Let what `take` gave wait again, before everything else."""
        for piece in reversed(batch):
            piece.pending.todo.appendleft(piece.place)
            self.remove(piece.pending)
            self._waiting.appendleft(piece.pending)
