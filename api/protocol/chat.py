"""Replies of ``/v1/chat/completions``. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from api.protocol.logprobs import native_probs
from api.protocol.native import progress_object, verbose_result
from api.protocol.reply import (
    Choice,
    ReplyFacts,
    finish_reason,
    total_timings,
    total_usage,
)
from api.protocol.stream_format import StreamFormat
from llamactypes.engine.request import Delta, Result, TokenProbs

__all__ = ("ChatStream", "chat_reply")


def chat_reply(facts: ReplyFacts, choices: Sequence[Choice]) -> dict[str, Any]:
    """Return the ``chat.completion`` object of all choices."""
    results = [choice.result for choice in choices]
    reply: dict[str, Any] = {
        "choices": [_choice(facts, choice) for choice in choices],
        "created": facts.created,
        "model": facts.model,
        "system_fingerprint": facts.fingerprint,
        "object": "chat.completion",
        "usage": total_usage(results, facts.options.n_choices),
        "id": facts.id,
        "timings": total_timings(results),
    }
    if facts.options.verbose:
        reply["__verbose"] = verbose_result(facts, choices[0])
    return reply


def _choice(facts: ReplyFacts, choice: Choice) -> dict[str, Any]:
    content = facts.echo(choice.index) + choice.text
    entry: dict[str, Any] = {
        "finish_reason": finish_reason(choice.result),
        "index": choice.index,
        "message": {"role": "assistant", "content": content},
    }
    if facts.options.sampling.n_probs:
        entry["logprobs"] = _logprobs(facts, choice.text_probs)
    return entry


def _logprobs(facts: ReplyFacts, probs: Sequence[TokenProbs]) -> dict[str, Any]:
    is_prob = facts.options.post_sampling_probs
    return {
        "content": native_probs(probs, is_prob=is_prob, n_top=facts.n_top_shown),
    }


class ChatStream(StreamFormat):
    """Formats the chunks of a chat stream. One reader's thread.

    For each choice: the role once, text, a chunk with ``finish_reason``; after the last
    choice, when asked for, a chunk with ``usage`` and no choices.
    """

    ends_with_done = True

    def __init__(self, facts: ReplyFacts) -> None:
        self._facts = facts
        self._has_role: set[int] = set()
        self._held: dict[int, list[TokenProbs]] = {}
        self._results: dict[int, Result] = {}
        self._n_expected = len(facts.prompts) * facts.options.n_choices

    def delta(self, index: int, delta: Delta) -> list[dict[str, Any]]:
        """Return the chunks for one increment."""
        if delta.progress is not None:
            return [self._progress(index, delta)]
        chunks = self._role_once(index)
        held = self._held.setdefault(index, [])
        held += delta.probs
        if delta.text:
            del self._held[index]
            chunks.append(self._content(index, delta, held))
        return chunks

    def finish(self, index: int, result: Result) -> list[dict[str, Any]]:
        """Return the chunks that end a choice, and after the last one the usage."""
        chunks = self._role_once(index)
        self._results[index] = result
        final = self._chunk(index, {}, finish_reason(result))
        chunks.append(final)
        if self._facts.options.verbose:
            verbose = verbose_result(self._facts, Choice(index, result))
            final["__verbose"] = verbose
        if len(self._results) == self._n_expected and self._facts.options.include_usage:
            chunks.append(self._usage())
        chunks[-1]["timings"] = result.timings.as_dict()
        return chunks

    def _progress(self, index: int, delta: Delta) -> dict[str, Any]:
        # llama-server repeats the role on each of these; once is what clients expect.
        chunks = self._role_once(index)
        chunk = chunks[-1] if chunks else self._chunk(index, {})
        chunk["prompt_progress"] = progress_object(delta)
        if self._facts.options.timings_per_token:
            chunk["timings"] = delta.timings.as_dict()
        return chunk

    def _role_once(self, index: int) -> list[dict[str, Any]]:
        if index in self._has_role:
            return []
        self._has_role.add(index)
        chunks = [self._chunk(index, {"role": "assistant", "content": None})]
        if echo := self._facts.echo(index):
            chunks.append(self._chunk(index, {"content": echo}))
        return chunks

    def _content(
        self, index: int, delta: Delta, probs: list[TokenProbs]
    ) -> dict[str, Any]:
        chunk = self._chunk(index, {"content": delta.text})
        if self._facts.options.sampling.n_probs:
            chunk["choices"][0]["logprobs"] = _logprobs(self._facts, probs)
        if self._facts.options.timings_per_token:
            chunk["timings"] = delta.timings.as_dict()
        return chunk

    def _usage(self) -> dict[str, Any]:
        results = [self._results[index] for index in sorted(self._results)]
        usage = total_usage(results, self._facts.options.n_choices)
        return {**self._chunk(0, {}), "choices": [], "usage": usage}

    def _chunk(
        self, index: int, delta: dict[str, Any], reason: str | None = None
    ) -> dict[str, Any]:
        return {
            "choices": [{"finish_reason": reason, "index": index, "delta": delta}],
            "created": self._facts.created,
            "id": self._facts.id,
            "model": self._facts.model,
            "system_fingerprint": self._facts.fingerprint,
            "object": "chat.completion.chunk",
        }
