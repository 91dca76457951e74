"""From a conversation to prompt text: which template, and how it is rendered."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from api.protocol.conversation import Conversation
from llamactypes.chat import (
    CHATML,
    ChatTemplate,
    normalise_messages,
    template_capabilities,
)
from llamactypes.chat.templates.guard import GuardedText, guarded
from llamactypes.chat.templates.special_text import (
    Piece,
    Span,
    SpecialText,
    SpecialTexts,
)
from llamactypes.errors import TemplateError

if TYPE_CHECKING:
    from llamactypes.engine import Engine, Vocabulary

__all__ = ("ChatPrompt", "ChatPrompts")

Values = dict[str, Any]
Render = Callable[[Values], str]

# The name of a built-in template, not the text of one.
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")

_CHATML_NAME = "chatml"


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """A conversation as the model reads it."""

    text: str
    pieces: tuple[Piece, ...]
    """The same text, in parts that are tokenized one by one; nearly always just one."""


class ChatPrompts:
    """Renders the prompts of one loaded model. Any thread."""

    def __init__(self, engine: Engine, *, jinja: bool, override: str | None) -> None:
        """Choose the templates.

        Args:
            engine: Ready; gives the model's templates and the legacy renderer.
            jinja: Render Jinja templates; else libllama's built-in ones.
            override: Template text, or the name of a built-in one, from a flag.
        """
        info = engine.info
        self._engine = engine
        self._bos, self._eos = info.bos_token, info.eos_token
        self._is_legacy = not jinja or _is_builtin_name(override)
        self.source = override or info.chat_template or CHATML
        if self.source == _CHATML_NAME:
            self.source = CHATML
        tool_use = None if override else info.chat_templates.get("tool_use")
        self.tool_use_source = tool_use if not self._is_legacy else None
        self._legacy_name = _legacy_template(override, info.chat_template)
        self._specials = _special_texts(engine.vocab)

    @property
    def capabilities(self) -> dict[str, bool]:
        """What the template understands, as ``/props`` shows it."""
        return dict(_capabilities(CHATML if self._is_legacy else self.source))

    def render(self, conversation: Conversation) -> str:
        """Return the text of `prompt`."""
        return self.prompt(conversation).text

    def prompt(self, conversation: Conversation) -> ChatPrompt:
        """Return the prompt of a conversation.

        Raises:
            MessageError: The messages are malformed.
            TemplateError: The template refused the conversation.
        """
        if self._is_legacy:
            values, render = self._legacy_rendering(conversation)
        else:
            values, render = self._jinja_rendering(conversation)
        prefill = conversation.prefill or ""
        rendered = guarded(
            self._specials,
            {**values, "prefill": prefill},
            lambda each: render(each) + str(each["prefill"]),
        )
        text, foreign = self._without_ends(rendered, prefill)
        return ChatPrompt(text, self._specials.pieces(text, foreign))

    def _without_ends(
        self, rendered: GuardedText, prefill: str
    ) -> tuple[str, list[Span]]:
        """Take off what tokenizing adds, so that nothing is there twice."""
        text, vocab = rendered.text, self._engine.vocab
        n_head = len(text) - len(prefill)
        begin, end = 0, n_head
        if vocab.add_bos and self._bos and text.startswith(self._bos):
            begin = len(self._bos)
        if vocab.add_eos and self._eos and text[:n_head].endswith(self._eos):
            end = max(begin, n_head - len(self._eos))
        if _overlap(rendered.foreign, (0, begin)):
            begin = 0
        if _overlap(rendered.foreign, (end, n_head)):
            end = n_head
        n_gone = n_head - end
        foreign = [
            (a - begin, b - begin)
            if a < end
            else (a - begin - n_gone, b - begin - n_gone)
            for a, b in rendered.foreign
        ]
        return text[begin:end] + text[n_head:], foreign

    def template_of(self, conversation: Conversation) -> ChatTemplate | None:
        """Return the template that renders a conversation; None: a built-in one."""
        if self._is_legacy:
            return None
        source = self.tool_use_source if conversation.tools else None
        return _compiled(source or self.source, self._bos, self._eos)

    def _jinja_rendering(self, conversation: Conversation) -> tuple[Values, Render]:
        template = self.template_of(conversation)
        assert template is not None
        messages = normalise_messages(
            conversation.messages, _capabilities(template.source)
        )
        if "<|channel|>" in template.source:
            _restore_developer(messages, conversation.messages)
        now = datetime.now()
        values = {
            "messages": messages,
            "tools": conversation.tools,
            "extra": conversation.template_kwargs,
        }
        add_prompt = conversation.add_generation_prompt
        return values, lambda each: template.render(
            each["messages"],
            tools=each["tools"],
            add_generation_prompt=add_prompt,
            extra=each["extra"],
            now=now,
        )

    def _legacy_rendering(self, conversation: Conversation) -> tuple[Values, Render]:
        messages = normalise_messages(conversation.messages)
        pairs = [(str(each["role"]), str(each["content"])) for each in messages]
        add_prompt = conversation.add_generation_prompt
        return {"messages": pairs}, lambda each: self._render_legacy(
            [(role, content) for role, content in each["messages"]], add_prompt
        )

    def _render_legacy(
        self, messages: Sequence[tuple[str, str]], add_generation_prompt: bool
    ) -> str:
        ends = {"add_generation_prompt": add_generation_prompt}
        try:
            return self._engine.render_legacy(self._legacy_name, messages, **ends)
        except TemplateError:
            # As llama-server: a template the renderer does not know becomes ChatML.
            return self._engine.render_legacy(_CHATML_NAME, messages, **ends)


def _overlap(spans: Sequence[Span], other: Span) -> bool:
    return any(begin < other[1] and other[0] < end for begin, end in spans)


def _is_builtin_name(template: str | None) -> bool:
    return (
        template is not None
        and template != _CHATML_NAME
        and _NAME.fullmatch(template) is not None
    )


def _legacy_template(override: str | None, of_model: str | None) -> str:
    return override or of_model or _CHATML_NAME


def _restore_developer(
    messages: list[dict[str, Any]], originals: list[dict[str, Any]]
) -> None:
    """Keep the developer role: templates with channels tell it from the system's."""
    if len(messages) != len(originals):
        return
    for index, original in enumerate(originals):
        if original.get("role") == "developer":
            messages[index] = {**messages[index], "role": "developer"}


def _special_texts(vocab: Vocabulary) -> SpecialTexts:
    return SpecialTexts(
        SpecialText(each.text, each.strips_left, each.strips_right)
        for each in vocab.special_tokens
    )


@lru_cache(maxsize=16)
def _compiled(source: str, bos: str, eos: str) -> ChatTemplate:
    return ChatTemplate(source, bos_token=bos, eos_token=eos)


@lru_cache(maxsize=16)
def _capabilities(source: str) -> Mapping[str, bool]:
    return template_capabilities(_compiled(source, "", ""))
