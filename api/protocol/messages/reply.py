"""Replies and events of ``/v1/messages``, Anthropic's format. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from api import sse
from api.protocol.error_reply import ErrorReply
from api.protocol.messages.error import anthropic_error
from api.protocol.partial_json import read_arguments
from api.protocol.reading import Block
from api.protocol.reply import Choice, ReplyFacts
from api.protocol.stream_format import StreamFormat
from llamactypes.chat.output.pieces import (
    Arguments,
    CallBegin,
    Content,
    Piece,
    Reasoning,
)
from llamactypes.engine.request import Delta, FinishReason, Result

__all__ = ("MessageStream", "message_reply")

_Event = dict[str, Any]

_CALL_ID = "toolu_"


def message_reply(facts: ReplyFacts, choices: Sequence[Choice]) -> dict[str, Any]:
    """Return the ``message`` object."""
    (choice,) = choices
    result = choice.result
    said = facts.reading.read(choice.text, _CALL_ID)
    content = [_block(block) for block in said.blocks]
    usage = _usage(result.n_prompt, result.n_cached, result.n_decoded)
    stop = _stop(facts, result, has_calls=bool(said.calls))
    return _message(facts, content, stop, usage)


def _message(
    facts: ReplyFacts,
    content: list[dict[str, Any]],
    stop: dict[str, Any],
    usage: dict[str, int],
) -> dict[str, Any]:
    return {
        "id": facts.id,
        "type": "message",
        "role": "assistant",
        "model": facts.model,
        "content": content,
        **stop,
        "usage": usage,
    }


def _block(block: Block) -> dict[str, Any]:
    if block.kind is CallBegin:
        arguments = read_arguments(block.text)
        return _tool_block(block.id, block.name, arguments)
    return _thinking(block.text) if block.kind is Reasoning else _text(block.text)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _thinking(text: str) -> dict[str, Any]:
    # The signature lets Anthropic trust what comes back; here nothing depends on it.
    return {"type": "thinking", "thinking": text, "signature": ""}


def _tool_block(id: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def _stop(
    facts: ReplyFacts, result: Result, *, has_calls: bool
) -> dict[str, str | None]:
    """Return ``stop_reason`` and ``stop_sequence``."""
    is_ended = result.finish in (FinishReason.STOP_EOS, FinishReason.STOP_WORD)
    if has_calls and is_ended:
        return {"stop_reason": "tool_use", "stop_sequence": None}
    match result.finish:
        case FinishReason.STOP_WORD:
            reason = "stop_sequence"
        case FinishReason.STOP_EOS:
            reason = "end_turn"
        case _:
            is_whole = result.n_decoded >= facts.options.n_predict
            reason = "max_tokens" if is_whole else "model_context_window_exceeded"
    return {"stop_reason": reason, "stop_sequence": result.stopping_word or None}


def _usage(n_prompt: int, n_cached: int, n_decoded: int) -> dict[str, int]:
    """Return the counts: Anthropic leaves cached tokens out of ``input_tokens``."""
    return {
        "input_tokens": n_prompt - n_cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": n_cached,
        "output_tokens": n_decoded,
    }


class MessageStream(StreamFormat):
    """Formats the events of one message. One reader's thread.

    ``message_start``, each content block's start, deltas and stop, ``message_delta``,
    ``message_stop``; every event is named by its object's ``type``.
    """

    ping = sse.named_event("ping", {"type": "ping"})

    def __init__(self, facts: ReplyFacts, request_id: str) -> None:
        self._facts = facts
        self._request_id = request_id
        self._reader = facts.reading.reader(_CALL_ID)
        self._blocks = _Blocks()
        self._is_started = False

    def delta(self, index: int, delta: Delta) -> list[_Event]:
        """Return the events for one increment."""
        progress = delta.progress
        n_cached = delta.timings.cache_n if progress is None else progress.cache
        events = self._start_once(index, n_cached)
        return events + self._blocks.add(self._reader.feed(delta.text))

    def finish(self, index: int, result: Result) -> list[_Event]:
        """Return the events that end the message."""
        usage = _usage(result.n_prompt, result.n_cached, result.n_decoded)
        events = self._start_once(index, result.n_cached)
        events += self._blocks.add(self._reader.finish())
        events += self._blocks.stop()
        stop = _stop(self._facts, result, has_calls=self._blocks.has_calls)
        return [
            *events,
            {"type": "message_delta", "delta": stop, "usage": usage},
            {"type": "message_stop"},
        ]

    def held(self) -> list[_Event]:
        """Return the events of what could have become a call or a tag."""
        if not self._is_started:
            return []
        return self._blocks.add(self._reader.finish())

    def encode(self, value: _Event) -> bytes:
        """Return the event of one object, with its name."""
        return sse.named_event(value["type"], value)

    def failure(self, reply: ErrorReply) -> list[_Event]:
        """Return the event ``error``."""
        return [anthropic_error(reply, self._request_id)]

    def _start_once(self, index: int, n_cached: int) -> list[_Event]:
        if self._is_started:
            return []
        self._is_started = True
        stop = {"stop_reason": None, "stop_sequence": None}
        usage = _usage(self._facts.n_prompt(index), n_cached, 0)
        message = _message(self._facts, [], stop, usage)
        return [{"type": "message_start", "message": message}]


class _Blocks:
    """The content blocks of a message, in order: one stops before the next starts."""

    def __init__(self) -> None:
        self.has_calls = False
        self._index = -1
        self._open: type[Piece] | None = None

    def add(self, pieces: Sequence[Piece]) -> list[_Event]:
        """Return the events for more of the message."""
        return [event for piece in pieces for event in self._added(piece)]

    def stop(self) -> list[_Event]:
        """Return the events that end the open block, if there is one."""
        if self._open is None:
            return []
        events = []
        if self._open is Reasoning:
            events.append(self._delta({"type": "signature_delta", "signature": ""}))
        self._open = None
        return [*events, {"type": "content_block_stop", "index": self._index}]

    def _added(self, piece: Piece) -> list[_Event]:
        if isinstance(piece, CallBegin):
            self.has_calls = True
            return self._start(CallBegin, _tool_block(piece.id, piece.name, {}))
        if isinstance(piece, Arguments):
            delta = {"type": "input_json_delta", "partial_json": piece.text}
            return [self._delta(delta)]
        if isinstance(piece, Reasoning):
            opening = self._unless_open(Reasoning, _thinking(""))
            delta = {"type": "thinking_delta", "thinking": piece.text}
        else:
            opening = self._unless_open(Content, _text(""))
            delta = {"type": "text_delta", "text": piece.text}
        return [*opening, self._delta(delta)]

    def _unless_open(self, kind: type[Piece], block: dict[str, Any]) -> list[_Event]:
        return [] if self._open is kind else self._start(kind, block)

    def _start(self, kind: type[Piece], block: dict[str, Any]) -> list[_Event]:
        events = self.stop()
        self._open = kind
        self._index += 1
        start = {"type": "content_block_start", "index": self._index}
        return [*events, {**start, "content_block": block}]

    def _delta(self, delta: dict[str, str]) -> _Event:
        return {"type": "content_block_delta", "index": self._index, "delta": delta}
