"""Counters of the engine, written by its thread alone and read by any."""

from __future__ import annotations

from dataclasses import replace

from llamactypes.engine.config import EngineMetrics
from llamactypes.engine.plan import Plan
from llamactypes.engine.request import FinishReason, Result

__all__ = ("Meter",)


class Meter:
    """Adds up what the engine does. `snapshot` may be called from any thread."""

    def __init__(self) -> None:
        self.n_decode = 0
        self.prompt_tokens = 0
        self.prompt_tokens_cached = 0
        self.tokens_generated = 0
        self.prompt_seconds = 0.0
        self.generation_seconds = 0.0
        self.busy_slots_total = 0
        self.n_tokens_max = 0
        self.requests_cancelled = 0
        self.requests_failed = 0
        self.cache_repairs = 0

    def count(self, plan: Plan, n_sampled: int, seconds: float) -> None:
        """Add one decode that took `seconds`, sampling included.

        Its time is shared between prompts and generation by their tokens.
        """
        n_tokens = plan.n_tokens
        n_prompt = n_tokens - plan.n_generating
        self.n_decode += 1
        self.busy_slots_total += len(plan.chunks)
        self.prompt_tokens += n_prompt
        self.tokens_generated += n_sampled
        self.prompt_seconds += seconds * n_prompt / n_tokens
        self.generation_seconds += seconds * plan.n_generating / n_tokens
        for chunk in plan.chunks:
            self.n_tokens_max = max(self.n_tokens_max, chunk.start + chunk.n_tokens)

    def count_cached(self, n_tokens: int) -> None:
        """Add prompt tokens that did not have to be computed."""
        self.prompt_tokens_cached += n_tokens

    def count_result(self, result: Result) -> None:
        """Add a request that ended."""
        self.requests_cancelled += result.finish is FinishReason.CANCELLED
        self.requests_failed += result.finish is FinishReason.ERROR

    def snapshot(
        self, *, requests_processing: int, requests_waiting: int, preemptions: int
    ) -> EngineMetrics:
        """Return the counters as a value."""
        counters = EngineMetrics(**vars(self))
        return replace(
            counters,
            requests_processing=requests_processing,
            requests_waiting=requests_waiting,
            preemptions=preemptions,
        )
