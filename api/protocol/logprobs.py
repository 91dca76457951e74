"""Token probabilities in the three shapes that clients know. Pure."""

from __future__ import annotations

import codecs
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from api.protocol.completion.echo import Echo
from llamactypes.engine.request import TokenProbs

__all__ = ("LegacyLogprobs", "native_probs", "token_text")

_LOWEST = -3.4028234663852886e38
"""What llama-server writes for the logarithm of zero."""


def native_probs(
    probs: Iterable[TokenProbs], *, is_prob: bool, n_top: int | None = None
) -> list[dict[str, Any]]:
    """Return llama-server's items, which are also chat's ``logprobs.content``.

    Args:
        probs: Sampled tokens in order.
        is_prob: Values are probabilities after sampling, not logprobs.
        n_top: Most alternatives to show; None: all.
    """
    top_key = "top_probs" if is_prob else "top_logprobs"
    return [
        {
            **_item(each.token, each.piece, each.value, is_prob),
            top_key: [
                _item(token, piece, value, is_prob)
                for token, piece, value in _shown(each, is_prob, n_top)
            ],
        }
        for each in probs
    ]


def token_text(piece: bytes) -> str:
    """Return a token's text; bytes that end inside a character are cut off."""
    try:
        return piece.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end == len(piece):
            return piece[: error.start].decode("utf-8", "replace")
        return piece.decode("utf-8", "replace")


def _shown(
    each: TokenProbs, is_prob: bool, n_top: int | None
) -> Sequence[tuple[int, bytes, float]]:
    top = each.top if n_top is None else each.top[:n_top]
    # Tokens that the samplers removed have probability zero: they were no alternative.
    return [entry for entry in top if entry[2] > 0.0] if is_prob else top


def _item(token: int, piece: bytes, value: float, is_prob: bool) -> dict[str, Any]:
    return {
        "id": token,
        "token": token_text(piece),
        "bytes": list(piece),
        "prob" if is_prob else "logprob": value if is_prob else _logprob(value),
    }


def _logprob(value: float) -> float:
    return max(value, _LOWEST) if value == value else _LOWEST


@dataclass(slots=True)
class LegacyLogprobs:
    """OpenAI's completion shape: parallel lists, with offsets into the text.

    One object lives as long as its choice, because offsets count on.
    """

    is_prob: bool
    n_top: int | None = None
    """Most rivals to show; None: all."""
    offset: int = 0
    """Characters of the choice's text before the next token."""
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )

    def encode(self, probs: Iterable[TokenProbs]) -> dict[str, list[Any]]:
        """Return ``{tokens, token_logprobs, top_logprobs, text_offset}``."""
        lists = _no_tokens()
        for each in probs:
            lists["tokens"].append(_legacy_text(each.piece))
            lists["token_logprobs"].append(self._value(each.value))
            lists["top_logprobs"].append(self._rivals(each, self._value))
            lists["text_offset"].append(self.offset)
            self.offset += len(self._decoder.decode(each.piece))
        return lists

    def encode_echo(self, echo: Echo, probs: Sequence[TokenProbs]) -> dict[str, Any]:
        """Return the lists of a prompt; to be called first.

        Args:
            echo: What the client sent.
            probs: Of the whole prompt from its second token on; raw logprobs.
        """
        self.offset = len(echo.text)
        lists = _no_tokens()
        if not echo.pieces:
            return lists
        first = echo.n_before
        shown = probs[first : first + len(echo.pieces) - 1]
        lists["tokens"] = [_legacy_text(piece) for piece in echo.pieces]
        # Nothing is said of the first one, as OpenAI does, also where BOS precedes it.
        lists["token_logprobs"] = [None, *(_logprob(each.value) for each in shown)]
        rivals = (self._rivals(each, _logprob) for each in shown)
        lists["top_logprobs"] = [None, *rivals]
        lists["text_offset"] = _offsets(echo)
        return lists

    def _rivals(
        self, each: TokenProbs, spell: Callable[[float], float]
    ) -> dict[str, float]:
        """Return text to value, best first; of tokens with the same text the best.

        The chosen token is always among them (OpenAI): last when it is not of the best.
        """
        rivals: dict[str, float] = {}
        shown = each.top[: self.n_top]
        for _, piece, value in (*shown, (each.token, each.piece, each.value)):
            rivals.setdefault(_legacy_text(piece), spell(value))
        return rivals

    def _value(self, value: float) -> float:
        if self.is_prob:
            return math.log(value) if value > 0.0 else _LOWEST
        return _logprob(value)


def _no_tokens() -> dict[str, list[Any]]:
    return {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}


def _offsets(echo: Echo) -> list[int]:
    """Return where each piece begins in the text of the echo.

    Some vocabularies put a blank before a text, and after a special token: it belongs
    to a piece, and is no part of the text.
    """
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    text, at = echo.text, 0
    offsets: list[int] = []
    for piece in echo.pieces:
        offsets.append(min(at, len(text)))
        part = decode(piece)
        is_put_before = part.startswith(" ") and not text.startswith(part, at)
        if is_put_before and text.startswith(part[1:], at):
            part = part[1:]
        at += len(part)
    return offsets


def _legacy_text(piece: bytes) -> str:
    """Return a token as OpenAI spelt it there: bytes in hex for parts of characters."""
    try:
        return piece.decode("utf-8")
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in piece)
