"""Texts that a grammar allows, found by walking at random through its masks.

No model is needed. The vocabulary has every byte, some texts of several bytes, and the
control tokens of `CONTROL_TOKENS`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from llamactypes.constraints.compiler import Compiler, GrammarMatcher
from llamactypes.constraints.constraint import Constraint
from llamactypes.errors import ConstraintError

_CONTROL = ("</s>", "<think>", "</think>", "<|call|>")
CONTROL_TOKENS = {text: token for token, text in enumerate(_CONTROL)}
END = 0
_TEXTS = (
    *(b"ab", b"the", b' "', b'":', b"</", b"think", b">\n", b'{"', b"null", b"true"),
    *(b", ", "é".encode(), "歪".encode(), "🏋".encode(), "🏋".encode()[:2]),
)
PIECES = (
    *(text.encode() for text in _CONTROL),
    *(bytes([byte]) for byte in range(256)),
    *_TEXTS,
)
_FIRST_BYTE = len(_CONTROL)
_CLOSING = tuple(_FIRST_BYTE + byte for byte in b'"}]a10:,')
_PATIENCE = 80
"""Tokens after which a walk hurries to the end."""


class WalkVocabulary:
    """As the compiler reads a vocabulary."""

    n_tokens = len(PIECES)
    bos = None
    eog_tokens = (END,)

    def piece(self, token: int, *, special: bool = True) -> bytes:
        return PIECES[token] if special or token >= _FIRST_BYTE else b""

    def tokenize(self, text: bytes, *, parse_special: bool = True) -> list[int]:
        return [_FIRST_BYTE + byte for byte in text]


@cache
def compiler() -> Compiler:
    """Return the compiler for `WalkVocabulary`."""
    return Compiler(WalkVocabulary)


def compiled(grammar: str) -> GrammarMatcher:
    """Return a matcher at the beginning; raises ConstraintError."""
    return compiler().compile(Constraint(grammar)).matcher()


def tokens_of(*parts: str | int) -> list[int]:
    """Return the tokens of texts, byte by byte, and of tokens."""
    found: list[int] = []
    for part in parts:
        if isinstance(part, int):
            found.append(part)
        else:
            found += [_FIRST_BYTE + byte for byte in part.encode()]
    return found


def allows(grammar: str, *parts: str | int) -> bool:
    """Whether exactly this text, with tokens in it, matches the grammar."""
    matcher = compiled(grammar)
    for token in tokens_of(*parts):
        if not matcher.allows(token):
            return False
        matcher.consume(token)
    return matcher.allows(END)


def walk(grammar: str, draw: random.Random, n_tokens: int = 300) -> bytes | None:
    """Return a text that matches; None: it was not done after `n_tokens`."""
    matcher = compiled(grammar)
    text = b""
    for step in range(n_tokens):
        allowed = _allowed(matcher)
        others = [token for token in allowed if token != END]
        if END in allowed and (not others or draw.random() < 0.5 or step > _PATIENCE):
            return text
        if not others:
            raise ConstraintError(f"nothing may follow {text!r}")
        token = _drawn(others, step, draw)
        matcher.consume(token)
        text += PIECES[token]
        if matcher.is_finished:
            return text
    return None


def _allowed(matcher: GrammarMatcher) -> list[int]:
    bits = np.frombuffer(matcher.mask(), np.uint8)
    return [int(each) for each in np.nonzero(np.unpackbits(bits, bitorder="little"))[0]]


def _drawn(allowed: Sequence[int], step: int, draw: random.Random) -> int:
    closing = _CLOSING[:3] if step > _PATIENCE else _CLOSING
    likely = [token for token in closing if token in allowed]
    if likely and draw.random() < (0.9 if step > _PATIENCE else 0.4):
        return draw.choice(likely)
    return draw.choice(allowed)


def is_valid(schema: Any, value: Any) -> bool:
    """Whether `value` matches `schema`, says an independent validator."""
    from jsonschema.validators import Draft202012Validator, validator_for

    validator = validator_for(schema, default=Draft202012Validator)
    try:
        return bool(validator(schema).is_valid(value))
    except RecursionError:  # a schema that is but itself
        return True
