"""Streams of legacy completions that begin with the logprobs of their prompts. Pure."""

from __future__ import annotations

from typing import Any

from api.protocol.completion.openai import CompletionStream
from api.protocol.reply import ReplyFacts
from api.protocol.stream_format import StreamFormat
from llamactypes.engine.request import Delta, Result, TokenProbs

__all__ = ("EchoedStream", "completion_stream")


def completion_stream(facts: ReplyFacts) -> CompletionStream | EchoedStream:
    """Return what formats the stream of a request."""
    stream = CompletionStream(facts)
    return EchoedStream(facts, stream) if facts.options.prompt_logprobs else stream


class EchoedStream(StreamFormat):
    """Sends each choice's prompt with its logprobs before anything else of the choice.

    One choice of each prompt has them: the others wait for it. One reader's thread.
    """

    ends_with_done = True

    def __init__(self, facts: ReplyFacts, stream: CompletionStream) -> None:
        n_prompts = len(facts.prompts)
        self._facts = facts
        self._stream = stream
        self._probs: list[list[TokenProbs]] = [[] for _ in range(n_prompts)]
        self._waiting: list[list[tuple[int, Delta | Result]]] = [
            [] for _ in range(n_prompts)
        ]
        self._is_sent = [False] * n_prompts

    def delta(self, index: int, delta: Delta) -> list[dict[str, Any]]:
        """Return the chunks for one increment, and those that waited for it."""
        if delta.progress is not None:
            return self._stream.delta(index, delta)
        prompt = index // self._facts.options.n_choices
        if delta.prompt_probs:
            self._probs[prompt] += delta.prompt_probs
        else:
            self._waiting[prompt].append((index, delta))
        return self._ready(prompt)

    def finish(self, index: int, result: Result) -> list[dict[str, Any]]:
        """Return the chunks that end a choice, unless it waits for its prompt."""
        prompt = index // self._facts.options.n_choices
        self._waiting[prompt].append((index, result))
        return self._ready(prompt)

    def _ready(self, prompt: int) -> list[dict[str, Any]]:
        """Return what may be sent of the choices of a prompt now."""
        if len(self._probs[prompt]) < len(self._facts.prompts[prompt]) - 1:
            return []
        chunks: list[dict[str, Any]] = []
        if not self._is_sent[prompt]:
            self._is_sent[prompt] = True
            n_choices, probs = self._facts.options.n_choices, self._probs[prompt]
            first = prompt * n_choices
            chunks += [
                self._stream.echo(index, probs)
                for index in range(first, first + n_choices)
            ]
        for index, each in self._waiting[prompt]:
            if isinstance(each, Result):
                chunks += self._stream.finish(index, each)
            else:
                chunks += self._stream.delta(index, each)
        self._waiting[prompt].clear()
        return chunks
