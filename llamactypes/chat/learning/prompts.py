"""Where a rendered prompt leaves the model: in its thinking, or not. Pure."""

from __future__ import annotations

from llamactypes.chat.output.format import ChatFormat

__all__ = ("in_reasoning",)


def in_reasoning(prompt: str, format: ChatFormat, prefill: str = "") -> bool:
    """Return whether the model goes on in its thinking.

    Args:
        prompt: Rendered, with the beginning of the model's turn at its end.
        format: Learned from the template of `prompt`.
        prefill: The beginning of the answer at the end of `prompt`, which may open the
            thinking, and close it.
    """
    if format.reasoning is None:
        return False
    opening, closing = format.reasoning.open.strip(), format.reasoning.close.strip()
    if not opening:
        return False
    turn = prompt[: len(prompt) - len(prefill)] if prefill else prompt
    is_open = turn.rstrip().endswith(opening)
    # The last of both decides.
    last_open, last_close = prefill.rfind(opening), prefill.rfind(closing)
    return last_open > last_close or (is_open and last_close < 0)
