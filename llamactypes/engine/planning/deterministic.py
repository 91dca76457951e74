"""Deterministic mode: what is computed depends on the request alone. Pure.

A sum of floats depends on its order, and the library's kernels choose the order by the
shape of what they are given: how many rows, how many cells of the KV buffer, where they
lie. So here every decode has one shape for one token of one request:

- tokens of one sequence only, in a KV buffer of its own (`EngineConfig.resolved`),
- a prompt is cut at multiples of a fixed length, counted from its beginning,
- what was generated is computed one token at a time, the second time as the first,
- a prefix is reused up to such a cut, and only from another *prompt*: the cells then
  hold, bit for bit, what computing them again would put there.

    prompt   |- - - - - cut - - - - - cut - - -|g g g g g
    decodes   [         ] [         ] [      ] [][][][][]
    reusable  ────────────────────────▶
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence as SequenceOf
from dataclasses import replace

from llamactypes.engine.planning.plan import Chunk, Plan
from llamactypes.engine.planning.sequence import Sequence, SequenceState
from llamactypes.engine.request import GenerationRequest
from llamactypes.sampling_params import RANDOM_SEED

__all__ = ("Turns", "without_chance")


class Turns:
    """Plans decodes of one sequence each. Engine thread only.

    A round is one piece of the oldest prompt, then one token for each stream. Streams
    wait for one piece at most, and a prompt for one token of each stream.
    """

    def __init__(self, cut: int, n_rows: int = 256) -> None:
        """Cut prompts at multiples of a fixed length.

        Args:
            cut: Tokens of a piece: at most what one ubatch holds.
            n_rows: Most tokens of a piece whose logprobs are wanted.
        """
        self.cut = cut
        self._n_rows = n_rows
        self._round: deque[Sequence] = deque()

    def n_reusable(self, sequence: Sequence) -> int:
        """Return how many of its tokens others may take over: whole pieces of a prompt.

        None of a prompt whose logprobs are wanted: its pieces have other shapes.
        """
        if sequence.request.prompt_probs is not None:
            return 0
        return sequence.n_prompt - sequence.n_prompt % self.cut

    def plan(self, running: SequenceOf[Sequence]) -> Plan:
        """Return the next decode."""
        sequence = self._next(running)
        if sequence is None:
            return Plan(())
        if sequence.is_generating and not _reads_prompt(sequence):
            return Plan((sequence,))
        return Plan((), (self._chunk(sequence),))

    def _next(self, running: SequenceOf[Sequence]) -> Sequence | None:
        while self._round:
            sequence = self._round.popleft()
            if sequence.state is SequenceState.RUNNING and sequence.is_entered:
                return sequence
        entered = [sequence for sequence in running if sequence.is_entered]
        prompts = [sequence for sequence in entered if _reads_prompt(sequence)]
        self._round.extend(prompts[:1])
        self._round.extend(one for one in entered if not _reads_prompt(one))
        return self._round.popleft() if self._round else None

    def _chunk(self, sequence: Sequence) -> Chunk:
        """Return what follows: a function of the position and the prompt's length."""
        start = sequence.n_computed
        end = start + 1
        if _reads_prompt(sequence):
            has_probs = sequence.request.prompt_probs is not None
            cut = min(self.cut, self._n_rows) if has_probs else self.cut
            end = min(start - start % cut + cut, sequence.n_prompt)
        if start < sequence.use.start:
            end = min(end, sequence.use.start)
        wants_logits = end == len(sequence.tokens) and sequence.n_remaining != 0
        rows = sequence.prompt_rows(end)
        return Chunk(sequence, start, end - start, wants_logits, rows)


def _reads_prompt(sequence: Sequence) -> bool:
    return sequence.n_computed < sequence.n_prompt


def without_chance(
    requests: SequenceOf[GenerationRequest],
) -> list[GenerationRequest]:
    """Give each request that leaves its seed to chance its place as the seed.

    Choices of one request differ from each other so, and are the same the next time.
    And nobody samples in the graph: it draws a random number before a decode, and once
    more when an interrupted one is computed again. Nor are computed chunks moved: they
    were computed with what is gone.
    """
    return [_without_chance(request, place) for place, request in enumerate(requests)]


def _without_chance(request: GenerationRequest, place: int) -> GenerationRequest:
    sampling = request.sampling
    seed = place if sampling.seed == RANDOM_SEED else sampling.seed
    sampling = replace(sampling, seed=seed, backend_sampling=False)
    return replace(request, sampling=sampling, n_cache_reuse=0)
