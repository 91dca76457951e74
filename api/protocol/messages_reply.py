"""Replies and events of ``/v1/messages``, Anthropic's format. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from api import sse
from api.protocol.anthropic_error import anthropic_error
from api.protocol.error_reply import ErrorReply
from api.protocol.reply import Choice, ReplyFacts
from api.protocol.stream_format import StreamFormat
from llamactypes.engine.request import Delta, FinishReason, Result

__all__ = ("MessageStream", "message_reply")

_Event = dict[str, Any]


def message_reply(facts: ReplyFacts, choices: Sequence[Choice]) -> dict[str, Any]:
    """Return the ``message`` object."""
    (choice,) = choices
    result = choice.result
    content = [_text_block(choice.text)] if choice.text else []
    usage = _usage(result.n_prompt, result.n_cached, result.n_decoded)
    return _message(facts, content, _stop(facts, result), usage)


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


def _text_block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _stop(facts: ReplyFacts, result: Result) -> dict[str, str | None]:
    """Return ``stop_reason`` and ``stop_sequence``."""
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
        self._blocks = _Blocks()
        self._is_started = False

    def delta(self, index: int, delta: Delta) -> list[_Event]:
        """Return the events for one increment."""
        progress = delta.progress
        n_cached = delta.timings.cache_n if progress is None else progress.cache
        events = self._start_once(index, n_cached)
        return events + self._blocks.text(delta.text) if delta.text else events

    def finish(self, index: int, result: Result) -> list[_Event]:
        """Return the events that end the message."""
        usage = _usage(result.n_prompt, result.n_cached, result.n_decoded)
        return [
            *self._start_once(index, result.n_cached),
            *self._blocks.stop(),
            {
                "type": "message_delta",
                "delta": _stop(self._facts, result),
                "usage": usage,
            },
            {"type": "message_stop"},
        ]

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
        self._index = 0
        self._is_open = False

    def text(self, text: str) -> list[_Event]:
        """Return the events that add `text` to the block of text."""
        events = [] if self._is_open else self._start(_text_block(""))
        return [*events, self._delta({"type": "text_delta", "text": text})]

    def stop(self) -> list[_Event]:
        """Return the event that ends the open block, if there is one."""
        if not self._is_open:
            return []
        event = {"type": "content_block_stop", "index": self._index}
        self._is_open = False
        self._index += 1
        return [event]

    def _start(self, block: dict[str, str]) -> list[_Event]:
        self._is_open = True
        return [
            {
                "type": "content_block_start",
                "index": self._index,
                "content_block": block,
            }
        ]

    def _delta(self, delta: dict[str, str]) -> _Event:
        return {"type": "content_block_delta", "index": self._index, "delta": delta}
