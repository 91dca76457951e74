"""Text as markers and words, so that comparing never cuts a marker in two. Pure."""

from __future__ import annotations

import re

__all__ = (
    "common_prefix",
    "common_suffix",
    "first_marker",
    "last_marker",
    "markers_in",
)

_MARKER = re.compile(r"<[^<>\s][^<>\n]{0,60}>|\[/?[A-Z][A-Z_ ]*\]")
_SEGMENT = re.compile(rf"{_MARKER.pattern}|\w+|.", re.DOTALL)


def common_prefix(*texts: str) -> str:
    """Return what all `texts` begin with, in whole markers and words."""
    split = [_SEGMENT.findall(text) for text in texts]
    count = 0
    for column in zip(*split, strict=False):
        if len(set(column)) > 1:
            break
        count += 1
    return "".join(split[0][:count])


def common_suffix(*texts: str) -> str:
    """Return what all `texts` end with, in whole markers and words."""
    split = [_SEGMENT.findall(text)[::-1] for text in texts]
    count = 0
    for column in zip(*split, strict=False):
        if len(set(column)) > 1:
            break
        count += 1
    return "".join(split[0][:count][::-1])


def markers_in(text: str) -> list[str]:
    """Return the markers in `text`, such as ``<|im_end|>``, in their order."""
    return _MARKER.findall(text)


def first_marker(text: str) -> str:
    """Return the marker that `text` begins with, besides white space; or nothing."""
    found = _MARKER.match(text.lstrip())
    return found.group() if found else ""


def last_marker(text: str) -> str:
    """Return the last marker of `text` and the word after it; or nothing."""
    begins = [found.start() for found in _MARKER.finditer(text)]
    return text[begins[-1] :].strip() if begins else ""
