"""What planning must know of a vocabulary. Pure."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Protocol

__all__ = ("PieceTable", "Pieces", "with_text_of")


class Pieces(Protocol):
    """Tokens that end a text, and the bytes of the others. Any thread."""

    eog_tokens: tuple[int, ...]

    def piece(self, token: int, *, special: bool = True) -> bytes:
        """Return the bytes of one token; `special`: of control tokens, too."""


class PieceTable(dict[int, bytes]):
    """Token to bytes, filled from a vocabulary as tokens come. Any thread.

    PERF: a look is a third of a call to the vocabulary, and there is one per token.
    """

    def __init__(self, vocab: Pieces, *, special: bool) -> None:
        super().__init__()
        self._vocab = vocab
        self._special = special

    def __missing__(self, token: int) -> bytes:
        piece = self[token] = self._vocab.piece(token, special=self._special)
        return piece


def with_text_of(
    preserved: AbstractSet[int], plain: PieceTable, special: PieceTable
) -> Callable[[int], bytes]:
    """Return what gives some control tokens their text, and the others none."""

    def piece_of(token: int) -> bytes:
        return special[token] if token in preserved else plain[token]

    return piece_of
