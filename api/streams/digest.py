"""What the events said that a stream's buffer had to drop. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from api import sse
from api.streams.increments import CallPart, TextPart, parts_of
from api.streams.ring import ByteRing

__all__ = ("Digest",)

_BREAK = b"\n\n"
_DATA = b"data: "
_TEXT = "content", "reasoning_content"


class Digest:
    """What a reader gets for bytes that are gone: all that was said, as one event.

    0 ─── dropped ─── first ▓▓▓ held ▓▓▓ end
    └─ text of whole events ─┴─ the rest of an event that was cut
    """

    def __init__(self, capacity: int) -> None:
        """Create an empty one that holds `capacity` bytes of each text, the newest."""
        self._capacity = capacity
        self._texts: dict[tuple[int, str], ByteRing] = {}
        """By choice, and field or number of a tool call."""
        self._calls: dict[tuple[int, str], dict[str, str]] = {}
        """What tool calls are called, in the order they began."""
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
        indices = {index for index, _ in (*self._texts, *self._calls)}
        value = {
            "object": "stream.snapshot",
            "offset": offset,
            "truncated": any(text.first for text in self._texts.values()),
            "choices": [
                {"index": index, **self._choice(index)} for index in sorted(indices)
            ],
        }
        event = sse.named_event("snapshot", value).removesuffix(_BREAK)
        return b"%b\nid: %d\n\n" % (event, offset)

    def state(self) -> dict[str, Any]:
        """Return all of it as a JSON value, for `restored`."""
        return {
            "texts": [
                [index, name, ring.first, ring.read(ring.first, len(ring)).hex()]
                for (index, name), ring in self._texts.items()
            ],
            "calls": [[*key, names] for key, names in self._calls.items()],
            "cut": self._cut.hex(),
        }

    @staticmethod
    def restored(capacity: int, state: Mapping[str, Any]) -> Digest:
        """Return what `state` came from."""
        digest = Digest(capacity)
        for index, name, first, held in state["texts"]:
            ring = digest._texts[index, name] = ByteRing(capacity, first)
            ring.append(bytes.fromhex(held))
        for index, key, names in state["calls"]:
            digest._calls[index, key] = dict(names)
        digest._cut += bytes.fromhex(state["cut"])
        return digest

    def _choice(self, index: int) -> dict[str, Any]:
        found: dict[str, Any] = {
            name: self._text(index, name)
            for name in _TEXT
            if (index, name) in self._texts
        }
        keys = [key for each, key in self._calls if each == index]
        if keys:
            found["tool_calls"] = [
                self._call(index, key, number) for number, key in enumerate(keys)
            ]
        return found

    def _call(self, index: int, key: str, number: int) -> dict[str, Any]:
        names = self._calls[index, key]
        function = {"name": names["name"], "arguments": self._text(index, key)}
        kind = {"type": "function", "function": function}
        return {"index": number, "id": names["id"], **kind}

    def _text(self, index: int, name: str) -> str:
        ring = self._texts.get((index, name))
        if ring is None:
            return ""
        return ring.read(ring.first, len(ring)).decode("utf-8", "ignore")

    def _add(self, line: bytes) -> None:
        try:
            value = json.loads(line)
        except ValueError:  # [DONE], or what a client's own words made of it
            return
        for part in _parts(value):
            if isinstance(part, TextPart):
                self._append(part.choice, part.field, part.text)
                continue
            names = self._calls.setdefault(
                (part.choice, part.key), {"id": "", "name": ""}
            )
            names["id"] = names["id"] or part.id
            names["name"] += part.name
            self._append(part.choice, part.key, part.arguments)

    def _append(self, choice: int, name: str, text: str) -> None:
        if text:
            ring = self._texts.setdefault((choice, name), ByteRing(self._capacity))
            ring.append(text.encode("utf-8", "replace"))


def _parts(value: Any) -> Iterator[TextPart | CallPart]:
    """Yield what one event adds; nothing of what has another shape."""
    if isinstance(value, dict):
        yield from parts_of(value)
