"""``best_of`` of OpenAI's legacy completions: the likeliest of several. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from api.protocol.completion.openai import completion_reply
from api.protocol.fields import Body, Integer, boolean
from api.protocol.invalid import InvalidRequest
from api.protocol.options import CompletionOptions
from api.protocol.reply import Choice, ReplyFacts, total_timings, total_usage

__all__ = ("BestOf", "read_best_of")

_N = ("n_cmpl", "n")
_LOWEST = -1e30
"""Stands for the logprob of what is impossible: it can be added up."""


@dataclass(frozen=True, slots=True)
class BestOf:
    """How many completions of each prompt are computed, and how many shown."""

    n_shown: int
    n_computed: int

    def body(self, body: Body) -> dict[str, Any]:
        """Return the request for all that is computed."""
        return {**body, "n_cmpl": self.n_computed}

    def scored(self, options: CompletionOptions) -> CompletionOptions:
        """Return `options` with the logprobs that the choice needs."""
        if options.sampling.n_probs:
            return options
        sampling = replace(options.sampling, n_probs=1)
        return replace(options, sampling=sampling, post_sampling_probs=False)

    def reply(
        self, facts: ReplyFacts, choices: Sequence[Choice], *, shows_logprobs: bool
    ) -> dict[str, Any]:
        """Return the ``text_completion`` object of the best; usage is of all."""
        options = facts.options
        kept: list[Choice] = []
        for start in range(0, len(choices), self.n_computed):
            group = choices[start : start + self.n_computed]
            kept += self._best(group, options.post_sampling_probs, len(kept))
        sampling = options.sampling
        if not shows_logprobs:
            sampling = replace(sampling, n_probs=0)
        shown = replace(options, n_choices=self.n_shown, sampling=sampling)
        reply = completion_reply(replace(facts, options=shown), kept)
        results = [choice.result for choice in choices]
        usage = total_usage(results, self.n_computed)
        return {**reply, "usage": usage, "timings": total_timings(results)}

    def _best(self, group: Sequence[Choice], is_prob: bool, index: int) -> list[Choice]:
        """Return the best of one prompt's choices, best first."""
        ranked = sorted(
            group, key=lambda each: mean_logprob(each, is_prob), reverse=True
        )
        best = [
            replace(choice, index=index + i)
            for i, choice in enumerate(ranked[: self.n_shown])
        ]
        # One choice of each prompt has the prompt's own, and the first is asked for it.
        best[0] = replace(best[0], prompt_probs=group[0].prompt_probs)
        return best


def mean_logprob(choice: Choice, is_prob: bool) -> float:
    """Return the mean over a choice's tokens; of no tokens it is certain."""
    if not choice.probs:
        return 0.0
    return sum(_logprob(each.value, is_prob) for each in choice.probs) / len(
        choice.probs
    )


def _logprob(value: float, is_prob: bool) -> float:
    if is_prob:
        return math.log(value) if value > 0.0 else _LOWEST
    return max(value, _LOWEST) if value == value else _LOWEST


def read_best_of(body: Body, n_slots: int) -> BestOf | None:
    """Return what ``best_of`` asks for; None: every completion is shown.

    Raises:
        InvalidRequest: It is less than ``n``, more than the slots, or streamed.
    """
    n_computed = Integer(("best_of",), 1, n_slots).read(body, 0)
    n_shown = Integer(_N, 1, n_slots).read(body, 1)
    if n_computed in (0, n_shown):
        return None
    if n_computed < n_shown:
        raise InvalidRequest.field(
            "best_of", f"Value must be at least n, which is {n_shown}"
        )
    if boolean(body, "stream", False):
        raise InvalidRequest.field(
            "best_of",
            "the best is known when all have ended: leave out stream, or best_of",
        )
    return BestOf(n_shown, n_computed)
