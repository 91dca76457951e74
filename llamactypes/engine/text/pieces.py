"""What planning must know of a vocabulary. Pure."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Protocol

__all__ = ("PieceTable", "PieceTables", "Pieces")


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


class PieceTables:
    """Both tables of a vocabulary, and the ways to read them. Any thread."""

    def __init__(self, vocab: Pieces) -> None:
        self._plain = PieceTable(vocab, special=False)
        self._special = PieceTable(vocab, special=True)

    def reader(
        self, preserved: AbstractSet[int] = frozenset(), *, special: bool
    ) -> Callable[[int], bytes]:
        """Return what gives a token's bytes.

        Args:
            preserved: Control tokens that have text in any case.
            special: All control tokens have.
        """
        plain, texts = self._plain, self._special
        if special:
            return texts.__getitem__
        if not preserved:
            return plain.__getitem__
        return lambda token: texts[token] if token in preserved else plain[token]
