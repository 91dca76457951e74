"""What the scheduler says to the runner and hears from it: plain values. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from llamactypes.engine.planning.adapters import Scales
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.prefixes.checkpoints import Checkpoint, Checkpoints, newest
from llamactypes.engine.prefixes.chunk_reuse import Move
from llamactypes.engine.prefixes.slots import Slot
from llamactypes.engine.prefixes.state_cache import SavedState
from llamactypes.engine.request import Delta, Result, TokenProbs

__all__ = ("Admission", "Chunk", "Event", "Plan", "PromptProbs", "Sampled", "Shift")


class Event(NamedTuple):
    """Something a reader should see."""

    sequence: Sequence
    delta: Delta | None = None
    result: Result | None = None
    """Set in the last event of a sequence, and in no other."""


@dataclass(frozen=True, slots=True)
class Admission:
    """A sequence may begin in its slot, with a prefix somebody has computed."""

    sequence: Sequence
    slot: Slot
    n_cached: int
    """Tokens of the prefix that are the prompt's."""
    source: Slot | None = None
    """Where to copy the prefix from; None: it lies in the slot already."""
    saved: SavedState | None = None
    """A state kept in RAM to load instead."""
    replaced: list[int] | None = None
    """Tokens whose state is worth keeping in RAM before the slot is changed."""
    checkpoints: Checkpoints = ()
    """Of whoever computed the prefix."""
    n_sure: int = 0
    """Tokens of the prefix that the memory can go back to for sure."""
    moves: tuple[Move, ...] = ()
    """Chunks of the slot that are moved to continue the prefix."""
    n_shared: int = 0
    """Most tokens of the prompt that anybody has computed."""

    @property
    def checkpoint(self) -> Checkpoint | None:
        """Where to go back to when the memory cannot be cut at `n_cached`."""
        return newest(self.checkpoints, self.n_cached)


@dataclass(frozen=True, slots=True)
class Shift:
    """Drop positions [keep, keep + discard) of a slot and move the rest down."""

    slot: int
    keep: int
    discard: int
    end: int
    """First position after the slot's tokens, before the shift."""


class Chunk(NamedTuple):
    """Tokens [start, start + n_tokens) of one sequence, computed in one decode.

    PERF: one per sequence and step; a frozen dataclass takes three times as long.
    """

    sequence: Sequence
    start: int
    n_tokens: int
    wants_logits: bool
    """The last token's logits are sampled from."""
    prompt_rows: range = range(0)
    """Positions whose logits say how likely the prompt's next token was."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One decode. The chunks' sizes sum to at most ``n_batch``."""

    chunks: tuple[Chunk, ...]
    n_generating: int
    """How many chunks are one sampled token; they come first."""

    @property
    def scales(self) -> Scales:
        """The LoRA adapters, the same for all chunks."""
        first = self.chunks[0]
        return first.sequence.use.at(first.start)

    @property
    def n_tokens(self) -> int:
        """Tokens of all chunks."""
        return sum(chunk.n_tokens for chunk in self.chunks)


class Sampled(NamedTuple):
    """The token chosen for a sequence whose chunk wanted logits."""

    sequence: Sequence
    token: int
    piece: bytes
    is_eog: bool
    probs: TokenProbs | None = None


class PromptProbs(NamedTuple):
    """Logprobs of the next tokens of a prompt."""

    sequence: Sequence
    probs: tuple[TokenProbs, ...]
