"""From the rows of a decode to tokens. Engine thread, but for threads that help."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as SequenceOf
from concurrent.futures import ThreadPoolExecutor

from llamactypes.context import Context
from llamactypes.engine.compute.logprobs import top_logprobs
from llamactypes.engine.compute.prompt_rows import token_probs
from llamactypes.engine.planning.plan import Sampled
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.request import TokenProbs
from llamactypes.sampling import SamplerChain
from llamactypes.vocab import Vocab

__all__ = ("MOST_HELPERS", "RowSampling")

MOST_HELPERS = 4
_LEAST_SHARE = 2
"""Fewer rows than this are not worth waking a thread for."""

Rows = list[tuple[Sequence, int]]


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
        self._pool = ThreadPoolExecutor(MOST_HELPERS, "llamactypes-sampler")
        self._known: SequenceOf[Sequence] = ()
        self._quick: list[Callable[[Context, int], int]] | None = []

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
        return Sampled(sequences, [pick(context, row) for pick, row in pairs])

    def _all_quick(
        self, sequences: SequenceOf[Sequence]
    ) -> list[Callable[[Context, int], int]] | None:
        """Return how each is sampled, or None when some are slow or want more."""
        chains = [self._chains[sequence.id] for sequence in sequences]
        if not all(chain.is_quick for chain in chains):
            return None
        if any(sequence.request.sampling.n_probs for sequence in sequences):
            return None
        return [chain.sample for chain in chains]

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
                token, probs[sequence.id] = self._sample_with_probs(sequence, row)
            elif token is None:
                token = self._chains[sequence.id].sample(self._context, row)
            tokens.append(token)
        return Sampled([sequence for sequence, _ in rows], tokens, probs)

    def _sample_apart(self, rows: Rows) -> dict[int, int]:
        """Return row to token, sampled on several threads; nothing when few rows."""
        n_shares = min(self.n_helpers + 1, len(rows) // _LEAST_SHARE)
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

    def _sample_beside(self, rows: Rows) -> dict[int, int]:
        """Return row to token."""
        return {
            row: self._chains[sequence.id].sample_beside(self._context, row)
            for sequence, row in rows
        }

    def _sample_with_probs(
        self, sequence: Sequence, row: int
    ) -> tuple[int, TokenProbs]:
        chain, request = self._chains[sequence.id], sequence.request
        if request.post_sampling_probs:
            return self._sample_post(chain, request.sampling.n_probs, row)
        return self._sample_pre(chain, request.sampling.n_probs, row)

    def _sample_pre(
        self, chain: SamplerChain, n_probs: int, row: int
    ) -> tuple[int, TokenProbs]:
        """Sample; logprobs are of the raw logits."""
        token = chain.sample(self._context, row)
        value, top = top_logprobs(self._context.logits(row), token, n_probs)
        return token, token_probs(self._vocab, token, value, top)

    def _sample_post(
        self, chain: SamplerChain, n_probs: int, row: int
    ) -> tuple[int, TokenProbs]:
        """Sample; probabilities are those left after the chain, zeros excluded."""
        candidates = chain.apply(self._context.logits(row))
        token = candidates.selected
        chain.accept(token)
        pairs = sorted(
            zip(candidates.ids.tolist(), candidates.probs.tolist(), strict=True),
            key=lambda pair: -pair[1],
        )
        value = next((prob for id, prob in pairs if id == token), 0.0)
        top = [(id, prob) for id, prob in pairs[:n_probs] if prob > 0.0]
        return token, token_probs(self._vocab, token, value, top)

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()
