"""The response object and the events that tell of its making. Pure.

A `ResponseWriter` follows one generation from its creation to its end. Every event has
the next ``sequence_number``, so that any of them can be asked for again.

    queued ──► in_progress ──► completed · incomplete · failed · cancelled
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from api.protocol.error_reply import ErrorReply
from api.protocol.logprobs import native_probs
from api.protocol.native import progress_object
from api.protocol.options import CompletionOptions
from api.protocol.reply import ReplyFacts, unique_id
from api.protocol.responses_items import Item
from llamactypes.engine.request import Delta, FinishReason, Result, TokenProbs

__all__ = ("ENDED", "Event", "ResponseWriter")

Event = dict[str, Any]

ENDED = frozenset({"completed", "incomplete", "failed", "cancelled"})
"""The states of a response that changes no more."""

_LAST_EVENT = {
    "completed": "response.completed",
    "incomplete": "response.incomplete",
    "failed": "response.failed",
    # OpenAI has no event for this; the response in it says what happened.
    "cancelled": "response.incomplete",
}


@dataclass(slots=True)
class _Message:
    """The one item of the output."""

    id: str
    texts: list[str] = field(default_factory=list)
    logprobs: list[dict[str, Any]] = field(default_factory=list)

    def part(self) -> Item:
        return {
            "type": "output_text",
            "text": "".join(self.texts),
            "annotations": [],
            "logprobs": list(self.logprobs),
        }

    def item(self, status: str) -> Item:
        return {**self.empty_item(), "status": status, "content": [self.part()]}

    def empty_item(self) -> Item:
        return {
            "id": self.id,
            "type": "message",
            "status": "in_progress",
            "role": "assistant",
            "content": [],
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
        self._message: _Message | None = None
        self._held: list[TokenProbs] = []
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
        if self._message is None:
            return []
        done = "completed" if self.status == "completed" else "incomplete"
        return [self._message.item(done if self.is_ended else "in_progress")]

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
        if not delta.text:
            return events
        message, opening = self._open()
        logprobs = self._logprobs()
        message.texts.append(delta.text)
        message.logprobs += logprobs
        event = self._part_event("response.output_text.delta", message)
        event |= {"delta": delta.text, "logprobs": logprobs}
        if self._facts.options.timings_per_token:
            event["timings"] = delta.timings.as_dict()
        return [*events, *opening, self._numbered(event)]

    def finish(self, result: Result) -> list[Event]:
        """End as the generation ended by itself."""
        events = self.begin()
        _, opening = self._open()
        is_cut = result.finish is FinishReason.LENGTH
        self._usage = _usage(result)
        events += opening + self._end("incomplete" if is_cut else "completed")
        events[-1]["timings"] = result.timings.as_dict()
        return events

    def fail(self, reply: ErrorReply) -> list[Event]:
        """End with an error; what was written so far stays."""
        code = "rate_limit_exceeded" if reply.status == 429 else "server_error"
        self._error = {"code": code, "message": reply.message}
        return self._end("failed")

    def cancel(self, result: Result | None = None) -> list[Event]:
        """End because somebody wished it."""
        self._usage = None if result is None else _usage(result)
        return self._end("cancelled")

    # -- events ------------------------------------------------------------------------

    def _open(self) -> tuple[_Message, list[Event]]:
        """Return the output's message, and what tells of it when it is new."""
        if self._message is not None:
            return self._message, []
        message = self._message = _Message(unique_id("msg_"))
        added = {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": message.empty_item(),
        }
        part = self._part_event("response.content_part.added", message)
        part["part"] = message.part()
        return message, [self._numbered(added), self._numbered(part)]

    def _end(self, status: str) -> list[Event]:
        """Close what is open and take the last state."""
        self.status = status
        if status == "completed":
            self._completed_at = int(time.time())
        events = self._close() if self._message is not None else []
        last = self._lifecycle(_LAST_EVENT[status])
        # It may be kept for long: without the prompt and all that led here.
        self._final, self._message, self._held = last["response"], None, []
        small = CompletionOptions()
        self._facts = replace(self._facts, options=small, prompts=(), echoes=())
        return [*events, last]

    def _close(self) -> list[Event]:
        message = self._message
        assert message is not None
        part = message.part()
        text = self._part_event("response.output_text.done", message)
        text |= {"text": part["text"], "logprobs": part["logprobs"]}
        closed = self._part_event("response.content_part.done", message)
        closed["part"] = part
        done = {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": self.output[0],
        }
        return [self._numbered(event) for event in (text, closed, done)]

    def _part_event(self, kind: str, message: _Message) -> Event:
        ids = {"item_id": message.id, "output_index": 0, "content_index": 0}
        return {"type": kind, **ids}

    def _progress(self, delta: Delta) -> Event:
        # llama-server's; OpenAI's clients see that the response is in progress.
        event = self._lifecycle("response.in_progress")
        event["prompt_progress"] = progress_object(delta)
        if self._facts.options.timings_per_token:
            event["timings"] = delta.timings.as_dict()
        return event

    def _lifecycle(self, kind: str) -> Event:
        return self._numbered({"type": kind, "response": self.response()})

    def _numbered(self, event: Event) -> Event:
        event["sequence_number"] = self._n_events
        self._n_events += 1
        return event

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


def _usage(result: Result) -> dict[str, Any]:
    return {
        "input_tokens": result.n_prompt,
        "input_tokens_details": {
            "cached_tokens": result.n_cached,
            "cache_write_tokens": 0,
        },
        "output_tokens": result.n_decoded,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": result.n_prompt + result.n_decoded,
    }
