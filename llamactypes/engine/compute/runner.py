"""Carries out plans on a context: fill a batch, decode, sample. Engine thread only."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence as SequenceOf
from operator import attrgetter
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from llamactypes.adapter import LoraAdapter
from llamactypes.batch import Batch
from llamactypes.context import AbortFlag, Context
from llamactypes.cpus import usable_cpus
from llamactypes.engine.compute.backend_sampling import BackendSampling
from llamactypes.engine.compute.prompt_rows import PromptRows
from llamactypes.engine.compute.row_sampling import MOST_HELPERS, RowSampling
from llamactypes.engine.compute.slot_memory import SlotMemory
from llamactypes.engine.planning.adapters import Scales
from llamactypes.engine.planning.plan import Chunk, Plan, PromptProbs, Sampled, Shift
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.prefixes.checkpoints import Checkpoint, MemoryTraits
from llamactypes.engine.prefixes.chunk_reuse import Move
from llamactypes.engine.threads.keeper import ThreadKeeper
from llamactypes.sampling import SamplerChain
from llamactypes.vocab import Vocab

__all__ = ("Runner", "LlamaRunner")

logger = logging.getLogger("llamactypes.engine")

_slot = attrgetter("slot")


class Runner(Protocol):
    """The seam between scheduling and the library; tests put a fake here."""

    def attach(self, sequence: Sequence, sampler: SamplerChain) -> None:
        """Sample `sequence` with `sampler` from now on; the runner owns it."""

    def detach(self, sequence: Sequence) -> None:
        """Free the sampler of a finished sequence."""

    def run(self, plan: Plan) -> Sampled:
        """Decode once and sample every chunk that wants logits.

        Raises:
            KVCacheFull: Nothing was computed; make room and plan again.
            DecodeAborted: Parts may be computed; ask `n_computed` of each slot.
            DecodeError: Fatal.
        """

    def prompt_probs(self) -> list[PromptProbs]:
        """Return the logprobs of prompts that the last run's plan asked for."""

    def forget(self, slot: int, start: int, back: Checkpoint | None = None) -> int:
        """Drop a slot's tokens from `start` on; return how many really remain.

        Memory that cannot be cut there goes `back` to a checkpoint before, or loses
        everything.
        """

    def share(
        self, source: int, slot: int, n_tokens: int, back: Checkpoint | None = None
    ) -> int:
        """Replace a slot's tokens by the first of another's; return how many it got.

        `back` is a checkpoint of the source.
        """

    @property
    def is_settled(self) -> bool:
        """Whether states can be read and written before the next decode."""

    def save(self, slot: int) -> bytearray | None:
        """Return a slot's state; None when it cannot be had."""

    def save_partial(self, slot: int) -> bytearray | None:
        """Return what cannot be rolled back of it, for a checkpoint; None as above."""

    def load(
        self,
        slot: int,
        data: bytes | bytearray,
        n_tokens: int,
        back: Checkpoint | None = None,
    ) -> int:
        """Replace a slot's tokens by the first of a saved state; return how many."""

    def restore(self, slot: int, data: bytearray, start: int) -> int:
        """Replace a slot's tokens by a state that begins at `start`; return its bytes.

        Raises:
            StateError: It does not fit; the slot is empty then.
        """

    def shift(self, shift: Shift) -> None:
        """Drop the middle of a slot's tokens and move the rest down."""

    def move(self, slot: int, moves: tuple[Move, ...]) -> int:
        """Move chunks of a slot's tokens down, drop the others behind the first.

        Returns:
            How many tokens the slot has then, without a gap.
        """

    def n_computed(self, slot: int) -> int:
        """Return how many tokens of a slot are in the KV cache."""

    def interrupt(self) -> None:
        """Make the running decode end early. Any thread."""


class _Steady(NamedTuple):
    """What stays the same while a plan of running streams alone is carried out."""

    plan: Plan
    sequences: list[Sequence]
    """In the order of their slots."""
    slots: NDArray[np.int32]


class LlamaRunner(SlotMemory):
    """The real runner, over libllama."""

    def __init__(
        self,
        context: Context,
        vocab: Vocab,
        traits: MemoryTraits | None = None,
        adapters: SequenceOf[LoraAdapter] = (),
    ) -> None:
        """Take over `context`; the caller closes it after `close`.

        Args:
            context: Owned by the calling thread.
            vocab: Of the context's model.
            traits: What the context's memory can do; None: everything.
            adapters: What the scales of plans are for, in this order.
        """
        super().__init__(context, traits or MemoryTraits())
        self._adapters = tuple(adapters)
        self._scales: Scales | None = None
        self._batch = Batch(context.n_batch)
        self._keeper: ThreadKeeper | None = None
        self._abort = AbortFlag()
        context.set_abort(self._abort)
        self._samplers: dict[int, SamplerChain] = {}
        self.sampling = RowSampling(context, vocab, self._samplers)
        self.use_threads(context.n_threads)
        self._steady: _Steady | None = None
        self._backend_sampling = BackendSampling(context, self._samplers)
        self._prompt_rows = PromptRows(context, vocab)

    def use_threads(self, n: int, keeper: ThreadKeeper | None = None) -> None:
        """Sample beside `n` threads that compute; tell `keeper` of decodes from now on.

        Not more threads than CPUs: those that compute spin while they wait.
        """
        self.sampling.n_helpers = min(MOST_HELPERS, usable_cpus() - n)
        self._keeper = keeper

    def attach(self, sequence: Sequence, sampler: SamplerChain) -> None:
        """See `Runner.attach`."""
        self._samplers[sequence.id] = sampler
        self.sampling.attach(sequence)
        self._backend_sampling.attach(sequence)

    def detach(self, sequence: Sequence) -> None:
        """See `Runner.detach`."""
        self.sampling.detach(sequence)
        self._backend_sampling.detach(sequence)
        sampler = self._samplers.pop(sequence.id, None)
        if sampler is not None:
            sampler.close()

    def run(self, plan: Plan) -> Sampled:
        """See `Runner.run`."""
        self._apply_adapters(plan.scales)
        self._backend_sampling.prepare(plan)
        sequences, rows = self._fill(plan)
        started = time.perf_counter()
        try:
            self._context.decode(self._batch)
        finally:
            # After, not before: an interrupt for this decode must not be lost. One that
            # comes late aborts the next decode, which is then simply planned again.
            self._abort.clear()
            self.note_decoded()
        if self._keeper is not None:
            self._keeper.note(plan, time.perf_counter() - started)
        return self.sampling.sample(sequences, rows)

    def _apply_adapters(self, scales: Scales) -> None:
        """Compute with these scales from now on."""
        if scales == self._scales or not self._adapters:
            return
        pairs = zip(self._adapters, scales, strict=False)
        self._context.set_adapters([(one, scale) for one, scale in pairs if scale])
        self._scales = scales

    def _fill(self, plan: Plan) -> tuple[SequenceOf[Sequence], SequenceOf[int]]:
        """Put the plan's tokens into the batch; return whose rows to sample from.

        PERF: in the order of the slots. With a KV buffer per slot the library computes
        only neighbours together (llama-batch.cpp, ``split_equal``): in any other order
        it falls back to one sequence at a time, half as fast with 8 of them.
        """
        batch = self._batch
        batch.clear()
        self._prompt_rows.clear()
        if not plan.prompts:
            return self._fill_generating(plan)
        sequences: list[Sequence] = []
        rows: list[int] = []
        for chunk in sorted(plan.chunks, key=lambda chunk: _slot(chunk.sequence)):
            self._fill_chunk(chunk)
            if chunk.wants_logits:
                sequences.append(chunk.sequence)
                rows.append(batch.n_tokens - 1)
        return sequences, rows

    def _fill_chunk(self, chunk: Chunk) -> None:
        batch, sequence, start = self._batch, chunk.sequence, chunk.start
        assert sequence.slot is not None
        if chunk.prompt_rows:
            self._prompt_rows.fill(batch, chunk, sequence.slot)
        elif chunk.n_tokens == 1:
            token = sequence.tokens[start]
            batch.add(token, start, sequence.slot, chunk.wants_logits)
        else:
            tokens = sequence.tokens[start : start + chunk.n_tokens]
            batch.extend(tokens, start, sequence.slot, last_logits=chunk.wants_logits)

    def _fill_generating(self, plan: Plan) -> tuple[list[Sequence], range]:
        """Do the same for one sampled token each: most steps.

        A plan may be the last one again, of sequences that are where they were.
        """
        steady = self._steady
        if steady is None or steady.plan is not plan:
            sequences = sorted(plan.generating, key=_slot)
            slots = np.fromiter(map(_slot, sequences), np.int32, len(sequences))
            steady = self._steady = _Steady(plan, sequences, slots)
        tokens = [sequence.tokens[-1] for sequence in steady.sequences]
        positions = [sequence.n_computed for sequence in steady.sequences]
        self._batch.add_each(tokens, positions, steady.slots)
        return steady.sequences, range(len(tokens))

    def prompt_probs(self) -> list[PromptProbs]:
        """See `Runner.prompt_probs`."""
        return self._prompt_rows.probs()

    def interrupt(self) -> None:
        """See `Runner.interrupt`."""
        self._abort.set()

    def close(self) -> None:
        """Free samplers and the batch; the context stays."""
        self.sampling.close()
        for sampler in self._samplers.values():
            sampler.close()
        self._samplers.clear()
        self._batch.close()
