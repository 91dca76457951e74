"""The response object and the events that tell of its making. Pure.

A `ResponseWriter` follows one generation from its creation to its end. Every event has
the next ``sequence_number``, so that any of them can be asked for again.

    queued ──► in_progress ──► completed · incomplete · failed · cancelled
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from api.protocol.completion.native import progress_object
from api.protocol.error_reply import ErrorReply
from api.protocol.logprobs import native_probs
from api.protocol.options import CompletionOptions
from api.protocol.reading import PLAIN, PieceReader
from api.protocol.reply import ReplyFacts
from api.protocol.responses.items import Item
from api.protocol.responses.output import CALL_ID, Event, ResponseOutput
from llamactypes.chat.output.pieces import Piece, Reasoning
from llamactypes.engine.request import Delta, FinishReason, Result, TokenProbs

__all__ = ("ENDED", "Event", "ResponseWriter")

ENDED = frozenset({"completed", "incomplete", "failed", "cancelled"})
"""The states of a response that changes no more."""

_LAST_EVENT = {
    "completed": "response.completed",
    "incomplete": "response.incomplete",
    "failed": "response.failed",
    # OpenAI has no event for this; the response in it says what happened.
    "cancelled": "response.incomplete",
}


class ResponseWriter:
    """One response, from its creation to its end. One thread at a time.

    `create`, then `begin`, then `add` for each delta, then one of `finish`, `fail` and
    `cancel`; each returns the events it causes.
    """

    def __init__(self, facts: ReplyFacts, shown: Mapping[str, Any]) -> None:
        """Create a response: a background one is ``queued`` until a slot is free.

        Args:
            facts: The request; its ``n_top_shown`` of None means no logprobs.
            shown: Fields of the request that the response repeats.
        """
        self._facts = facts
        self._shown = shown
        self._output = ResponseOutput()
        self._reader: PieceReader | None = facts.reading.reader(CALL_ID)
        self._held: list[TokenProbs] = []
        self._n_thinking = 0
        self._n_unsaid = 0
        """Tokens since the last piece."""
        self._n_events = 0
        self._has_begun = False
        self._usage: dict[str, Any] | None = None
        self._error: dict[str, Any] | None = None
        self._completed_at: int | None = None
        self._final: dict[str, Any] | None = None
        self.status = "queued" if shown.get("background") else "in_progress"

    @property
    def id(self) -> str:
        """The response's id."""
        return self._facts.id

    @property
    def is_ended(self) -> bool:
        """Whether nothing changes any more."""
        return self.status in ENDED

    @property
    def output(self) -> list[Item]:
        """The items made so far."""
        if self._final is not None:
            items: list[Item] = self._final["output"]
            return items
        return self._output.items()

    def response(self) -> dict[str, Any]:
        """Return the response object as it is now."""
        return self._final or self._response()

    def _response(self) -> dict[str, Any]:
        sampling = self._facts.options.sampling
        return {
            "id": self.id,
            "object": "response",
            "created_at": self._facts.created,
            "status": self.status,
            "completed_at": self._completed_at,
            "error": self._error,
            "incomplete_details": self._incomplete_details(),
            "model": self._facts.model,
            "output": self.output,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "presence_penalty": sampling.presence_penalty,
            "frequency_penalty": sampling.frequency_penalty,
            "text": {"format": {"type": "text"}},
            "usage": self._usage,
            **self._shown,
        }

    # -- its life ----------------------------------------------------------------------

    def create(self) -> list[Event]:
        """Tell that there is a response; a background one may wait for a slot."""
        events = [self._lifecycle("response.created")]
        if self.status == "queued":
            events.append(self._lifecycle("response.queued"))
        return events

    def begin(self) -> list[Event]:
        """Tell that a slot works on it."""
        if self._has_begun:
            return []
        self._has_begun = True
        self.status = "in_progress"
        return [self._lifecycle("response.in_progress")]

    def add(self, delta: Delta) -> list[Event]:
        """Take in one increment."""
        events = self.begin()
        if delta.progress is not None:
            return [*events, self._progress(delta)]
        self._held += delta.probs
        if not delta.text or self._reader is None:
            return events
        pieces = self._reader.feed(delta.text)
        self._count_thinking(len(delta.tokens), pieces)
        added = self._add(pieces)
        if added and self._facts.options.timings_per_token:
            added[-1]["timings"] = delta.timings.as_dict()
        return [*events, *added]

    def finish(self, result: Result) -> list[Event]:
        """End as the generation ended by itself."""
        events = self.begin() + self._flush()
        if self._output.is_empty:
            events += self._numbered(self._output.add_message())
        is_cut = result.finish is FinishReason.LENGTH
        self._usage = _usage(result, self._n_thinking)
        events += self._end("incomplete" if is_cut else "completed")
        events[-1]["timings"] = result.timings.as_dict()
        return events

    def fail(self, reply: ErrorReply) -> list[Event]:
        """End with an error; what was written so far stays."""
        code = "rate_limit_exceeded" if reply.status == 429 else "server_error"
        self._error = {"code": code, "message": reply.message}
        return self._end("failed")

    def cancel(self, result: Result | None = None) -> list[Event]:
        """End because somebody wished it."""
        self._usage = None if result is None else _usage(result, self._n_thinking)
        return self._end("cancelled")

    # -- events ------------------------------------------------------------------------

    def _add(self, pieces: Sequence[Piece]) -> list[Event]:
        if not pieces:
            return []
        return self._numbered(self._output.add(pieces, self._logprobs()))

    def _count_thinking(self, n_tokens: int, pieces: Sequence[Piece]) -> None:
        """Count tokens as thinking when more of it comes with them, or after them."""
        self._n_unsaid += n_tokens
        if any(isinstance(piece, Reasoning) for piece in pieces):
            self._n_thinking += self._n_unsaid
        if pieces:
            self._n_unsaid = 0

    def _flush(self) -> list[Event]:
        """Take in what the reader held back: no more text comes."""
        reader, self._reader = self._reader, None
        return [] if reader is None else self._add(reader.finish())

    def _end(self, status: str) -> list[Event]:
        """Close what is open and take the last state."""
        self.status = status
        if status == "completed":
            self._completed_at = int(time.time())
        events = self._flush()
        done = "completed" if status == "completed" else "incomplete"
        events += self._numbered(self._output.close(done))
        last = self._lifecycle(_LAST_EVENT[status])
        # It may be kept for long: without the prompt and all that led here.
        self._final, self._output, self._held = last["response"], ResponseOutput(), []
        small = CompletionOptions()
        self._facts = replace(
            self._facts, options=small, prompts=(), echoes=(), reading=PLAIN
        )
        return [*events, last]

    def _progress(self, delta: Delta) -> Event:
        # llama-server's; OpenAI's clients see that the response is in progress.
        event = self._lifecycle("response.in_progress")
        event["prompt_progress"] = progress_object(delta)
        if self._facts.options.timings_per_token:
            event["timings"] = delta.timings.as_dict()
        return event

    def _lifecycle(self, kind: str) -> Event:
        (event,) = self._numbered([{"type": kind, "response": self.response()}])
        return event

    def _numbered(self, events: list[Event]) -> list[Event]:
        for number, event in enumerate(events, start=self._n_events):
            event["sequence_number"] = number
        self._n_events += len(events)
        return events

    def _logprobs(self) -> list[dict[str, Any]]:
        """Return those of the tokens that have become text."""
        held, self._held = self._held, []
        n_top = self._facts.n_top_shown
        if n_top is None:
            return []
        is_prob = self._facts.options.post_sampling_probs
        return native_probs(held, is_prob=is_prob, n_top=n_top)

    def _incomplete_details(self) -> dict[str, str] | None:
        if self.status != "incomplete":
            return None
        return {"reason": "max_output_tokens"}


def _usage(result: Result, n_thinking: int) -> dict[str, Any]:
    return {
        "input_tokens": result.n_prompt,
        "input_tokens_details": {
            "cached_tokens": result.n_cached,
            "cache_write_tokens": 0,
        },
        "output_tokens": result.n_decoded,
        "output_tokens_details": {"reasoning_tokens": n_thinking},
        "total_tokens": result.n_prompt + result.n_decoded,
    }
