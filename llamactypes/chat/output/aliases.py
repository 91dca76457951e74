"""Puts one spelling in the place of all that a model may write for the same. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ("AliasFilter",)


class AliasFilter:
    """Replaces texts in a stream; what comes out does not depend on the cuts.

    Where several could be replaced, the longest is.
    """

    __slots__ = ("_held", "_names", "_pattern", "_replacements")

    def __init__(self, aliases: Sequence[tuple[str, str]]) -> None:
        """Prepare for `aliases`: (what is written, what it stands for)."""
        self._replacements = dict(aliases)
        self._names = sorted(self._replacements, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._names)) or r"(?!)")
        self._held = ""

    def feed(self, text: str) -> str:
        """Return what is clear of the text so far and was not returned yet."""
        return self._replaced(self._held + text, is_final=False)

    def finish(self) -> str:
        """Return the rest."""
        return self._replaced(self._held, is_final=True)

    def _replaced(self, text: str, *, is_final: bool) -> str:
        end = len(text) if is_final else self._clear_end(text)
        parts, pos = [], 0
        while (found := self._pattern.search(text, pos)) and found.start() < end:
            parts += [text[pos : found.start()], self._replacements[found.group()]]
            pos = found.end()
        end = max(end, pos)
        self._held = text[end:]
        return "".join([*parts, text[pos:end]])

    def _clear_end(self, text: str) -> int:
        """Return where the first text begins that may become an alias, or a longer."""
        longest = len(self._names[0]) if self._names else 0
        first = max(0, len(text) - longest + 1)
        starts = range(first, len(text))
        return next((at for at in starts if self._may_grow(text[at:])), len(text))

    def _may_grow(self, tail: str) -> bool:
        return any(
            name.startswith(tail) and len(name) > len(tail) for name in self._names
        )
