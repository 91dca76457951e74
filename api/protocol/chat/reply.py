"""Replies of ``/v1/chat/completions``. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from api.protocol.completion.native import progress_object, verbose_result
from api.protocol.logprobs import native_probs
from api.protocol.reading import Block, PieceReader
from api.protocol.reply import (
    Choice,
    ReplyFacts,
    finish_reason,
    total_timings,
    total_usage,
)
from api.protocol.stream_format import StreamFormat
from llamactypes.chat.output.pieces import Arguments, CallBegin, Content, Piece
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
    said = facts.reading.read(choice.text)
    message: dict[str, Any] = {
        "role": "assistant",
        "content": facts.echo(choice.index) + said.content,
    }
    if said.reasoning:
        message["reasoning_content"] = said.reasoning
    if said.calls:
        message["tool_calls"] = [_call(block) for block in said.calls]
    entry: dict[str, Any] = {
        "finish_reason": finish_reason(choice.result, has_calls=bool(said.calls)),
        "index": choice.index,
        "message": message,
    }
    if facts.options.sampling.n_probs:
        entry["logprobs"] = _logprobs(facts, choice.text_probs)
    return entry


def _call(block: Block) -> dict[str, Any]:
    function = {"name": block.name, "arguments": block.text}
    return {"id": block.id, "type": "function", "function": function}


def _logprobs(facts: ReplyFacts, probs: Sequence[TokenProbs]) -> dict[str, Any]:
    is_prob = facts.options.post_sampling_probs
    return {
        "content": native_probs(probs, is_prob=is_prob, n_top=facts.n_top_shown),
    }


@dataclass(slots=True)
class _Progress:
    """How far one choice is."""

    reader: PieceReader
    has_role: bool = False
    has_calls: bool = False
    pending: list[TokenProbs] = field(default_factory=list)
    """Of tokens that are no text yet."""
    unsent: list[TokenProbs] = field(default_factory=list)
    """Of tokens whose text is still held back by the reader."""

    def take(self, delta: Delta) -> list[Piece]:
        """Return what an increment says."""
        if delta.probs:
            self.pending += delta.probs
        if not delta.text:
            return []
        if self.pending:
            self.unsent += self.pending
            self.pending = []
        return self.reader.feed(delta.text)


class ChatStream(StreamFormat):
    """Formats the chunks of a chat stream. One reader's thread.

    For each choice: the role once, pieces, a chunk with ``finish_reason``; after the
    last choice, when asked for, a chunk with ``usage`` and no choices.
    """

    ends_with_done = True

    def __init__(self, facts: ReplyFacts) -> None:
        self._facts = facts
        self._choices: dict[int, _Progress] = {}
        self._results: dict[int, Result] = {}
        self._n_expected = len(facts.prompts) * facts.options.n_choices

    def delta(self, index: int, delta: Delta) -> list[dict[str, Any]]:
        """Return the chunks for one increment."""
        if delta.progress is not None:
            return [self._progress(index, delta)]
        choice = self._choice(index)
        chunks = [] if choice.has_role else self._role_once(index)
        if pieces := choice.take(delta):
            chunks += self._pieces(index, choice, pieces)
            if self._facts.options.timings_per_token:
                chunks[-1]["timings"] = delta.timings.as_dict()
        return chunks

    def finish(self, index: int, result: Result) -> list[dict[str, Any]]:
        """Return the chunks that end a choice, and after the last one the usage."""
        choice = self._choice(index)
        chunks = self._role_once(index)
        chunks += self._pieces(index, choice, choice.reader.finish())
        self._results[index] = result
        reason = finish_reason(result, has_calls=choice.has_calls)
        final = self._chunk(index, {}, reason)
        self._add_logprobs(final, choice)
        chunks.append(final)
        if self._facts.options.verbose:
            verbose = verbose_result(self._facts, Choice(index, result))
            final["__verbose"] = verbose
        if len(self._results) == self._n_expected and self._facts.options.include_usage:
            chunks.append(self._usage())
        chunks[-1]["timings"] = result.timings.as_dict()
        return chunks

    def held(self) -> list[dict[str, Any]]:
        """Return the chunks of what could have become a call or a tag."""
        return [
            chunk
            for index, choice in self._choices.items()
            if index not in self._results
            for chunk in self._pieces(index, choice, choice.reader.finish())
        ]

    def _choice(self, index: int) -> _Progress:
        choice = self._choices.get(index)
        if choice is None:
            choice = _Progress(self._facts.reading.reader())
            self._choices[index] = choice
        return choice

    def _progress(self, index: int, delta: Delta) -> dict[str, Any]:
        # llama-server repeats the role on each of these; once is what clients expect.
        chunks = self._role_once(index)
        chunk = chunks[-1] if chunks else self._chunk(index, {})
        chunk["prompt_progress"] = progress_object(delta)
        if self._facts.options.timings_per_token:
            chunk["timings"] = delta.timings.as_dict()
        return chunk

    def _role_once(self, index: int) -> list[dict[str, Any]]:
        choice = self._choice(index)
        if choice.has_role:
            return []
        choice.has_role = True
        chunks = [self._chunk(index, {"role": "assistant", "content": None})]
        if echo := self._facts.echo(index):
            chunks.append(self._chunk(index, {"content": echo}))
        return chunks

    def _pieces(
        self, index: int, choice: _Progress, pieces: Sequence[Piece]
    ) -> list[dict[str, Any]]:
        chunks = []
        for piece in pieces:
            if type(piece) is CallBegin:
                choice.has_calls = True
            chunks.append(self._chunk(index, _delta_of(piece)))
        if choice.unsent and chunks:
            self._add_logprobs(chunks[-1], choice)
        return chunks

    def _add_logprobs(self, chunk: dict[str, Any], choice: _Progress) -> None:
        if choice.unsent:
            chunk["choices"][0]["logprobs"] = _logprobs(self._facts, choice.unsent)
            choice.unsent = []

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


def _delta_of(piece: Piece) -> dict[str, Any]:
    """Return what a piece adds to the message."""
    if type(piece) is Content:  # PERF: nearly always
        return {"content": piece.text}
    if isinstance(piece, CallBegin):
        function = {"name": piece.name, "arguments": ""}
        head = {"index": piece.call, "id": piece.id, "type": "function"}
        return {"tool_calls": [{**head, "function": function}]}
    if isinstance(piece, Arguments):
        function = {"arguments": piece.text}
        return {"tool_calls": [{"index": piece.call, "function": function}]}
    return {"reasoning_content": piece.text}
