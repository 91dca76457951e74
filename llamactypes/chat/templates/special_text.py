"""Text that spells special tokens: finding it, and keeping it text. Pure.

A prompt is tokenized whole, with the control tokens that its template wrote. Where a
message spells such a token, too, only that stretch of the prompt must be tokenized
without them: the text between the nearest tokens of the template's own. Cutting there
changes nothing else, because tokenizers begin anew after a special token.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

__all__ = ("Piece", "SpecialText", "Span", "SpecialTexts")

Span = tuple[int, int]
"""Begin and end of a stretch of text, in characters."""

_Trie = dict[str, "_Trie"]
_END = ""
_SPACE = " \t\n\v\f\r"  # what C calls white space


@dataclass(frozen=True, slots=True)
class SpecialText:
    """The text of a special token."""

    text: str
    strips_left: bool = False
    """The token swallows white space before it."""
    strips_right: bool = False
    """The token swallows white space after it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a prompt that is tokenized by itself."""

    text: str
    parse_special: bool = True
    """Whether text that spells a special token is that token."""


class SpecialTexts:
    """The special tokens of one vocabulary, as text. Immutable: any thread."""

    def __init__(self, texts: Iterable[SpecialText]) -> None:
        self._by_text = {each.text: each for each in texts if each.text}
        self._n_longest = max(map(len, self._by_text), default=0)

    @cached_property
    def _anywhere(self) -> re.Pattern[str]:
        return re.compile(_trie_pattern(self._by_text) if self._by_text else r"(?!)")

    @cached_property
    def _overlapping(self) -> re.Pattern[str]:
        return re.compile(f"(?=({self._anywhere.pattern}))")

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        return frozenset(t[:n] for t in self._by_text for n in range(1, len(t)))

    @cached_property
    def _endings(self) -> frozenset[str]:
        return frozenset(t[n:] for t in self._by_text for n in range(1, len(t)))

    @cached_property
    def _first_chars(self) -> frozenset[str]:
        return frozenset(text[0] for text in self._by_text)

    @cached_property
    def _last_chars(self) -> frozenset[str]:
        return frozenset(text[-1] for text in self._by_text)

    # -- in a message --------------------------------------------------------------

    def places(self, text: str) -> list[Span]:
        """Return where `text` spells a special token, or the part of one at its ends.

        What a template writes beside an end may complete such a part.
        """
        spans = [match.span() for match in self._anywhere.finditer(text)]
        n_head, n_tail = self._n_head(text), self._n_tail(text)
        if n_head and not (spans and spans[0][0] < n_head):
            spans.insert(0, (0, n_head))
        begin = len(text) - n_tail
        if n_tail and not (spans and spans[-1][1] > begin):
            spans.append((begin, len(text)))
        return spans

    def _n_head(self, text: str) -> int:
        head = text[: self._n_longest - 1] if self._n_longest else ""
        if self._last_chars.isdisjoint(head):
            return 0
        lengths = range(len(head), 0, -1)
        return next((n for n in lengths if head[:n] in self._endings), 0)

    def _n_tail(self, text: str) -> int:
        tail = text[1 - self._n_longest :] if self._n_longest > 1 else ""
        if self._first_chars.isdisjoint(tail):
            return 0
        lengths = range(len(tail), 0, -1)
        return next((n for n in lengths if tail[-n:] in self._beginnings), 0)

    # -- in a prompt ---------------------------------------------------------------

    def count(self, text: str) -> int:
        """Return how many special tokens `text` spells."""
        return sum(1 for _ in self._overlapping.finditer(text))

    def pieces(self, prompt: str, foreign: Sequence[Span]) -> tuple[Piece, ...]:
        """Cut `prompt` so that no token is made of text that overlaps `foreign`.

        Args:
            prompt: The whole text.
            foreign: Stretches that come from messages.
        """
        is_foreign = _mask(prompt, foreign)
        found = self._found(prompt)
        theirs = [span for span in found if _touches(is_foreign, span)]
        if not theirs:
            return (Piece(prompt),)
        own = _taken(prompt, (s for s in found if not _touches(is_foreign, s)))
        return tuple(self._cut(prompt, own, _mask(prompt, theirs)))

    def _found(self, prompt: str) -> list[Span]:
        # As llama.cpp looks for them: the longest text first, then from left to right.
        spans = (match.span(1) for match in self._overlapping.finditer(prompt))
        return sorted(spans, key=lambda span: (span[0] - span[1], span[0]))

    def _cut(
        self, prompt: str, own: list[Span], is_theirs: bytearray
    ) -> Iterator[Piece]:
        done = 0
        outer: list[Span] = [(0, 0), *own, (len(prompt), len(prompt))]
        for before, after in pairwise(outer):
            gap = (before[1], after[0])
            if not _touches(is_theirs, gap):
                continue
            if gap[0] > done:
                yield Piece(prompt[done : gap[0]])
            text = self._stripped(prompt, before, after)
            yield Piece(text, parse_special=False)
            done = gap[1]
        if done < len(prompt):
            yield Piece(prompt[done:])

    def _stripped(self, prompt: str, before: Span, after: Span) -> str:
        text = prompt[before[1] : after[0]]
        first = self._by_text.get(prompt[slice(*before)])
        last = self._by_text.get(prompt[slice(*after)])
        if first is not None and first.strips_right:
            text = text.lstrip(_SPACE)
        if last is not None and last.strips_left:
            text = text.rstrip(_SPACE)
        return text


def _mask(text: str, spans: Iterable[Span]) -> bytearray:
    mask = bytearray(len(text))
    for begin, end in spans:
        mask[begin:end] = b"\1" * (end - begin)
    return mask


def _touches(mask: bytearray, span: Span) -> bool:
    return mask.find(1, *span) >= 0


def _taken(text: str, spans: Iterable[Span]) -> list[Span]:
    """Return `spans` without those that overlap an earlier one, from left to right."""
    is_taken = bytearray(len(text))
    taken: list[Span] = []
    for begin, end in spans:
        if not _touches(is_taken, (begin, end)):
            is_taken[begin:end] = b"\1" * (end - begin)
            taken.append((begin, end))
    return sorted(taken)


def _trie_pattern(texts: Iterable[str]) -> str:
    # One branch for each character: a search looks at few of thousands of tokens.
    root: _Trie = {}
    for text in texts:
        node = root
        for char in text:
            node = node.setdefault(char, {})
        node[_END] = {}
    return _branches(root)


def _branches(node: _Trie) -> str:
    prefix = ""
    while len(node) == 1 and _END not in node:
        [(char, node)] = node.items()
        prefix += re.escape(char)
    longer = [
        re.escape(char) + _branches(rest) for char, rest in node.items() if char != _END
    ]
    if not longer:
        return prefix
    optional = "?" if _END in node else ""
    return f"{prefix}(?:{'|'.join(longer)}){optional}"
