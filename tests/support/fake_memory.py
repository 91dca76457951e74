"""A runner whose memory forgets as real ones do, and which checks every token."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from llamactypes.engine.planning.plan import Plan, Sampled
from llamactypes.engine.prefixes.checkpoints import Checkpoint, MemoryTraits
from llamactypes.engine.prefixes.chunk_reuse import Move
from llamactypes.errors import DecodeAborted, KVCacheFull
from tests.support.fake_model import FakeModel, FakeRunner

__all__ = ("MemoryModel", "MemoryRunner")


@dataclass(slots=True)
class _Held:
    """What a slot's memory has seen: tokens in cells, and what cannot go back."""

    cells: list[int] = field(default_factory=list)
    past: tuple[int, ...] = ()
    """Tokens that a recurrent state has seen, or that a window has passed over."""
    oldest: int = 0
    """First position that the window still holds."""


class MemoryRunner(FakeRunner):
    """Holds the tokens themselves, so that a wrong reuse is seen at once."""

    def __init__(self, traits: MemoryTraits, n_cells: int | None) -> None:
        super().__init__()
        self.traits = traits
        self.n_computed_total = 0
        self.abort_next = False
        self._n_cells = n_cells
        self._held: dict[int, _Held] = {}
        self._saved: list[_Held] = []

    def held(self, slot: int) -> _Held:
        return self._held.setdefault(slot, _Held())

    def run(self, plan: Plan) -> Sampled:
        self.plans.append(plan)
        in_use = sum(len(held.cells) for held in self._held.values())
        if self._n_cells is not None and in_use + plan.n_tokens > self._n_cells:
            raise KVCacheFull("no room", 1)
        for chunk in plan.chunks:
            self._append(chunk.sequence.slot, chunk.sequence.tokens, chunk)
        if self.abort_next:
            self.abort_next = False
            raise DecodeAborted("stopped", 2)
        self.n_computed_total += plan.n_tokens
        wanting = [chunk.sequence for chunk in plan.chunks if chunk.wants_logits]
        return Sampled(wanting, [sequence.tokens[-1] + 1 for sequence in wanting])

    def _append(self, slot: int, tokens: list[int], chunk: Any) -> None:
        held = self.held(slot)
        end = chunk.start + chunk.n_tokens
        assert held.cells == tokens[: chunk.start]
        assert list(held.past) == tokens[: chunk.start]
        if self.traits.n_swa:
            assert held.oldest <= max(0, chunk.start - self.traits.n_swa + 1)
            held.oldest = max(held.oldest, end - self.traits.n_swa + 1)
        held.cells = tokens[:end]
        held.past = tuple(tokens[:end])

    def forget(self, slot: int, start: int, back: Checkpoint | None = None) -> int:
        if start and self._cut(slot, start):
            return start
        held = self.held(slot)
        if start and back is not None and len(held.cells) >= back.n_tokens:
            saved = self._saved[int(back.data)]
            held.past, held.oldest = saved.past, saved.oldest
            held.cells = held.cells[: back.n_tokens]
            if self._cut(slot, back.n_tokens):
                return back.n_tokens
        self._held[slot] = _Held()
        return 0

    def _cut(self, slot: int, n_tokens: int) -> bool:
        held, n_past = self.held(slot), len(self.held(slot).past)
        oldest = n_past - 1 if self.traits.is_recurrent else held.oldest
        n_held = min(len(held.cells), n_past)
        if not self.traits.is_whole(oldest, n_held, n_tokens):
            return False
        held.cells, held.past = held.cells[:n_tokens], held.past[:n_tokens]
        return True

    def share(
        self, source: int, slot: int, n_tokens: int, back: Checkpoint | None = None
    ) -> int:
        self._held[slot] = replace(self.held(source))
        return self.forget(slot, n_tokens, back)

    def save(self, slot: int) -> bytearray:
        self._saved.append(replace(self.held(slot)))
        return bytearray(str(len(self._saved) - 1).encode())

    def save_partial(self, slot: int) -> bytearray:
        data = self.save(slot)
        self._saved[-1].cells = []
        return data

    def load(
        self, slot: int, data: Any, n_tokens: int, back: Checkpoint | None = None
    ) -> int:
        saved = self._saved[int(data)]
        self._held[slot] = _Held()
        in_use = sum(len(held.cells) for held in self._held.values())
        if self._n_cells is not None and in_use + len(saved.cells) > self._n_cells:
            return 0
        self._held[slot] = replace(saved)
        return self.forget(slot, n_tokens, back)

    def move(self, slot: int, moves: tuple[Move, ...]) -> int:
        held = self.held(slot)
        held.cells = list(held.cells)  # others may have the same list
        for move in moves:
            chunk = held.cells[move.start : move.start + move.n_tokens]
            held.cells[move.to : move.end] = chunk
        # From here on the past is another than the cells say: that is the bargain.
        held.past = tuple(held.cells)
        return self.forget(slot, moves[-1].end)

    def n_computed(self, slot: int) -> int:
        return len(self.held(slot).cells)


class MemoryModel(FakeModel):
    """A fake model with such a runner."""

    def __init__(
        self, traits: MemoryTraits, *, n_ctx_slot: int, n_cells: int | None
    ) -> None:
        super().__init__(n_ctx_slot=n_ctx_slot, n_batch=32)
        self.memory = traits
        self.n_cells = n_cells
        self.runner: MemoryRunner = MemoryRunner(traits, n_cells)
