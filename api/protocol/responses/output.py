"""The items that a response's answer becomes, and the events that tell of them. Pure.

One item is open at a time: it ends before the next one begins.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from api.protocol.reading import unique_id
from api.protocol.responses.items import Item
from llamactypes.chat.output.pieces import (
    CallBegin,
    Content,
    Piece,
    Reasoning,
)

__all__ = ("CALL_ID", "Event", "ResponseOutput")

Event = dict[str, Any]
Logprobs = list[dict[str, Any]]

CALL_ID = "call_"
"""Begins the ids of calls that the model gave none."""


class _OpenItem(ABC):
    """One item, growing."""

    prefix: ClassVar[str]
    """Of its id."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.id = unique_id(self.prefix)
        self.texts: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def opening(self) -> list[Event]:
        """Return what tells of the new item."""
        added = {"type": "response.output_item.added", "output_index": self.index}
        return [{**added, "item": self.item("in_progress")}]

    @abstractmethod
    def add(self, text: str, logprobs: Logprobs) -> Event:
        """Take in more text."""

    def closing(self, status: str) -> list[Event]:
        """Return what tells that the item is whole, or will not become it."""
        done = {"type": "response.output_item.done", "output_index": self.index}
        return [{**done, "item": self.item(status)}]

    @abstractmethod
    def item(self, status: str) -> Item:
        """Return the item as it is now."""

    def _event(self, kind: str, **more: Any) -> Event:
        ids = {"item_id": self.id, "output_index": self.index}
        return {"type": kind, **ids, **more}


class _Part(_OpenItem):
    """An item with one part of text."""

    def opening(self) -> list[Event]:
        part = self._part_event("response.content_part.added", part=self.part())
        return [*super().opening(), part]

    def closing(self, status: str) -> list[Event]:
        part = self._part_event("response.content_part.done", part=self.part())
        return [self.text_done(), part, *super().closing(status)]

    @abstractmethod
    def part(self) -> Item:
        """Return the part as it is now."""

    @abstractmethod
    def text_done(self) -> Event:
        """Return the event with the whole text."""

    def _part_event(self, kind: str, **more: Any) -> Event:
        return self._event(kind, content_index=0, **more)


class _Message(_Part):
    prefix = "msg_"

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.logprobs: Logprobs = []

    def add(self, text: str, logprobs: Logprobs) -> Event:
        self.texts.append(text)
        self.logprobs += logprobs
        kind = "response.output_text.delta"
        return self._part_event(kind, delta=text, logprobs=logprobs)

    def text_done(self) -> Event:
        kind = "response.output_text.done"
        return self._part_event(kind, text=self.text, logprobs=list(self.logprobs))

    def part(self) -> Item:
        return {
            "type": "output_text",
            "text": self.text,
            "annotations": [],
            "logprobs": list(self.logprobs),
        }

    def item(self, status: str) -> Item:
        content = [] if status == "in_progress" and not self.texts else [self.part()]
        head = {"id": self.id, "type": "message", "status": status}
        return {**head, "role": "assistant", "content": content}


class _Thinking(_Part):
    prefix = "rs_"

    def add(self, text: str, logprobs: Logprobs) -> Event:
        self.texts.append(text)
        return self._part_event("response.reasoning_text.delta", delta=text)

    def text_done(self) -> Event:
        return self._part_event("response.reasoning_text.done", text=self.text)

    def part(self) -> Item:
        return {"type": "reasoning_text", "text": self.text}

    def item(self, status: str) -> Item:
        content = [] if status == "in_progress" and not self.texts else [self.part()]
        head = {"id": self.id, "type": "reasoning", "status": status}
        return {**head, "summary": [], "content": content}


class _Call(_OpenItem):
    prefix = "fc_"

    def __init__(self, index: int, begin: CallBegin) -> None:
        super().__init__(index)
        self._begin = begin

    def add(self, text: str, logprobs: Logprobs) -> Event:
        self.texts.append(text)
        return self._event("response.function_call_arguments.delta", delta=text)

    def closing(self, status: str) -> list[Event]:
        kind = "response.function_call_arguments.done"
        done = self._event(kind, name=self._begin.name, arguments=self.text)
        return [done, *super().closing(status)]

    def item(self, status: str) -> Item:
        return {
            "id": self.id,
            "type": "function_call",
            "status": status,
            "call_id": self._begin.id,
            "name": self._begin.name,
            "arguments": self.text,
        }


class ResponseOutput:
    """The items of one response. One thread at a time."""

    def __init__(self) -> None:
        self._closed: list[Item] = []
        self._open: _OpenItem | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is no item."""
        return self._open is None and not self._closed

    def items(self) -> list[Item]:
        """Return the items made so far."""
        growing = [] if self._open is None else [self._open.item("in_progress")]
        return [*self._closed, *growing]

    def add(self, pieces: Sequence[Piece], logprobs: Logprobs) -> list[Event]:
        """Take in pieces; the logprobs are those of their tokens."""
        events: list[Event] = []
        for number, piece in enumerate(pieces, start=1):
            if isinstance(piece, CallBegin):
                events += self._begin(_Call(self._n_items, piece))
                continue
            events += self._opening_for(piece)
            if self._open is not None:
                shown = logprobs if number == len(pieces) else []
                events.append(self._open.add(piece.text, shown))
        return events

    def add_message(self) -> list[Event]:
        """Begin an empty message: an answer that says nothing."""
        return self._begin(_Message(self._n_items))

    def close(self, status: str) -> list[Event]:
        """End the open item, if there is one, as ``completed`` or ``incomplete``."""
        if self._open is None:
            return []
        item, self._open = self._open, None
        self._closed.append(item.item(status))
        return item.closing(status)

    @property
    def _n_items(self) -> int:
        return len(self._closed) + (self._open is not None)

    def _opening_for(self, piece: Piece) -> list[Event]:
        if isinstance(piece, Content) and not isinstance(self._open, _Message):
            return self.add_message()
        if isinstance(piece, Reasoning) and not isinstance(self._open, _Thinking):
            return self._begin(_Thinking(self._n_items))
        return []

    def _begin(self, item: _OpenItem) -> list[Event]:
        events = self.close("completed")
        self._open = item
        return [*events, *item.opening()]
