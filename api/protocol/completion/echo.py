"""A prompt as its client sent it, for replies that begin with it. Pure.

What the server puts around a text to make a prompt of it (BOS, for most models) is no
part of the echo. So the lists of a reply have one entry for each token that the client
would count: harnesses like lm-eval find their continuation by that count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from api.protocol.fields import Body
from api.protocol.prompt import PromptVocab, detokenize, given_prompts

__all__ = ("Echo", "read_echoes")


@dataclass(frozen=True, slots=True)
class Echo:
    """The beginning of a choice's text."""

    text: str
    pieces: tuple[bytes, ...] = ()
    """Of the tokens that the client sent, or that its text became."""
    n_before: int = 0
    """Tokens of the prompt before these."""


def read_echoes(
    body: Body, prompts: Sequence[tuple[int, ...]], vocab: PromptVocab
) -> list[Echo]:
    """Return the echo of each of a completion request's `prompts`."""
    return [
        _echo(given, tokens, vocab)
        for given, tokens in zip(given_prompts(body), prompts, strict=True)
    ]


def _echo(given: Any, prompt: tuple[int, ...], vocab: PromptVocab) -> Echo:
    if isinstance(given, dict):
        given = given["prompt_string"]
    items = given if isinstance(given, list) else [given]
    n_before, n_after = 0, 0
    if items and isinstance(items[0], str):
        n_before, n_after = _n_added(items[0], prompt, vocab)
    # EOS follows the first text: in a mixed list it lies between the client's tokens.
    shown = prompt[n_before : len(prompt) - n_after * (len(items) == 1)]
    text = given if isinstance(given, str) else detokenize(shown, vocab)
    pieces = tuple(vocab.piece(token, special=True) for token in shown)
    return Echo(text, pieces, n_before)


def _n_added(text: str, prompt: tuple[int, ...], vocab: PromptVocab) -> tuple[int, int]:
    """Return how many tokens came before and after those of `text`: BOS and EOS."""
    if not (vocab.add_bos or vocab.add_eos):
        return 0, 0
    plain = vocab.tokenize(text, add_special=False, parse_special=True)
    has_bos = vocab.add_bos and prompt[:1] == (vocab.bos,)
    has_eos = vocab.add_eos and prompt[-1:] == (vocab.eos,)
    return (
        int(has_bos and plain[:1] != [vocab.bos]),
        int(has_eos and plain[-1:] != [vocab.eos]),
    )
