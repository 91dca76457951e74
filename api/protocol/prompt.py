"""The shapes a completion prompt may have, turned into tokens. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from api.protocol.fields import Body, json_type
from api.protocol.invalid import InvalidRequest
from api.protocol.sampling_fields import Tokenizer
from llamactypes.chat.templates.special_text import Piece

__all__ = (
    "PromptVocab",
    "chat_tokens",
    "detokenize",
    "given_prompts",
    "is_token",
    "prompt_tokens",
    "read_prompts",
    "tokenize_mixed",
    "with_bos",
)

_SHAPES = (
    '"prompt" elements must be a string, a list of tokens, a JSON object containing '
    "a prompt string, or a list of mixed strings & tokens."
)


class PromptVocab(Tokenizer, Protocol):
    """What turning text into a prompt needs of a vocabulary."""

    @property
    def bos(self) -> int | None:
        """The beginning-of-sequence token."""

    @property
    def eos(self) -> int | None:
        """The end-of-sequence token."""

    @property
    def add_bos(self) -> bool:
        """Whether tokenizing with special tokens begins with `bos`."""

    @property
    def add_eos(self) -> bool:
        """Whether tokenizing with special tokens ends with `eos`."""


def read_prompts(body: Body, vocab: PromptVocab) -> list[tuple[int, ...]]:
    """Return the tokens of every prompt of a completion request.

    Raises:
        InvalidRequest: ``prompt`` is absent, empty or of no known shape.
    """
    return [prompt_tokens(prompt, vocab) for prompt in given_prompts(body)]


def given_prompts(body: Body) -> list[Any]:
    """Return every prompt as the client wrote it: a list without tokens holds several.

    Raises:
        InvalidRequest: ``prompt`` is absent or empty.
    """
    prompt = body.get("prompt")
    if prompt is None:
        raise InvalidRequest('"prompt" is required', "prompt")
    if not isinstance(prompt, list) or any(is_token(item) for item in prompt):
        return [prompt]
    if not prompt:
        raise InvalidRequest('"prompt" must not be empty', "prompt")
    return prompt


def with_bos(text: str, vocab: PromptVocab) -> list[int]:
    """Tokenize a whole prompt: exactly one BOS, also when the text spells it."""
    tokens = vocab.tokenize(text, add_special=True, parse_special=True)
    if vocab.add_bos and len(tokens) > 1 and tokens[0] == tokens[1] == vocab.bos:
        del tokens[0]
    if vocab.add_eos and len(tokens) > 1 and tokens[-1] == tokens[-2] == vocab.eos:
        del tokens[-1]
    return tokens


def chat_tokens(pieces: Sequence[Piece], vocab: PromptVocab) -> tuple[int, ...]:
    """Tokenize a chat's prompt, with exactly one BOS."""
    if len(pieces) == 1 and pieces[0].parse_special:
        return tuple(with_bos(pieces[0].text, vocab))
    tokens = [vocab.bos] if vocab.add_bos and vocab.bos is not None else []
    for piece in pieces:
        found = vocab.tokenize(piece.text, parse_special=piece.parse_special)
        if len(tokens) == 1 and tokens == found[:1] and vocab.add_bos:
            del found[0]
        tokens += found
    if vocab.add_eos and vocab.eos is not None and tokens[-1:] != [vocab.eos]:
        tokens.append(vocab.eos)
    return tuple(tokens)


def tokenize_mixed(
    value: Any,
    vocab: Tokenizer,
    encode_first: Callable[[str], list[int]],
    *,
    parse_special: bool = True,
    param: str = "prompt",
) -> list[int]:
    """Tokenize a string, or a list of strings and token ids, as one text.

    Args:
        value: The string or list.
        vocab: The model's vocabulary.
        encode_first: Tokenizes the text when it comes first: only there may special
            tokens be added.
        parse_special: Whether text that spells a special token becomes that token.
        param: Name of the field, for errors.
    """
    items = value if isinstance(value, list) else [value]
    tokens: list[int] = []
    for index, item in enumerate(items):
        if isinstance(item, str):
            encode = encode_first if index == 0 else _plain(vocab, parse_special)
            tokens += encode(item)
        else:
            tokens.append(check_token(item, vocab, param))
    return tokens


def check_token(value: object, vocab: Tokenizer, param: str) -> int:
    """Return `value` if it is a token of the vocabulary."""
    if not is_token(value):
        raise InvalidRequest(
            f'"{param}" holds a {json_type(value)} where a string or token is expected',
            param,
        )
    assert isinstance(value, int)
    if not 0 <= value < vocab.n_tokens:
        raise InvalidRequest(
            f"Prompt contains invalid tokens: {value} is not within "
            f"0 … {vocab.n_tokens - 1}",
            param,
        )
    return value


def detokenize(tokens: tuple[int, ...] | list[int], vocab: Tokenizer) -> str:
    """Return the text of `tokens` with special ones spelt out."""
    pieces = b"".join(vocab.piece(token, special=True) for token in tokens)
    return pieces.decode("utf-8", "replace")


def _plain(vocab: Tokenizer, parse_special: bool) -> Callable[[str], list[int]]:
    return lambda text: vocab.tokenize(
        text, add_special=False, parse_special=parse_special
    )


def prompt_tokens(
    prompt: Any, vocab: PromptVocab, param: str = "prompt"
) -> tuple[int, ...]:
    """Return the tokens of one prompt as the client wrote it.

    Args:
        prompt: A text, tokens, both mixed, or an object with a ``prompt_string``.
        vocab: The model's vocabulary.
        param: Name of the field, for errors.
    """
    if isinstance(prompt, dict) and "prompt_string" in prompt:
        if prompt.get("multimodal_data") is not None:
            raise InvalidRequest(
                "Multimodal data provided, but model does not support multimodal "
                "requests.",
                param,
            )
        prompt = prompt["prompt_string"]
    if not _is_text_or_tokens(prompt):
        raise InvalidRequest(_SHAPES, param)
    tokens = tokenize_mixed(
        prompt, vocab, lambda text: with_bos(text, vocab), param=param
    )
    return tuple(tokens)


def _is_text_or_tokens(prompt: object) -> bool:
    if isinstance(prompt, list):
        return all(isinstance(item, str) or is_token(item) for item in prompt)
    return isinstance(prompt, str)


def is_token(value: object) -> bool:
    """Whether `value` is a number that may be a token."""
    return isinstance(value, int) and not isinstance(value, bool)
