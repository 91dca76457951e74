"""What a request must be before it is queued. Any thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from llamactypes.engine.config import ModelInfo
from llamactypes.engine.embedding.request import EmbeddingRequest
from llamactypes.engine.request import GenerationRequest
from llamactypes.errors import InputTooLarge, NotServed, PromptTooLong

__all__ = ("check_inputs", "checked")

_NEGATIVE_INFINITY = float("-inf")


def checked(
    request: GenerationRequest, info: ModelInfo, end_tokens: Sequence[int]
) -> GenerationRequest:
    """Spell out what a request implies.

    Args:
        request: As it came.
        info: Of the model.
        end_tokens: Which end a text.

    Raises:
        PromptTooLong: It leaves no room in a slot's context.
        ValueError: A token is not in the vocabulary, or a number is negative.
    """
    tokens = request.prompt_tokens + request.generated
    if len(tokens) >= info.n_ctx_slot:
        raise PromptTooLong(len(tokens), info.n_ctx_slot)
    if tokens and not (min(tokens) >= 0 and max(tokens) < info.n_vocab):
        raise ValueError(f"prompt tokens must be within 0 … {info.n_vocab - 1}")
    if request.prompt_probs is not None and request.prompt_probs < 0:
        raise ValueError("prompt_probs must not be negative")
    if not request.ignore_eos:
        return request
    forbidden = tuple((token, _NEGATIVE_INFINITY) for token in end_tokens)
    bias = request.sampling.logit_bias + forbidden
    return replace(request, sampling=replace(request.sampling, logit_bias=bias))


def check_inputs(request: EmbeddingRequest, info: ModelInfo, n_ubatch: int) -> None:
    """Refuse what cannot be embedded.

    Args:
        request: As it came.
        info: Of the model.
        n_ubatch: Most tokens computed at once.

    Raises:
        NotServed: The engine is not for embeddings.
        PromptTooLong: An input does not fit the context.
        InputTooLarge: An input is longer than what is computed at once.
        ValueError: There are no inputs, one is empty, or has an unknown token.
    """
    if info.pooling is None:
        raise NotServed(
            "This server does not support embeddings. Start it with `--embeddings`"
        )
    if not request.inputs or not all(request.inputs):
        raise ValueError("each input of an embedding request has a token at least")
    if not all(0 <= t < info.n_vocab for each in request.inputs for t in each):
        raise ValueError(f"input tokens must be within 0 … {info.n_vocab - 1}")
    longest = max(map(len, request.inputs))
    if longest <= info.n_tokens_input:
        return
    if info.n_tokens_input < n_ubatch:
        raise PromptTooLong(longest, info.n_ctx_slot)
    raise InputTooLarge(longest, info.n_tokens_input)
