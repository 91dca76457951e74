"""The text of the events that a stream's buffer had to drop. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from api import sse
from api.streams.ring import ByteRing

__all__ = ("Digest",)

_BREAK = b"\n\n"
_DATA = b"data: "
_FIELDS = (
    ("content", "content"),
    ("text", "content"),
    ("reasoning_content", "reasoning_content"),
    ("thinking", "reasoning_content"),
)
"""What increments are called by the routes, and in a snapshot."""


class Digest:
    """What a reader gets for bytes that are gone: all text in them, as one event.

    0 ─── dropped ─── first ▓▓▓ held ▓▓▓ end
    └─ text of whole events ─┴─ the rest of an event that was cut
    """

    def __init__(self, capacity: int) -> None:
        """Create an empty one that holds `capacity` bytes of each text, the newest."""
        self._capacity = capacity
        self._texts: dict[tuple[int, str], ByteRing] = {}
        self._cut = bytearray()

    def __len__(self) -> int:
        return len(self._cut) + sum(map(len, self._texts.values()))

    @property
    def cut(self) -> bytes:
        """The dropped beginning of an event whose end is still held."""
        return bytes(self._cut)

    def take(self, dropped: bytes) -> None:
        """Take in the bytes that were dropped next."""
        self._cut += dropped
        end = self._cut.rfind(_BREAK)
        if end < 0:
            return
        events = bytes(self._cut[:end])
        del self._cut[: end + len(_BREAK)]
        for event in events.split(_BREAK):
            for line in event.split(b"\n"):
                if line.startswith(_DATA):
                    self._add(line.removeprefix(_DATA))

    def event(self, offset: int) -> bytes:
        """Return the snapshot; `offset`: of the first event that is not in it."""
        value = {
            "object": "stream.snapshot",
            "offset": offset,
            "truncated": any(text.first for text in self._texts.values()),
            "choices": [
                {"index": index, **self._choice(index)}
                for index in sorted({index for index, _ in self._texts})
            ],
        }
        event = sse.named_event("snapshot", value).removesuffix(_BREAK)
        return b"%b\nid: %d\n\n" % (event, offset)

    def _choice(self, index: int) -> dict[str, str]:
        return {
            field: text.read(text.first, len(text)).decode("utf-8", "ignore")
            for (each, field), text in self._texts.items()
            if each == index
        }

    def _add(self, line: bytes) -> None:
        try:
            value = json.loads(line)
        except ValueError:  # [DONE], or what a client's own words made of it
            return
        for index, field, text in _increments(value):
            ring = self._texts.setdefault((index, field), ByteRing(self._capacity))
            ring.append(text.encode("utf-8", "replace"))


def _increments(value: Any) -> Iterator[tuple[int, str, str]]:
    """Yield choice, field and text of what one event adds, on any route."""
    if not isinstance(value, dict):
        return
    for choice in value.get("choices") or (value,):
        index = choice.get("index") if "choices" in value or "stop" in value else 0
        delta = choice.get("delta", choice)
        if isinstance(delta, str):
            is_text = value.get("type") == "response.output_text.delta"
            delta = {"content": delta} if is_text else {}
        for name, field in _FIELDS:
            text = delta.get(name)
            if isinstance(text, str) and text:
                yield index or 0, field, text
