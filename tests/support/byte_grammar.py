"""Grammars over single bytes and the control tokens of a format, followed in texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from llamactypes.constraints.compiler import Compiler
from llamactypes.constraints.constraint import Constraint

EOS = 256


class ByteVocabulary:
    """Every byte, an end token, and control tokens."""

    bos = None
    eog_tokens = (EOS,)

    def __init__(self, control: Sequence[str] = ()) -> None:
        self._pieces = [bytes([value]) for value in range(256)]
        self._pieces += [b"<eos>", *(text.encode() for text in control)]
        self.control_tokens = {text: EOS + 1 + i for i, text in enumerate(control)}
        self.n_tokens = len(self._pieces)

    def piece(self, token: int, *, special: bool = True) -> bytes:
        return self._pieces[token] if special or token < EOS else b""

    def tokenize(self, text: bytes, *, parse_special: bool = True) -> list[int]:
        return list(text)

    def tokens(self, text: str) -> list[int]:
        """Return the tokens of `text`, with control tokens for their texts."""
        names = sorted(self.control_tokens, key=len, reverse=True)
        parts = [text]
        if names:
            parts = re.split("(" + "|".join(map(re.escape, names)) + ")", text)
        tokens: list[int] = []
        for part in parts:
            number = self.control_tokens.get(part)
            tokens += list(part.encode()) if number is None else [number]
        return tokens


def control_in(markers: Sequence[str]) -> list[str]:
    """Return what is likely to be a control token in a format's markers."""
    pattern = r"<\|[^<>|]*\|>|<｜[^<>]*｜>|\[[A-Z_]+\]|</?tool_call>"
    return sorted({found for text in markers for found in re.findall(pattern, text)})


class Followed:
    """A grammar over one vocabulary."""

    def __init__(self, grammar: str, vocabulary: ByteVocabulary) -> None:
        self.vocabulary = vocabulary
        self.grammar = Compiler(lambda: vocabulary).compile(Constraint(grammar))

    def refusal(self, text: str, *, is_whole: bool = True) -> str | None:
        """Return the text up to what is refused; None: all is as the grammar says."""
        matcher = self.grammar.matcher()
        tokens = self.vocabulary.tokens(text)
        for place, token in enumerate(tokens):
            assert any(matcher.mask()), f"a dead end: {text!r} at {place}"
            if not matcher.allows(token):
                return self._text(tokens[: place + 1])
            matcher.consume(token)
        if is_whole and not matcher.allows(EOS):
            return text + "<eos>"
        return None

    def accepts(self, text: str) -> bool:
        return self.refusal(text) is None

    def _text(self, tokens: Sequence[int]) -> str:
        pieces = (self.vocabulary.piece(token) for token in tokens)
        return b"".join(pieces).decode(errors="replace")


ControlTokens = Mapping[str, int]
