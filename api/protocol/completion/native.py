"""Replies of llama-server's own completion format. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from api.protocol.logprobs import native_probs
from api.protocol.reply import Choice, ReplyFacts
from api.protocol.settings_echo import generation_settings
from api.protocol.stream_format import StreamFormat
from llamactypes.engine.request import Delta, FinishReason, Result, TokenProbs

__all__ = ("NativeStream", "native_reply", "native_result", "verbose_result")

_STOP_TYPES = {
    FinishReason.STOP_EOS: "eos",
    FinishReason.STOP_WORD: "word",
    FinishReason.LENGTH: "limit",
}


def native_reply(facts: ReplyFacts, choices: Sequence[Choice]) -> Any:
    """Return an object for one choice, an array for several."""
    results = [native_result(facts, choice) for choice in choices]
    return results[0] if len(results) == 1 else results


def native_result(facts: ReplyFacts, choice: Choice) -> dict[str, Any]:
    """Return one finished choice, reduced to ``response_fields`` when asked."""
    full = verbose_result(facts, choice)
    fields = facts.options.response_fields
    return _selected(full, fields) if fields else full


def verbose_result(facts: ReplyFacts, choice: Choice) -> dict[str, Any]:
    """Return one finished choice with every field."""
    options = facts.options
    result = choice.result
    reply: dict[str, Any] = {
        "index": choice.index,
        "content": choice.text,
        "tokens": choice.tokens if options.return_tokens else [],
        "id_slot": result.id_slot,
        "stop": True,
        "model": facts.model,
        "tokens_predicted": result.n_decoded,
        "tokens_evaluated": result.n_prompt,
        "generation_settings": {
            **generation_settings(options, result.seed, facts.eog_tokens),
            **facts.reading.shown,
        },
        "prompt": facts.prompt_text(choice.index),
        "has_new_line": result.has_new_line,
        "truncated": result.truncated,
        "stop_type": _STOP_TYPES.get(result.finish, "none"),
        "stopping_word": result.stopping_word,
        "tokens_cached": result.n_tokens_in_slot,
        "timings": result.timings.as_dict(),
    }
    if options.sampling.n_probs and choice.probs:
        reply["completion_probabilities"] = native_probs(
            choice.probs, is_prob=options.post_sampling_probs
        )
    return reply


def _selected(full: dict[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    """Return the named fields; ``a/b`` reaches into ``a`` and keeps its slash."""
    chosen = {}
    for path in fields:
        value: Any = full
        for key in path.split("/"):
            if not isinstance(value, dict) or key not in value:
                break
            value = value[key]
        else:
            chosen[path] = value
    return chosen


class NativeStream(StreamFormat):
    """Formats the events of a native stream. One reader's thread."""

    def __init__(self, facts: ReplyFacts) -> None:
        self._facts = facts
        self._held: dict[int, tuple[list[int], list[TokenProbs]]] = {}
        self._last: dict[int, Delta] = {}

    def delta(self, index: int, delta: Delta) -> list[dict[str, Any]]:
        """Return the objects for one increment; tokens without text are held back."""
        if delta.progress is not None:
            return [self._partial(index, delta, [], [])]
        self._last[index] = delta
        tokens, probs = self._held.setdefault(index, ([], []))
        tokens += delta.tokens
        probs += delta.probs
        if not delta.text:
            return []
        del self._held[index]
        return [self._partial(index, delta, tokens, probs)]

    def finish(self, index: int, result: Result) -> list[dict[str, Any]]:
        """Return the final object, after the tokens still held back."""
        tokens, probs = self._held.pop(index, ([], []))
        final = native_result(self._facts, Choice(index, result))
        if not tokens:
            return [final]
        return [self._partial(index, self._last[index], tokens, probs), final]

    def _partial(
        self, index: int, delta: Delta, tokens: list[int], probs: list[TokenProbs]
    ) -> dict[str, Any]:
        options = self._facts.options
        chunk: dict[str, Any] = {
            "index": index,
            "content": delta.text,
            "tokens": tokens,
            "stop": False,
            "id_slot": -1,
            "tokens_predicted": delta.n_decoded,
            "tokens_evaluated": self._facts.n_prompt(index),
        }
        if options.timings_per_token:
            chunk["timings"] = delta.timings.as_dict()
        if delta.progress is not None:
            chunk["prompt_progress"] = progress_object(delta)
        if probs:
            chunk["completion_probabilities"] = native_probs(
                probs, is_prob=options.post_sampling_probs
            )
        return chunk


def progress_object(delta: Delta) -> dict[str, int | float]:
    """Return ``prompt_progress`` of a progress delta, or nothing."""
    progress = delta.progress
    if progress is None:
        return {}
    return {
        "total": progress.total,
        "cache": progress.cache,
        "processed": progress.processed,
        "time_ms": progress.time_ms,
    }
