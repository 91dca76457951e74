"""What can be reused when a sequence's memory cannot be rolled back. Pure.

The cells of ordinary attention can be dropped from any position on. A recurrent state
cannot: it knows only its present. And layers with a sliding window have dropped what
lies behind the window. For such memory the state is copied at well-chosen positions
while a prompt is computed; a later prompt goes on from the newest copy before the place
where it differs.

    computed     p p p p p p p p p p p p g g g g
    checkpoints            ▲       ▲
    next prompt  p p p p p p p p p x x x
    goes on from           ▲ (6), and computes the rest
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = (
    "Checkpoint",
    "CheckpointPolicy",
    "Checkpoints",
    "MemoryTraits",
    "newest",
    "until",
)

_END_DISTANCE = 4
"""Tokens of a prompt after its last checkpoint: what opens the answer in a chat
template may differ in the next turn."""
_LEAST_TOKENS = 32
"""Fewer tokens are computed again sooner than they are copied."""


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """The part of a sequence's state that cannot be rolled back."""

    n_tokens: int
    """Tokens that were computed when it was copied."""
    data: bytes | bytearray


Checkpoints = tuple[Checkpoint, ...]


@dataclass(frozen=True, slots=True)
class MemoryTraits:
    """What the memory of a model can do."""

    n_swa: int = 0
    """Window of layers that need no older cells, in tokens; 0: none."""
    is_swa_full: bool = False
    """Such layers keep the older cells all the same."""
    is_recurrent: bool = False
    """Some layers hold one state instead of cells."""
    can_shift: bool = True
    """Positions can be moved."""

    @property
    def can_cut(self) -> bool:
        """Whether tokens can be dropped from any position on."""
        return not self.is_recurrent and (self.is_swa_full or not self.n_swa)

    def is_whole(self, oldest: int, held: int, n_tokens: int) -> bool:
        """Whether the next token after the first `n_tokens` would miss nothing.

        Args:
            oldest: Smallest position for which every layer has what it needs.
            held: Tokens that every layer has seen.
            n_tokens: How many are to be kept.
        """
        if self.is_recurrent:
            # The one state must be that after the last token, neither older nor newer.
            return oldest + 1 == held == n_tokens
        needed = max(0, n_tokens - self.n_swa + 1) if self.n_swa else 0
        return 0 <= oldest <= needed and n_tokens <= held

    def goes_back(self, n_held: int, n_tokens: int) -> bool:
        """Whether `n_held` computed tokens can surely be cut down to `n_tokens`."""
        if self.can_cut or n_tokens == n_held:
            return True
        return not self.is_recurrent and n_held <= self.n_swa

    def n_reusable(self, n_common: int, n_held: int, checkpoints: Checkpoints) -> int:
        """Return how many of `n_common` tokens can be kept of `n_held` computed ones.

        Where a window is concerned more may be possible; the library knows.
        """
        if self.goes_back(n_held, n_common):
            return n_common
        checkpoint = newest(checkpoints, n_common)
        return checkpoint.n_tokens if checkpoint else 0


@dataclass(frozen=True, slots=True)
class CheckpointPolicy:
    """Where checkpoints are made, and how many are kept."""

    n_max: int = 0
    """Most checkpoints of one sequence; 0: none are made."""
    min_step: int = 8192
    """Tokens of a long prompt from one checkpoint to the next."""
    n_ubatch: int = 512

    def cuts(self, n_prompt: int) -> list[int]:
        """Return where the computation of a prompt should pause for a checkpoint.

        Shortly before its end, where the next turn of a conversation may differ, and a
        physical batch earlier, in case its last message is another.
        """
        last = n_prompt - _END_DISTANCE
        return [self.cut(last - self.n_ubatch), self.cut(last)] if self.n_max else []

    def cut(self, n_tokens: int) -> int:
        """Return `n_tokens` when a checkpoint there is worth it, else 0: no cut."""
        return n_tokens if self.n_max and n_tokens >= _LEAST_TOKENS else 0

    def is_due(self, n_computed: int, checkpoints: Checkpoints) -> bool:
        """Whether a long prompt has gone far enough since its last checkpoint."""
        last = checkpoints[-1].n_tokens if checkpoints else 0
        return bool(self.cut(n_computed)) and n_computed >= last + self.min_step

    def added(self, checkpoints: Checkpoints, new: Checkpoint) -> Checkpoints:
        """Return `checkpoints` with a new last one, and not more than the limit.

        The one that goes is that whose loss costs least: the nearest to the one before.
        """
        kept = [*until(checkpoints, new.n_tokens - 1), new]
        while len(kept) > self.n_max:
            before = [0, *(one.n_tokens for one in kept)]
            gaps = [kept[i].n_tokens - before[i] for i in range(len(kept) - 1)]
            kept.pop(gaps.index(min(gaps)) if gaps else 0)
        return tuple(kept)


def newest(checkpoints: Checkpoints, n_tokens: int) -> Checkpoint | None:
    """Return the last checkpoint not beyond `n_tokens`."""
    return next(reversed(until(checkpoints, n_tokens)), None)


def until(checkpoints: Checkpoints, n_tokens: int) -> Checkpoints:
    """Return the checkpoints not beyond `n_tokens`."""
    return tuple(one for one in checkpoints if one.n_tokens <= n_tokens)
