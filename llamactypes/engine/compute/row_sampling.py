"""From the rows of a decode to tokens. Engine thread, but for threads that help."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from collections.abc import Sequence as SequenceOf
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from llamactypes.candidates import Candidates
from llamactypes.context import Context
from llamactypes.engine.compute.constrained import NO_TOKEN, ConstrainedChain
from llamactypes.engine.compute.limited import LimitedChain
from llamactypes.engine.compute.logprobs import top_logprobs
from llamactypes.engine.compute.prompt_rows import token_probs
from llamactypes.engine.planning.plan import Sampled
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.request import TokenProbs
from llamactypes.errors import LlamaError
from llamactypes.sampling import SamplerChain
from llamactypes.vocab import Vocab

__all__ = ("MOST_HELPERS", "RowSampling")

MOST_HELPERS = 4
_LEAST_SHARE = 2
"""Fewer rows than this are not worth waking a thread for."""

Rows = list[tuple[Sequence, int]]
_Jobs = list[tuple[Sequence, int, NDArray[np.float32]]]


class RowSampling:
    """Samples the rows that a plan wants, each with its sequence's own chain."""

    def __init__(
        self, context: Context, vocab: Vocab, chains: Mapping[int, SamplerChain]
    ) -> None:
        """Sample from `context`.

        Args:
            context: Owned by the calling thread.
            vocab: Of its model.
            chains: Sequence id to chain, the runner's own.
        """
        self._context = context
        self._vocab = vocab
        self._chains = chains
        self.n_helpers = 0
        """Most threads that may help."""
        self._constrained: dict[int, ConstrainedChain | LimitedChain] = {}
        self._end_tokens = frozenset(vocab.eog_tokens)
        self._n_ctx = min(context.n_ctx_seq, context.model.n_ctx_train or sys.maxsize)
        self._pool = ThreadPoolExecutor(MOST_HELPERS, "llamactypes-sampler")
        self._known: SequenceOf[Sequence] = ()
        self._quick: list[Callable[[Context, int], int]] | None = []

    def attach(self, sequence: Sequence) -> None:
        """Begin a sequence whose chain is there."""
        chain = self._chains[sequence.id]
        constrained = ConstrainedChain.for_sequence(
            sequence, chain, self._end_tokens, self._n_ctx
        )
        limited = LimitedChain.for_sequence(
            sequence, chain, constrained, self._vocab.piece
        )
        followed = constrained if limited is None else limited
        if followed is not None:
            self._constrained[sequence.id] = followed

    def detach(self, sequence: Sequence) -> None:
        """Forget a sequence that ended."""
        self._constrained.pop(sequence.id, None)

    def sample(self, sequences: SequenceOf[Sequence], rows: SequenceOf[int]) -> Sampled:
        """Sample a row for each of `sequences`.

        Given the same object again, these must be the same sequences.
        """
        if sequences is not self._known:
            self._known, self._quick = sequences, self._all_quick(sequences)
        if self._quick is None:
            return self._sample_all(list(zip(sequences, rows, strict=True)))
        context = self._context
        pairs = zip(self._quick, rows, strict=True)
        tokens = [pick(context, row) for pick, row in pairs]
        return self._sampled(sequences, tokens)

    def _sampled(
        self,
        sequences: SequenceOf[Sequence],
        tokens: list[int],
        probs: Mapping[int, TokenProbs] | None = None,
    ) -> Sampled:
        """Add what must follow; put apart those whose constraint allowed no token."""
        probs = probs or {}
        if not self._constrained:
            return Sampled(sequences, tokens, probs)
        forced: dict[int, SequenceOf[int]] = {}
        errors: list[tuple[Sequence, LlamaError]] = []
        for sequence in sequences:
            constrained = self._constrained.get(sequence.id)
            if constrained is not None and constrained.forced:
                forced[sequence.id] = constrained.forced
            if constrained is not None and constrained.error is not None:
                errors.append((sequence, constrained.error))
        if errors:
            pairs = list(zip(sequences, tokens, strict=True))
            sequences = [sequence for sequence, token in pairs if token != NO_TOKEN]
            tokens = [token for token in tokens if token != NO_TOKEN]
        return Sampled(sequences, tokens, probs, forced, errors)

    def _sampler(
        self, sequence: Sequence
    ) -> SamplerChain | ConstrainedChain | LimitedChain:
        return self._constrained.get(sequence.id) or self._chains[sequence.id]

    def _all_quick(
        self, sequences: SequenceOf[Sequence]
    ) -> list[Callable[[Context, int], int]] | None:
        """Return how each is sampled, or None when some are slow or want more."""
        chains = [self._chains[sequence.id] for sequence in sequences]
        if not all(chain.is_quick for chain in chains):
            return None
        if any(sequence.request.sampling.n_probs for sequence in sequences):
            return None
        return [self._sampler(sequence).sample for sequence in sequences]

    def _sample_all(self, rows: Rows) -> Sampled:
        """Sample every row, the slow ones on several threads when that saves time.

        PERF: a chain that looks at the whole vocabulary takes 0.17 ms at 49k tokens, in
        C and without the GIL; one with a short list 0.02 ms, mostly with it.
        """
        slow = [
            (sequence, row)
            for sequence, row in rows
            if not self._chains[sequence.id].is_quick
            and not sequence.request.sampling.n_probs
        ]
        done = self._sample_apart(slow) if slow else {}
        tokens: list[int] = []
        probs: dict[int, TokenProbs] = {}
        for sequence, row in rows:
            token = done.get(row)
            if sequence.request.sampling.n_probs:
                token, found = self._sample_with_probs(sequence, row)
                if found is not None:
                    probs[sequence.id] = found
            elif token is None:
                token = self._sampler(sequence).sample(self._context, row)
            tokens.append(token)
        return self._sampled([sequence for sequence, _ in rows], tokens, probs)

    def _sample_apart(self, rows: Rows) -> dict[int, int]:
        """Return row to token, sampled on several threads; nothing when few rows."""
        n_shares = min(self.n_helpers + 1, len(rows) // _LEAST_SHARE)
        if n_shares < 2:
            return {}
        # The owner looks at the rows: see `SamplerChain.sample_beside`.
        jobs = [(seq, row, self._context.logits(row)) for seq, row in rows]
        shares = [jobs[i::n_shares] for i in range(n_shares)]
        others = [self._pool.submit(self._sample_beside, one) for one in shares[1:]]
        tokens = self._sample_beside(shares[0])
        for other in others:
            tokens |= other.result()
        return tokens

    def _sample_beside(self, jobs: _Jobs) -> dict[int, int]:
        """Return row to token."""
        return {
            row: self._sample_one_beside(sequence, row, logits)
            for sequence, row, logits in jobs
        }

    def _sample_one_beside(
        self, sequence: Sequence, row: int, logits: NDArray[np.float32]
    ) -> int:
        constrained = self._constrained.get(sequence.id)
        if constrained is not None:
            return constrained.take(logits)
        return self._chains[sequence.id].sample_beside(self._context, row)

    def _sample_with_probs(
        self, sequence: Sequence, row: int
    ) -> tuple[int, TokenProbs | None]:
        """Sample, with the probabilities that were asked for; none when that fails."""
        n_probs = sequence.request.sampling.n_probs
        if sequence.request.post_sampling_probs:
            return self._sample_post(sequence, n_probs, row)
        token = self._sampler(sequence).sample(self._context, row)
        if token == NO_TOKEN:
            return token, None
        # Of the raw logits, whatever chain and constraint do to them.
        value, top = top_logprobs(self._context.logits(row), token, n_probs)
        return token, token_probs(self._vocab, token, value, top)

    def _sample_post(
        self, sequence: Sequence, n_probs: int, row: int
    ) -> tuple[int, TokenProbs | None]:
        """Sample; probabilities are those left after the chain, zeros excluded."""
        candidates = self._candidates(sequence, self._context.logits(row))
        if candidates is None:
            return NO_TOKEN, None
        token = candidates.selected
        pairs = sorted(
            zip(candidates.ids.tolist(), candidates.probs.tolist(), strict=True),
            key=lambda pair: -pair[1],
        )
        value = next((prob for id, prob in pairs if id == token), 0.0)
        top = [(id, prob) for id, prob in pairs[:n_probs] if prob > 0.0]
        return token, token_probs(self._vocab, token, value, top)

    def _candidates(
        self, sequence: Sequence, logits: NDArray[np.float32]
    ) -> Candidates | None:
        """Return what the chain leaves, its pick accepted; None when it picks none."""
        constrained = self._constrained.get(sequence.id)
        if constrained is not None:
            return constrained.apply(logits)
        chain = self._chains[sequence.id]
        candidates = chain.apply(logits)
        chain.accept(candidates.selected)
        return candidates

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()
