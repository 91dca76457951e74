"""Sets of characters as ranges of code points. Pure."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ("Ranges", "complement", "is_text", "text_ranges", "union")

Ranges = tuple[tuple[int, int], ...]

_FIRST, _LAST = 1, 0x10FFFF
_SURROGATES = ((0xD800, 0xDFFF),)


def union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return the ranges, sorted and joined; those out of order hold nothing."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if low > high:
            continue
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)


def complement(ranges: Ranges) -> Ranges:
    """Return every other character that a text may hold."""
    found: list[tuple[int, int]] = []
    following = _FIRST
    for low, high in union((*ranges, *_SURROGATES)):
        if low > following:
            found.append((following, low - 1))
        following = max(following, high + 1)
    if following <= _LAST:
        found.append((following, _LAST))
    return tuple(found)


def text_ranges(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return the ranges, sorted and joined, without what no text holds."""
    return complement(complement(tuple(ranges)))


def is_text(code: int) -> bool:
    """Return whether a text may hold a character."""
    return _FIRST <= code <= _LAST and not 0xD800 <= code <= 0xDFFF
