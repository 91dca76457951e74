"""From what a request says of its thinking to the engine's limit."""

from __future__ import annotations

from api.protocol.sampling_fields import Tokenizer
from api.protocol.thinking import ThinkingAsked
from llamactypes.chat.output.format import ChatFormat
from llamactypes.engine.request import ThinkingControl, ThinkingLimit

__all__ = ("thinking_limit",)


def thinking_limit(
    vocab: Tokenizer,
    form: ChatFormat,
    asked: ThinkingAsked,
    *,
    in_thinking: bool,
    prompt: str = "",
) -> ThinkingLimit | None:
    """Return the limit of an answer's thinking; None when there is nothing to limit.

    Args:
        vocab: Of the model.
        form: How it writes; a model whose format has no thinking has no limit.
        asked: By the request.
        in_thinking: The prompt ends inside the thinking.
        prompt: Its text, whose part of the thinking counts (llama-server).
    """
    tags = form.reasoning
    is_asked = asked.budget >= 0 or asked.is_controllable
    if tags is None or not tags.close.strip() or not is_asked:
        return None
    opening, closing = tags.open.strip(), tags.close.strip()
    message = vocab.tokenize(asked.message) if asked.message else []
    return ThinkingLimit(
        open=opening.encode(),
        close=closing.encode(),
        forced=(*message, *vocab.tokenize(closing)),
        budget=asked.budget,
        before=b"" if in_thinking else form.prompted.encode(),
        is_thinking=in_thinking or not opening,
        n_spent=_n_spent(vocab, prompt, opening) if in_thinking else 0,
        control=ThinkingControl() if asked.is_controllable else None,
    )


def _n_spent(vocab: Tokenizer, prompt: str, opening: str) -> int:
    """Return the tokens of the thinking that a prompt ends in."""
    thought = prompt.rpartition(opening)[2] if opening else ""
    # Together with the tag, for the spaces that some vocabularies put before a text.
    return len(vocab.tokenize(opening + thought)) - len(vocab.tokenize(opening))
