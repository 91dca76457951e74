"""Replies of ``/v1/completions``, OpenAI's legacy text format. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from api.protocol.completion.native import progress_object, verbose_result
from api.protocol.fields import Body, boolean
from api.protocol.logprobs import LegacyLogprobs
from api.protocol.reply import (
    Choice,
    ReplyFacts,
    finish_reason,
    total_timings,
    total_usage,
)
from api.protocol.stream_format import StreamFormat
from llamactypes.engine.request import Delta, Result, TokenProbs

__all__ = (
    "CompletionStream",
    "completion_reply",
    "read_echo",
    "read_legacy_logprobs",
)


def read_legacy_logprobs(body: dict[str, Any]) -> tuple[dict[str, Any], int | None]:
    """Translate ``logprobs: 0``: the chosen token's alone, not none (OpenAI).

    Returns:
        The body with a number that asks for them, and how many rivals to show (None:
        all that were computed).
    """
    count = body.get("logprobs")
    if count is None or isinstance(count, bool) or count != 0:
        return body, None
    if body.get("n_probs") is not None:  # llama-server's name counts before OpenAI's
        return body, None
    return {**body, "logprobs": 1}, 0


def read_echo(body: Body) -> bool:
    """Whether the reply's text begins with the prompt."""
    return boolean(body, "echo", False)


def completion_reply(facts: ReplyFacts, choices: Sequence[Choice]) -> dict[str, Any]:
    """Return the ``text_completion`` object of all choices."""
    results = [choice.result for choice in choices]
    reply = {
        "choices": [_choice(facts, choices, choice) for choice in choices],
        "created": facts.created,
        "model": facts.model,
        "system_fingerprint": facts.fingerprint,
        "object": "text_completion",
        "usage": total_usage(results, facts.options.n_choices),
        "id": facts.id,
        "timings": total_timings(results),
    }
    if facts.options.verbose:
        reply["__verbose"] = verbose_result(facts, choices[0])
    return reply


def _choice(
    facts: ReplyFacts, choices: Sequence[Choice], choice: Choice
) -> dict[str, Any]:
    logprobs = None
    if facts.options.prompt_logprobs:
        # The first choice of a prompt has the prompt's probabilities for all of them.
        first = choices[choice.index - choice.index % facts.options.n_choices]
        logprobs = _with_echo(facts, choice, first.prompt_probs)
    elif facts.options.sampling.n_probs:
        logprobs = _shape(facts).encode(choice.text_probs)
    return {
        "text": facts.echo(choice.index) + choice.text,
        "index": choice.index,
        "logprobs": logprobs,
        "finish_reason": finish_reason(choice.result),
    }


def _with_echo(
    facts: ReplyFacts, choice: Choice, prompt_probs: Sequence[TokenProbs]
) -> dict[str, Any]:
    shape = _shape(facts)
    echo = facts.echoes[choice.index // facts.options.n_choices]
    lists = shape.encode_echo(echo, prompt_probs)
    # Harnesses cut the generated tokens off by their number: those without text, too.
    for key, values in shape.encode(choice.probs).items():
        lists[key] += values
    return lists


def _shape(facts: ReplyFacts) -> LegacyLogprobs:
    return LegacyLogprobs(facts.options.post_sampling_probs, facts.n_top_shown)


class CompletionStream(StreamFormat):
    """Formats the chunks of a ``/v1/completions`` stream. One reader's thread."""

    ends_with_done = True

    def __init__(self, facts: ReplyFacts) -> None:
        self._facts = facts
        self._echoed: set[int] = set()
        self._held: dict[int, list[TokenProbs]] = {}
        self._shapes: dict[int, LegacyLogprobs] = {}
        self._results: dict[int, Result] = {}
        self._n_expected = len(facts.prompts) * facts.options.n_choices

    def delta(self, index: int, delta: Delta) -> list[dict[str, Any]]:
        """Return the chunks for one increment."""
        if delta.progress is not None:
            chunk = self._chunk(index, "")
            chunk["prompt_progress"] = progress_object(delta)
            return [self._timed(chunk, delta)]
        held = self._held.setdefault(index, [])
        held += delta.probs
        if not delta.text:
            return []
        del self._held[index]
        chunk = self._chunk(index, self._echo_once(index) + delta.text)
        if self._facts.options.sampling.n_probs:
            chunk["choices"][0]["logprobs"] = self._shape(index).encode(held)
        return [self._timed(chunk, delta)]

    def echo(self, index: int, prompt_probs: Sequence[TokenProbs]) -> dict[str, Any]:
        """Return the chunk with a choice's prompt, before all others of the choice."""
        chunk = self._chunk(index, self._echo_once(index))
        echo = self._facts.echoes[index // self._facts.options.n_choices]
        shape = self._shape(index)
        chunk["choices"][0]["logprobs"] = shape.encode_echo(echo, prompt_probs)
        return chunk

    def finish(self, index: int, result: Result) -> list[dict[str, Any]]:
        """Return the chunk that ends a choice; the last one carries the usage."""
        self._results[index] = result
        chunk = self._chunk(index, self._echo_once(index), finish_reason(result))
        held = self._held.pop(index, [])
        if held and self._facts.options.prompt_logprobs:
            chunk["choices"][0]["logprobs"] = self._shape(index).encode(held)
        if len(self._results) == self._n_expected:
            results = [self._results[index] for index in sorted(self._results)]
            chunk["usage"] = total_usage(results, self._facts.options.n_choices)
        if self._facts.options.verbose:
            chunk["__verbose"] = verbose_result(self._facts, Choice(index, result))
        chunk["timings"] = result.timings.as_dict()
        return [chunk]

    def _echo_once(self, index: int) -> str:
        if index in self._echoed:
            return ""
        self._echoed.add(index)
        return self._facts.echo(index)

    def _shape(self, index: int) -> LegacyLogprobs:
        return self._shapes.setdefault(index, _shape(self._facts))

    def _timed(self, chunk: dict[str, Any], delta: Delta) -> dict[str, Any]:
        if self._facts.options.timings_per_token:
            chunk["timings"] = delta.timings.as_dict()
        return chunk

    def _chunk(
        self, index: int, text: str, reason: str | None = None
    ) -> dict[str, Any]:
        return {
            "choices": [
                {
                    "text": text,
                    "index": index,
                    "logprobs": None,
                    "finish_reason": reason,
                }
            ],
            "created": self._facts.created,
            "model": self._facts.model,
            "system_fingerprint": self._facts.fingerprint,
            "object": "text_completion",
            "id": self._facts.id,
        }
