"""Server-sent events: one JSON object per event, one line per object. Pure."""

from __future__ import annotations

from typing import Any

from api.json_loader import dumps

__all__ = ("CONTENT_TYPE", "DONE", "PING", "comment", "data_event", "named_event")

CONTENT_TYPE = "text/event-stream"

DONE = b"data: [DONE]\n\n"

PING = b":\n"
"""A comment line without a blank line of its own.

A blank line would dispatch an empty event in clients that remember an ``id:``; this
form becomes part of the next event's block and is harmless to all.
"""

# Clients that split lines with a Unicode-aware splitlines() would cut the JSON here.
_LINE_SEPARATORS = (
    ("\u2028", "\\u2028"),
    ("\u2029", "\\u2029"),
    ("\u0085", "\\u0085"),
)


def data_event(value: Any) -> bytes:
    """Return ``data: <json>`` and the blank line that ends the event."""
    return f"data: {_one_line(value)}\n\n".encode("utf-8", "replace")


def comment(value: Any) -> bytes:
    """Return a line that no client takes for an event, see `PING`."""
    return f": {_one_line(value)}\n".encode("utf-8", "replace")


def named_event(name: str, value: Any) -> bytes:
    """Return an event whose first line is ``event: <name>``.

    Args:
        name: Without line breaks.
        value: The object of its ``data:`` line.
    """
    event = f"event: {name}\ndata: {_one_line(value)}\n\n"
    return event.encode("utf-8", "replace")


def _one_line(value: Any) -> str:
    text = dumps(value)
    for separator, escape in _LINE_SEPARATORS:
        if separator in text:
            text = text.replace(separator, escape)
    return text
