"""The vocabulary as prompts use it: text that cannot fit is refused unread."""

from __future__ import annotations

from llamactypes.engine import Vocabulary
from llamactypes.errors import PromptTooLong

__all__ = ("BoundedVocab",)

_USUAL_BYTES = 16
"""A text of fewer bytes per token of context is tokenized without further ado."""


class BoundedVocab:
    """Tokenizes only what may fit a context. Any thread.

    A text has at least as many tokens as its bytes over the longest piece. Some of the
    library's tokenizers need time that grows with the square of the text, so that a
    text of megabytes would hold a worker for minutes before it is refused.
    """

    def __init__(self, vocab: Vocabulary, n_ctx: int) -> None:
        self._vocab = vocab
        self._n_ctx = n_ctx
        self.n_tokens = vocab.n_tokens
        self.bos, self.eos, self.sep = vocab.bos, vocab.eos, vocab.sep
        self.add_bos, self.add_eos = vocab.add_bos, vocab.add_eos
        self.add_sep = vocab.add_sep

    def tokenize(
        self, text: str, *, add_special: bool = False, parse_special: bool = True
    ) -> list[int]:
        """See `Vocab.tokenize`.

        Raises:
            PromptTooLong: Whatever the tokens, they are more than the context holds.
        """
        if len(text) > self._n_ctx * _USUAL_BYTES:
            n_bytes = len(text.encode("utf-8", "replace"))
            n_least = n_bytes // self._vocab.longest_piece_bytes
            if n_least >= self._n_ctx:
                raise PromptTooLong(n_least, self._n_ctx)
        return self._vocab.tokenize(
            text, add_special=add_special, parse_special=parse_special
        )

    def piece(self, token: int, *, special: bool = True) -> bytes:
        """See `Vocab.piece`."""
        return self._vocab.piece(token, special=special)
