"""Reading and checking the event streams of ``/v1/responses``."""

from __future__ import annotations

import json
from typing import Any

__all__ = ("named_events", "sequence_of", "streamed_text")

Event = dict[str, Any]


def named_events(text: str) -> list[Event]:
    """Return the object of every event; each event is named as its object's type."""
    assert text.endswith("\n\n")
    events = []
    for block in text.split("\n\n")[:-1]:
        name, data = [line for line in block.split("\n") if not line.startswith(":")]
        value = json.loads(data.removeprefix("data: "))
        assert name == f"event: {value['type']}"
        events.append(value)
    return events


def sequence_of(events: list[Event]) -> list[str]:
    """Return the types, repeated ones once; sequence numbers must count up from 0."""
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    kinds = [event["type"].removeprefix("response.") for event in events]
    return [
        kind
        for kind, before in zip(kinds, [None, *kinds], strict=False)
        if kind != before
    ]


def streamed_text(events: list[Event]) -> str:
    return "".join(event.get("delta", "") for event in events)
