"""Carries out plans on a context: fill a batch, decode, sample. Engine thread only."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence as SequenceOf
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from llamactypes.adapter import LoraAdapter
from llamactypes.batch import Batch
from llamactypes.context import AbortFlag, Context
from llamactypes.cpus import usable_cpus
from llamactypes.engine.compute.backend_sampling import BackendSampling
from llamactypes.engine.compute.logprobs import top_logprobs
from llamactypes.engine.compute.prompt_rows import PromptRows, token_probs
from llamactypes.engine.compute.slot_memory import SlotMemory
from llamactypes.engine.planning.adapters import Scales
from llamactypes.engine.planning.plan import Chunk, Plan, PromptProbs, Sampled, Shift
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.prefixes.checkpoints import Checkpoint, MemoryTraits
from llamactypes.engine.prefixes.chunk_reuse import Move
from llamactypes.engine.request import TokenProbs
from llamactypes.engine.threads.keeper import ThreadKeeper
from llamactypes.sampling import SamplerChain
from llamactypes.vocab import Vocab

__all__ = ("Runner", "LlamaRunner")

logger = logging.getLogger("llamactypes.engine")

_MOST_HELPERS = 4
_LEAST_SHARE = 2
"""Fewer rows than this are not worth waking a thread for."""


class Runner(Protocol):
    """The seam between scheduling and the library; tests put a fake here."""

    def attach(self, sequence: Sequence, sampler: SamplerChain) -> None:
        """Sample `sequence` with `sampler` from now on; the runner owns it."""

    def detach(self, sequence: Sequence) -> None:
        """Free the sampler of a finished sequence."""

    def run(self, plan: Plan) -> list[Sampled]:
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
        self._vocab = vocab
        self._adapters = tuple(adapters)
        self._scales: Scales | None = None
        self._batch = Batch(context.n_batch)
        self._keeper: ThreadKeeper | None = None
        self._n_helpers = 0
        self.use_threads(context.n_threads)
        self._pool = ThreadPoolExecutor(_MOST_HELPERS, "llamactypes-sampler")
        self._abort = AbortFlag()
        context.set_abort(self._abort)
        self._samplers: dict[int, SamplerChain] = {}
        self._backend_sampling = BackendSampling(context, self._samplers)
        self._prompt_rows = PromptRows(context, vocab)

    def use_threads(self, n: int, keeper: ThreadKeeper | None = None) -> None:
        """Sample beside `n` threads that compute; tell `keeper` of decodes from now on.

        Not more threads than CPUs: those that compute spin while they wait.
        """
        self._n_helpers = min(_MOST_HELPERS, usable_cpus() - n)
        self._keeper = keeper

    def attach(self, sequence: Sequence, sampler: SamplerChain) -> None:
        """See `Runner.attach`."""
        self._samplers[sequence.id] = sampler
        self._backend_sampling.attach(sequence)

    def detach(self, sequence: Sequence) -> None:
        """See `Runner.detach`."""
        self._backend_sampling.detach(sequence)
        sampler = self._samplers.pop(sequence.id, None)
        if sampler is not None:
            sampler.close()

    def run(self, plan: Plan) -> list[Sampled]:
        """See `Runner.run`."""
        self._apply_adapters(plan.scales)
        self._backend_sampling.prepare(plan)
        rows = self._fill(plan)
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
        return self._sample_all(rows)

    def _apply_adapters(self, scales: Scales) -> None:
        """Compute with these scales from now on."""
        if scales == self._scales or not self._adapters:
            return
        pairs = zip(self._adapters, scales, strict=False)
        self._context.set_adapters([(one, scale) for one, scale in pairs if scale])
        self._scales = scales

    def _fill(self, plan: Plan) -> list[tuple[Sequence, int]]:
        """Put the plan's tokens into the batch; return the rows to sample from.

        PERF: in the order of the slots. With a KV buffer per slot the library computes
        only neighbours together (llama-batch.cpp, ``split_equal``): in any other order
        it falls back to one sequence at a time, half as fast with 8 of them.
        """
        batch = self._batch
        batch.clear()
        self._prompt_rows.clear()
        chunks = sorted(plan.chunks, key=_slot)
        if len(chunks) == plan.n_generating and all(c.wants_logits for c in chunks):
            return self._fill_generating(chunks)
        rows: list[tuple[Sequence, int]] = []
        for chunk in chunks:
            sequence, start = chunk.sequence, chunk.start
            assert sequence.slot is not None
            if chunk.prompt_rows:
                self._prompt_rows.fill(batch, chunk, sequence.slot)
            elif chunk.n_tokens == 1:
                token = sequence.tokens[start]
                batch.add(token, start, sequence.slot, chunk.wants_logits)
            else:
                tokens = sequence.tokens[start : start + chunk.n_tokens]
                batch.extend(
                    tokens, start, sequence.slot, last_logits=chunk.wants_logits
                )
            if chunk.wants_logits:
                rows.append((sequence, batch.n_tokens - 1))
        return rows

    def _fill_generating(self, chunks: list[Chunk]) -> list[tuple[Sequence, int]]:
        """Do the same for chunks of one sampled token each: most steps."""
        tokens = [chunk.sequence.tokens[chunk.start] for chunk in chunks]
        positions = [chunk.start for chunk in chunks]
        self._batch.add_each(tokens, positions, list(map(_slot, chunks)))
        return [(chunk.sequence, row) for row, chunk in enumerate(chunks)]

    def prompt_probs(self) -> list[PromptProbs]:
        """See `Runner.prompt_probs`."""
        return self._prompt_rows.probs()

    def _sample_all(self, rows: list[tuple[Sequence, int]]) -> list[Sampled]:
        """Sample every row, the slow ones on several threads when that saves time.

        PERF: a chain that looks at the whole vocabulary takes 0.17 ms at 49k tokens, in
        C and without the GIL; one with a short list 0.02 ms, mostly with it.
        """
        slow = [
            (sequence, row)
            for sequence, row in rows
            if not self._samplers[sequence.id].is_quick
            and not sequence.request.sampling.n_probs
        ]
        tokens = self._sample_apart(slow) if slow else {}
        return [self._sample(sequence, row, tokens.get(row)) for sequence, row in rows]

    def _sample_apart(self, rows: list[tuple[Sequence, int]]) -> dict[int, int]:
        """Return row to token, sampled on several threads; nothing when few rows."""
        n_shares = min(self._n_helpers + 1, len(rows) // _LEAST_SHARE)
        if n_shares < 2:
            return {}
        for _, row in rows:
            self._context.logits_row(row)  # see `SamplerChain.sample_beside`
        shares = [rows[i::n_shares] for i in range(n_shares)]
        others = [self._pool.submit(self._sample_beside, one) for one in shares[1:]]
        tokens = self._sample_beside(shares[0])
        for other in others:
            tokens |= other.result()
        return tokens

    def _sample_beside(self, rows: list[tuple[Sequence, int]]) -> dict[int, int]:
        """Return row to token."""
        return {
            row: self._samplers[sequence.id].sample_beside(self._context, row)
            for sequence, row in rows
        }

    def _sample(
        self, sequence: Sequence, row: int, token: int | None = None
    ) -> Sampled:
        """Sample one row, unless `token` is what was sampled from it."""
        sampler = self._samplers[sequence.id]
        request = sequence.request
        n_probs, probs = request.sampling.n_probs, None
        if n_probs and request.post_sampling_probs:
            token, probs = self._sample_post(sampler, n_probs, row)
        elif n_probs:
            token, probs = self._sample_pre(sampler, n_probs, row)
        elif token is None:
            token = sampler.sample(self._context, row)
        piece = self._vocab.piece(token, special=request.special_pieces)
        return Sampled(sequence, token, piece, self._vocab.is_eog(token), probs)

    def _sample_pre(
        self, sampler: SamplerChain, n_probs: int, row: int
    ) -> tuple[int, TokenProbs]:
        """Sample; logprobs are of the raw logits."""
        token = sampler.sample(self._context, row)
        value, top = top_logprobs(self._context.logits(row), token, n_probs)
        return token, token_probs(self._vocab, token, value, top)

    def _sample_post(
        self, sampler: SamplerChain, n_probs: int, row: int
    ) -> tuple[int, TokenProbs]:
        """Sample; probabilities are those left after the chain, zeros excluded."""
        candidates = sampler.apply(self._context.logits(row))
        token = candidates.selected
        sampler.accept(token)
        pairs = sorted(
            zip(candidates.ids.tolist(), candidates.probs.tolist(), strict=True),
            key=lambda pair: -pair[1],
        )
        value = next((prob for id, prob in pairs if id == token), 0.0)
        top = [(id, prob) for id, prob in pairs[:n_probs] if prob > 0.0]
        return token, token_probs(self._vocab, token, value, top)

    def interrupt(self) -> None:
        """See `Runner.interrupt`."""
        self._abort.set()

    def close(self) -> None:
        """Free samplers and the batch; the context stays."""
        self._pool.shutdown()
        for sampler in self._samplers.values():
            sampler.close()
        self._samplers.clear()
        self._batch.close()


def _slot(chunk: Chunk) -> int:
    slot = chunk.sequence.slot
    assert slot is not None
    return slot
