"""Objects from the JSON text that a limit cut off. Pure."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from typing import Any

__all__ = ("read_arguments",)

_CLOSERS = {"{": "}", "[": "]"}
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_STRING_OR_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]', re.DOTALL)
_N_TRIES = 8


def read_arguments(text: str) -> Any:
    """Return the value of a call's arguments; of text that was cut, what is whole.

    A string that was cut keeps its beginning; a key without a value is left out.
    """
    for attempt in (text, *_completions(text)):
        try:
            return json.loads(attempt)
        except (ValueError, RecursionError):
            continue
    return {}


def _completions(text: str) -> Iterator[str]:
    """Yield `text` up to where a value ends, with what closes it; longest first."""
    open_closers: list[str] = []
    ends: deque[tuple[int, str]] = deque(maxlen=_N_TRIES)
    at = 0
    for match in _STRING_OR_MARK.finditer(text):
        mark, at = match.group(), match.end()
        if mark in _CLOSERS:
            open_closers.append(_CLOSERS[mark])
        elif mark in "}]" and open_closers:
            open_closers.pop()
        end = match.start() if mark == "," else at
        ends.append((end, "".join(reversed(open_closers))))
    closing = "".join(reversed(open_closers))
    quote = text.find('"', at)
    if quote >= 0:
        yield _CUT_ESCAPE.sub("", text) + '"' + closing
    else:
        yield text + closing
    for end, closers in reversed(ends):
        yield text[:end] + closers
