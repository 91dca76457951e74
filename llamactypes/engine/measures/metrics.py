"""Counters and histograms of the engine: its thread writes, any thread reads. Pure."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from operator import attrgetter
from typing import Any

from llamactypes.engine.config import EngineMetrics
from llamactypes.engine.embedding.request import EmbeddingResult
from llamactypes.engine.measures.histogram import Histogram
from llamactypes.engine.planning.plan import Plan
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.request import FinishReason

__all__ = ("Meter",)

_LATENCY_S = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0),
)
_GAP_S = (
    *(0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05),
    *(0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.5, 5.0, 10.0),
)
_PROMPT_RATE = (
    *(10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0, 2500.0, 5000.0),
    *(10_000.0, 25_000.0, 50_000.0, 100_000.0),
)
_GENERATION_RATE = (
    *(1.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0),
    *(75.0, 100.0, 150.0, 200.0, 300.0, 500.0, 1000.0),
)
_n_computed = attrgetter("n_computed")
_RECENT = 0.1
"""Weight of the newest request in `Meter.mean_slot_s`."""


class Meter:
    """Adds up what the engine does. `snapshot` may be called from any thread.

    Counters that change together may be seen with one of them a step ahead: a snapshot
    takes no lock, since the engine must not wait for whoever reads.
    """

    def __init__(self) -> None:
        self.n_decode = 0
        self.prompt_tokens = 0
        self.prompt_tokens_cached = 0
        self.tokens_generated = 0
        self.prompt_seconds = 0.0
        self.busy_slots_total = 0
        self.n_tokens_max = 0
        self.requests_finished = 0
        self.requests_cancelled = 0
        self.requests_failed = 0
        self.cache_repairs = 0
        self.mean_slot_s = 0.0
        self.queue_s = Histogram(_LATENCY_S)
        self.time_to_first_token_s = Histogram(_LATENCY_S)
        self.inter_token_s = Histogram(_GAP_S)
        self.request_s = Histogram(_LATENCY_S)
        self.prompt_rate = Histogram(_PROMPT_RATE)
        self.generation_rate = Histogram(_GENERATION_RATE)

    def count_gaps(self, plan: Plan, now: float) -> None:
        """Note how long each sequence of a decode has waited for its next token.

        To be called before the scheduler applies the tokens. PERF: once a step, since
        all that generate got their last token in the same step; only those computed
        anew meanwhile (preempted, interrupted) have another gap.
        """
        if plan.generating:
            gap_s = now - plan.generating[0].t_last
            self.inter_token_s.observe(gap_s, plan.n_generating)
        for chunk in plan.prompts:
            if chunk.wants_logits and chunk.sequence.n_decoded:
                self.inter_token_s.observe(now - chunk.sequence.t_last)

    def count(self, plan: Plan, n_sampled: int, seconds: float, now: float) -> None:
        """Add one decode that took `seconds`, sampling included, and was applied.

        Its time is shared between prompts and generation by their tokens.
        """
        n_prompt = plan.n_prompt
        self.n_decode += 1
        self.busy_slots_total += plan.n_sequences
        self.prompt_tokens += n_prompt
        self.tokens_generated += n_sampled
        self.prompt_seconds += seconds * n_prompt / plan.n_tokens
        longest = max(map(_n_computed, plan.sequences))
        self.n_tokens_max = max(self.n_tokens_max, longest)
        for chunk in plan.prompts:
            sequence = chunk.sequence
            if chunk.wants_logits and sequence.t_first == now:
                self.time_to_first_token_s.observe(now - sequence.t_submit)

    def count_admitted(self, sequence: Sequence, now: float) -> None:
        """Add a request that got its slot for the first time."""
        self.queue_s.observe(now - sequence.t_submit)

    def count_cached(self, n_tokens: int) -> None:
        """Add prompt tokens that did not have to be computed."""
        self.prompt_tokens_cached += n_tokens

    def count_result(self, sequence: Sequence, now: float) -> None:
        """Add a request that ended."""
        assert sequence.result is not None
        if sequence.t_start:
            self._note_slot_time(now - sequence.t_start)
        finish = sequence.result.finish
        if finish is FinishReason.CANCELLED:
            self.requests_cancelled += 1
        elif finish is FinishReason.ERROR:
            self.requests_failed += 1
        else:
            self.requests_finished += 1
            self._note_rates(sequence, now)

    def count_embedded(self, lengths: SequenceOf[int], seconds: float) -> None:
        """Add one batch of inputs, each with so many tokens, that took `seconds`."""
        self.n_decode += 1
        self.busy_slots_total += len(lengths)
        self.prompt_tokens += sum(lengths)
        self.prompt_seconds += seconds
        self.n_tokens_max = max(self.n_tokens_max, *lengths)

    def count_embedding(
        self, result: EmbeddingResult, t_submit: float, t_start: float, now: float
    ) -> None:
        """Add an embedding request that ended; `t_start` 0: it never began."""
        if t_start:
            self._note_slot_time(now - t_start)
        if result.is_cancelled:
            self.requests_cancelled += 1
        elif result.error is not None:
            self.requests_failed += 1
        else:
            self.requests_finished += 1
            self.request_s.observe(now - t_submit)

    def _note_rates(self, sequence: Sequence, now: float) -> None:
        timings = sequence.timings()
        self.request_s.observe(now - sequence.t_submit)
        if timings.prompt_n:
            self.prompt_rate.observe(timings.prompt_per_second)
        if timings.predicted_n > 1:
            self.generation_rate.observe(timings.predicted_per_second)

    def _note_slot_time(self, seconds: float) -> None:
        mean = self.mean_slot_s or seconds
        self.mean_slot_s = mean + _RECENT * (seconds - mean)

    def snapshot(self, **current: int) -> EngineMetrics:
        """Return everything as a value; `current` adds what others count."""
        own: dict[str, Any] = {
            name: value.snapshot() if isinstance(value, Histogram) else value
            for name, value in vars(self).items()
        }
        return EngineMetrics(**(own | current))
