"""From a conversation to prompt text: which template, and how it is rendered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from api.protocol.conversation import Conversation
from llamactypes.chat import (
    CHATML,
    ChatTemplate,
    normalise_messages,
    template_capabilities,
)
from llamactypes.errors import TemplateError

if TYPE_CHECKING:
    from llamactypes.engine import Engine

__all__ = ("ChatPrompts",)

# The name of a built-in template, not the text of one.
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")

_CHATML_NAME = "chatml"


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

    @property
    def capabilities(self) -> dict[str, bool]:
        """What the template understands, as ``/props`` shows it."""
        return dict(_capabilities(CHATML if self._is_legacy else self.source))

    def render(self, conversation: Conversation) -> str:
        """Return the prompt text.

        Raises:
            MessageError: The messages are malformed.
            TemplateError: The template refused the conversation.
        """
        render = self._render_legacy if self._is_legacy else self._render_jinja
        text = render(conversation)
        if self._engine.vocab.add_bos and self._bos:
            # Tokenizing adds it: a template that writes it must not double it.
            text = text.removeprefix(self._bos)
        if self._engine.vocab.add_eos and self._eos:
            text = text.removesuffix(self._eos)
        return text + (conversation.prefill or "")

    def template_of(self, conversation: Conversation) -> ChatTemplate | None:
        """Return the template that renders a conversation; None: a built-in one."""
        if self._is_legacy:
            return None
        source = self.tool_use_source if conversation.tools else None
        return _compiled(source or self.source, self._bos, self._eos)

    def _render_jinja(self, conversation: Conversation) -> str:
        template = self.template_of(conversation)
        assert template is not None
        messages = normalise_messages(
            conversation.messages, _capabilities(template.source)
        )
        if "<|channel|>" in template.source:
            _restore_developer(messages, conversation.messages)
        return template.render(
            messages,
            tools=conversation.tools,
            add_generation_prompt=conversation.add_generation_prompt,
            extra=conversation.template_kwargs,
        )

    def _render_legacy(self, conversation: Conversation) -> str:
        messages = [
            (str(message["role"]), str(message["content"]))
            for message in normalise_messages(conversation.messages)
        ]
        ends = {"add_generation_prompt": conversation.add_generation_prompt}
        try:
            return self._engine.render_legacy(self._legacy_name, messages, **ends)
        except TemplateError:
            # As llama-server: a template the renderer does not know becomes ChatML.
            return self._engine.render_legacy(_CHATML_NAME, messages, **ends)


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


@lru_cache(maxsize=16)
def _compiled(source: str, bos: str, eos: str) -> ChatTemplate:
    return ChatTemplate(source, bos_token=bos, eos_token=eos)


@lru_cache(maxsize=16)
def _capabilities(source: str) -> Mapping[str, bool]:
    return template_capabilities(_compiled(source, "", ""))
