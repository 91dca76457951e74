"""Sequence states kept in RAM after their slot was given to others. Pure.

A conversation that comes back finds its tokens computed, at the price of a copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from llamactypes.engine.planning.adapters import NO_ADAPTERS, AdapterUse
from llamactypes.engine.prefixes.checkpoints import Checkpoints
from llamactypes.engine.prefixes.length import common_prefix_length

__all__ = ("SavedState", "StateCache")


@dataclass(frozen=True, slots=True, eq=False)
class SavedState:
    """The KV cache of `tokens`, as the library wrote it."""

    tokens: list[int]
    data: bytes | bytearray
    checkpoints: Checkpoints = ()
    use: AdapterUse = NO_ADAPTERS

    def prefix(self, tokens: list[int], use: AdapterUse) -> int:
        """Return how many leading `tokens` it holds, computed as `use` says."""
        shared = common_prefix_length(self.tokens, tokens)
        return min(shared, self.use.n_alike(use))

    @property
    def n_bytes(self) -> int:
        """Size of the state and its checkpoints."""
        return len(self.data) + sum(len(one.data) for one in self.checkpoints)


class StateCache:
    """Least recently saved states go first when the limit is reached."""

    def __init__(self, limit_bytes: int) -> None:
        """Keep at most `limit_bytes` of states; -1: no limit, 0: keep nothing."""
        self._limit_bytes = limit_bytes
        self._states: list[SavedState] = []
        self.n_bytes = 0

    def __len__(self) -> int:
        return len(self._states)

    def __iter__(self) -> Iterator[SavedState]:
        return iter(self._states)

    @property
    def is_on(self) -> bool:
        """Whether anything is ever kept."""
        return self._limit_bytes != 0

    def put(self, state: SavedState) -> None:
        """Keep a state; shorter ones that it contains are dropped."""
        for other in tuple(self._states):
            if state.prefix(other.tokens, other.use) == len(other.tokens):
                self.drop(other)
        self._states.append(state)
        self.n_bytes += state.n_bytes
        while 0 <= self._limit_bytes < self.n_bytes:
            self.drop(self._states[0])

    def drop(self, state: SavedState) -> None:
        """Forget a state; nothing happens when another has pushed it out."""
        if state in self._states:
            self._states.remove(state)
            self.n_bytes -= state.n_bytes
