"""Token probabilities in the three shapes that clients know. Pure."""

from __future__ import annotations

import codecs
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

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
    offset: int = 0
    """Characters of the choice's text before the next token."""
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )

    def encode(self, probs: Iterable[TokenProbs]) -> dict[str, Any]:
        """Return ``{tokens, token_logprobs, top_logprobs, text_offset}``."""
        result: dict[str, list[Any]] = {
            "tokens": [],
            "token_logprobs": [],
            "top_logprobs": [],
            "text_offset": [],
        }
        for each in probs:
            result["tokens"].append(_legacy_text(each.piece))
            result["token_logprobs"].append(self._value(each.value))
            result["top_logprobs"].append(
                {_legacy_text(p): self._value(v) for _, p, v in reversed(each.top)}
            )
            result["text_offset"].append(self.offset)
            self.offset += len(self._decoder.decode(each.piece))
        return result

    def _value(self, value: float) -> float:
        if self.is_prob:
            return math.log(value) if value > 0.0 else _LOWEST
        return _logprob(value)


def _legacy_text(piece: bytes) -> str:
    """Return a token as OpenAI spelt it there: bytes in hex for parts of characters."""
    try:
        return piece.decode("utf-8")
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in piece)
