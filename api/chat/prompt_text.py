"""What is done to a rendered prompt before it is tokenized. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from api.protocol.chat.continuation import Continuation
from llamactypes.chat.output.format import ChatFormat
from llamactypes.chat.templates.guard import GuardedText
from llamactypes.chat.templates.special_text import Span
from llamactypes.errors import TemplateError

__all__ = ("continued", "without_ends")


def without_ends(prompt: GuardedText, bos: str, eos: str) -> GuardedText:
    """Take off what tokenizing adds, unless a message wrote it.

    Args:
        prompt: Rendered.
        bos: Text that is taken off the beginning, or nothing.
        eos: Text that is taken off the end, or nothing.
    """
    text = prompt.text
    begin, end = 0, len(text)
    if bos and text.startswith(bos) and not _overlap(prompt.foreign, (0, len(bos))):
        begin = len(bos)
    if eos and text.endswith(eos) and not _overlap(prompt.foreign, (end - 1, end)):
        end = max(begin, end - len(eos))
    spans = tuple((a - begin, b - begin) for a, b in prompt.foreign)
    return GuardedText(text[begin:end], spans)


def _overlap(spans: Sequence[Span], other: Span) -> bool:
    return any(begin < other[1] and other[0] < end for begin, end in spans)


def continued(
    prompt: str, begun: Continuation, form: ChatFormat, thinking: str, content: str
) -> str:
    """Return `prompt` with the beginning of the answer at its end.

    Args:
        prompt: Rendered, with the beginning of the assistant's turn at its end.
        begun: What is continued.
        form: How the model writes.
        thinking: That of `begun`, perhaps with marks in it.
        content: As well.

    Raises:
        TemplateError: There is thinking, and the model does not think.
    """
    tags = form.reasoning
    if tags is None:
        if begun.in_thinking or begun.thinking:
            raise TemplateError(
                "a last message of the assistant with thinking cannot be continued: "
                "nothing in this model's chat template says how it thinks"
            )
        return prompt + content
    opening, closing = tags.open.strip(), tags.close.strip()
    bare = prompt.rstrip()
    is_open = bool(opening) and bare.endswith(opening)
    if not is_open and not begun.thinking and not begun.in_thinking:
        return prompt + content
    if not is_open:
        prompt = _without_empty_thinking(prompt, opening, closing) + opening + "\n"
    if begun.in_thinking:
        return prompt + thinking
    return f"{prompt}{thinking}\n{closing}\n\n{content}"


def _without_empty_thinking(prompt: str, opening: str, closing: str) -> str:
    """Take off the thinking that a template closed because none was wanted."""
    bare = prompt.rstrip()
    if not (opening and closing and bare.endswith(closing)):
        return prompt
    inner = bare.removesuffix(closing).rstrip()
    return inner.removesuffix(opening) if inner.endswith(opening) else prompt
