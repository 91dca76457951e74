"""What the scheduler says to the runner and hears from it: plain values. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field
from typing import NamedTuple

from llamactypes.engine.planning.adapters import Scales
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.prefixes.checkpoints import Checkpoint, Checkpoints, newest
from llamactypes.engine.prefixes.chunk_reuse import Move
from llamactypes.engine.prefixes.slots import Slot
from llamactypes.engine.prefixes.state_cache import SavedState
from llamactypes.engine.request import Delta, Result, TokenProbs
from llamactypes.errors import LlamaError

__all__ = ("Admission", "Chunk", "Event", "Plan", "PromptProbs", "Sampled", "Shift")


class Event(NamedTuple):
    """Something a reader should see."""

    sequence: Sequence
    delta: Delta | None = None
    result: Result | None = None
    """Set in the last event of a sequence, and in no other."""
    is_due: bool = False
    """The delta is still to be taken from the sequence, before its next token."""

    @property
    def is_empty(self) -> bool:
        """Whether readers need not be told."""
        return self.delta is None and self.result is None and not self.is_due


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
    """Tokens [start, start + n_tokens) of one sequence, computed in one decode."""

    sequence: Sequence
    start: int
    n_tokens: int
    wants_logits: bool
    """The last token's logits are sampled from."""
    prompt_rows: range = range(0)
    """Positions whose logits say how likely the prompt's next token was."""
    is_forced: bool = False
    """They are of a running stream: what was sampled, and what had to follow it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One decode, of at most ``n_batch`` tokens.

    PERF: nothing in it grows while the same sequences generate, so that one plan serves
    all these steps, and whoever prepares something for a plan may keep it as long.
    """

    generating: tuple[Sequence, ...]
    """These compute the token sampled last, and another one is sampled."""
    prompts: tuple[Chunk, ...] = ()
    """These come after them, and so do tokens that a constraint has forced."""

    @property
    def n_generating(self) -> int:
        """How many tokens are of running streams."""
        return len(self.generating)

    @property
    def n_prompt(self) -> int:
        """Tokens of prompts, and of what is computed anew."""
        return sum(chunk.n_tokens for chunk in self.prompts if not chunk.is_forced)

    @property
    def n_forced(self) -> int:
        """Tokens of running streams that have more than one."""
        return sum(chunk.n_tokens for chunk in self.prompts if chunk.is_forced)

    @property
    def scales(self) -> Scales:
        """The LoRA adapters, the same for everyone."""
        if self.generating:
            return self.generating[0].scales
        first = self.prompts[0]
        return first.sequence.use.at(first.start)

    @property
    def n_tokens(self) -> int:
        """Tokens of the whole decode."""
        return self.n_generating + self.n_forced + self.n_prompt

    @property
    def n_sequences(self) -> int:
        """How many sequences take part."""
        return len(self.generating) + len(self.prompts)

    @property
    def sequences(self) -> SequenceOf[Sequence]:
        """Everyone who takes part."""
        if not self.prompts:
            return self.generating
        return (*self.generating, *(chunk.sequence for chunk in self.prompts))

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """Everything as chunks; to be asked for before the decode is applied."""
        tokens = (Chunk(one, one.n_computed, 1, True) for one in self.generating)
        return (*tokens, *self.prompts)


@dataclass(frozen=True, slots=True)
class Sampled:
    """The tokens chosen in one step, in any order.

    PERF: columns, since a step has hundreds of them.
    """

    sequences: SequenceOf[Sequence]
    """Those whose logits were wanted."""
    tokens: SequenceOf[int]
    """The token for each of them."""
    probs: Mapping[int, TokenProbs] = field(default_factory=dict)
    """Sequence id to the logprobs that were asked for."""
    forced: Mapping[int, SequenceOf[int]] = field(default_factory=dict)
    """Sequence id to the tokens that must follow the one for it."""
    errors: SequenceOf[tuple[Sequence, LlamaError]] = ()
    """Those for which no token could be chosen, and why; they have no place above."""

    def __len__(self) -> int:
        return len(self.tokens) + sum(map(len, self.forced.values()))


class PromptProbs(NamedTuple):
    """Logprobs of the next tokens of a prompt."""

    sequence: Sequence
    probs: tuple[TokenProbs, ...]
