"""An exception in one line: what and where, but no values.

A traceback shows source lines and the exception's own words, and these may hold what a
client wrote: full ones are for those who ask for everything (-v, -lv 5).
"""

from __future__ import annotations

import traceback
from pathlib import PurePath
from types import TracebackType

__all__ = ("brief_trace",)

_FRAMES = 6
"""Innermost calls that are named."""


def brief_trace(error: BaseException | None) -> str:
    """Return ``KeyError in body.py:33 read < text.py:80 on_post``, causes included."""
    parts: list[str] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        parts.append(f"{type(error).__name__} in {_places(error.__traceback__)}")
        hidden = error.__suppress_context__
        error = error.__cause__ or (None if hidden else error.__context__)
    return ", after ".join(parts)


def _places(trace: TracebackType | None) -> str:
    frames = traceback.extract_tb(trace)
    if not frames:
        return "no known place"
    inner = list(reversed(frames))[:_FRAMES]
    places = [f"{_file(each.filename)}:{each.lineno} {each.name}" for each in inner]
    rest = len(frames) - len(inner)
    return " < ".join(places) + (f" < {rest} more" if rest > 0 else "")


def _file(name: str) -> str:
    """Return folder and name: where it is installed is nobody's business."""
    return "/".join(PurePath(name).parts[-2:])
