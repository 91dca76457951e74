"""What all replies share: identity, finish reasons, usage and timings. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from api.protocol.completion.echo import Echo
from api.protocol.options import CompletionOptions
from api.protocol.reading import PLAIN, Reading, unique_id
from llamactypes.engine.request import Delta, FinishReason, Result, Timings, TokenProbs

__all__ = (
    "Choice",
    "ReplyFacts",
    "finish_reason",
    "total_timings",
    "total_usage",
    "unique_id",
)

_OPENAI_REASONS = {
    FinishReason.STOP_EOS: "stop",
    FinishReason.STOP_WORD: "stop",
    FinishReason.LENGTH: "length",
}


@dataclass(frozen=True, slots=True)
class ReplyFacts:
    """One request, as its replies need it."""

    id: str
    created: int
    """Unix time in seconds."""
    model: str
    fingerprint: str
    """Build of the native library."""
    options: CompletionOptions
    prompts: Sequence[tuple[int, ...]]
    prompt_texts: Sequence[str] = ()
    """The prompts with their special tokens spelt out; empty: no reply shows them."""
    eog_tokens: Sequence[int] = ()
    n_top_shown: int | None = None
    """Alternatives that OpenAI's formats show for each token; None: all."""
    echoes: Sequence[Echo] = ()
    """For each prompt, what its choices begin with; none: nothing."""
    reading: Reading = PLAIN
    """How the text of a chat's answer is read."""

    def prompt_text(self, index: int) -> str:
        """Return the prompt of a choice with its special tokens."""
        return self.prompt_texts[index // self.options.n_choices]

    def n_prompt(self, index: int) -> int:
        """Return the length of a choice's prompt in tokens."""
        return len(self.prompts[index // self.options.n_choices])

    def echo(self, index: int) -> str:
        """Return the text that a choice begins with."""
        return self.echoes[index // self.options.n_choices].text if self.echoes else ""


@dataclass(slots=True)
class Choice:
    """One generation, read to its end."""

    index: int
    result: Result
    text: str = ""
    tokens: list[int] = field(default_factory=list)
    probs: list[TokenProbs] = field(default_factory=list)
    """Of every token."""
    text_probs: list[TokenProbs] = field(default_factory=list)
    """Of the tokens that became text: no end-of-generation token, no stop sequence."""
    prompt_probs: list[TokenProbs] = field(default_factory=list)
    """Of the prompt's tokens from the second on, when they were asked for."""

    @staticmethod
    def of(index: int, deltas: Sequence[Delta], result: Result) -> Choice:
        """Put a generation's deltas together."""
        choice = Choice(index, result)
        pending: list[TokenProbs] = []
        for delta in deltas:
            choice.tokens += delta.tokens
            choice.probs += delta.probs
            choice.prompt_probs += delta.prompt_probs
            pending += delta.probs
            if delta.text:
                choice.text_probs += pending
                pending = []
        choice.text = "".join(delta.text for delta in deltas)
        return choice


def finish_reason(result: Result, *, has_calls: bool = False) -> str:
    """Return OpenAI's word for the end of a generation."""
    reason = _OPENAI_REASONS.get(result.finish, "length")
    return "tool_calls" if has_calls and reason == "stop" else reason


def total_usage(results: Sequence[Result], n_choices: int) -> dict[str, Any]:
    """Return OpenAI's ``usage`` for all choices; a prompt counts once."""
    firsts = results[::n_choices]
    n_prompt = sum(result.n_prompt for result in firsts)
    n_decoded = sum(result.n_decoded for result in results)
    return {
        "completion_tokens": n_decoded,
        "prompt_tokens": n_prompt,
        "total_tokens": n_decoded + n_prompt,
        "prompt_tokens_details": {
            "cached_tokens": sum(result.n_cached for result in firsts)
        },
    }


def total_timings(results: Sequence[Result]) -> dict[str, Any]:
    """Return ``timings``, summed over the choices."""
    if len(results) == 1:
        return results[0].timings.as_dict()
    each = [result.timings for result in results]
    total = Timings(
        cache_n=sum(t.cache_n for t in each),
        prompt_n=sum(t.prompt_n for t in each),
        prompt_ms=sum(t.prompt_ms for t in each),
        predicted_n=sum(t.predicted_n for t in each),
        predicted_ms=sum(t.predicted_ms for t in each),
    )
    return total.as_dict()
