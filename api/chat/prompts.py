"""From a conversation to prompt text: which template, and how it is rendered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from api.chat.formats import describes_tools, format_of
from api.chat.prompt_text import continued, without_ends
from api.protocol.chat.continuation import Continuation
from api.protocol.chat.conversation import Conversation
from llamactypes.chat import (
    CHATML,
    Capabilities,
    ChatTemplate,
    normalise_messages,
    template_capabilities,
)
from llamactypes.chat.output.format import ChatFormat
from llamactypes.chat.templates.guard import guarded
from llamactypes.chat.templates.repaired import needed_repairs, render_repaired
from llamactypes.chat.templates.repairs import Repair, Talk
from llamactypes.chat.templates.special_text import Piece, SpecialText, SpecialTexts
from llamactypes.chat.tool_text import GENERIC, calls_as_text, tools_described
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


@dataclass(frozen=True, slots=True)
class _Rendering:
    values: Values
    """What the client wrote."""
    render: Render
    """Makes a prompt of such values."""
    plain: str
    """What it makes of these."""

    def continued(self, begun: Continuation, form: ChatFormat) -> _Rendering:
        values = {**self.values, "thinking": begun.thinking, "content": begun.content}

        def extend(prompt: str, values: Values) -> str:
            return continued(prompt, begun, form, values["thinking"], values["content"])

        return _Rendering(
            values,
            lambda values: extend(self.render(values), values),
            extend(self.plain, values),
        )


class ChatPrompts:
    """Renders the prompts of one loaded model. Any thread."""

    def __init__(
        self,
        engine: Engine,
        *,
        jinja: bool,
        override: str | None,
        variables: Mapping[str, Any] | None = None,
        parse_special_content: bool = False,
    ) -> None:
        """Choose the templates.

        Args:
            engine: Ready; gives the model's templates and the legacy renderer.
            jinja: Render Jinja templates; else libllama's built-in ones.
            override: From a flag: the text of a template, the name of one of the
                model's own, or the name of a built-in one.
            variables: The template's variables that flags set: these are trusted.
            parse_special_content: Text in messages that spells a special token is
                that token.
        """
        info = engine.info
        self._engine = engine
        self._variables = variables or {}
        self._bos, self._eos = info.bos_token, info.eos_token
        own = info.chat_templates.get(override or "")
        self._is_legacy = not jinja or (own is None and _is_builtin_name(override))
        override = own or override
        self.source = override or info.chat_template or CHATML
        if self.source == _CHATML_NAME:
            self.source = CHATML
        self._named = {"default": self.source, **info.chat_templates}
        tool_use = None if override else info.chat_templates.get("tool_use")
        self.tool_use_source = tool_use if not self._is_legacy else None
        self._legacy_name = _legacy_template(override, info.chat_template)
        self._parse_special_content = parse_special_content

    @cached_property
    def _specials(self) -> SpecialTexts:
        """Read for the first prompt: what only shows the templates needs no model."""
        if self._parse_special_content:
            return SpecialTexts(())
        return _special_texts(self._engine.vocab)

    @property
    def capabilities(self) -> dict[str, bool]:
        """What the template understands, as ``/props`` shows it."""
        try:
            return dict(_capabilities(CHATML if self._is_legacy else self.source))
        except TemplateError:  # it does not parse, as every chat is told
            return Capabilities().as_dict()

    def render(self, conversation: Conversation) -> str:
        """Return the text of `prompt`."""
        return self.prompt(conversation).text

    def prompt(self, conversation: Conversation) -> ChatPrompt:
        """Return the prompt of a conversation.

        Raises:
            MessageError: The messages are malformed.
            TemplateError: The template refused the conversation, and there is no
                template of the name that the request gives.
        """
        template = self.template_of(conversation)
        if template is None:
            rendering = self._legacy_rendering(conversation)
        else:
            rendering = self._jinja_rendering(conversation, template)
        begun = conversation.continuation
        if begun is not None:
            rendering = rendering.continued(begun, format_of(template))
        rendered = guarded(
            self._specials, rendering.values, rendering.render, rendering.plain
        )
        vocab = self._engine.vocab
        prompt = without_ends(
            rendered,
            self._bos if vocab.add_bos else "",
            self._eos if vocab.add_eos and begun is None else "",
        )
        return ChatPrompt(
            prompt.text, self._specials.pieces(prompt.text, prompt.foreign)
        )

    def template_of(self, conversation: Conversation) -> ChatTemplate | None:
        """Return the template that renders a conversation; None: a built-in one.

        Raises:
            TemplateError: There is none of the name that the request gives.
        """
        name = conversation.template_name
        if self._is_legacy:
            if name is not None:
                raise _no_such_template(name, ())
            return None
        if name is not None:
            if name not in self._named:
                raise _no_such_template(name, self._named)
            return _compiled(self._named[name], self._bos, self._eos)
        source = self.tool_use_source if conversation.tools else None
        return _compiled(source or self.source, self._bos, self._eos)

    def _jinja_rendering(
        self, conversation: Conversation, template: ChatTemplate
    ) -> _Rendering:
        now = datetime.now()
        trusted, extra = self._shared(conversation.template_kwargs)

        def render(values: Values) -> str:
            return template.render(
                values["messages"],
                tools=values["tools"],
                documents=values["documents"],
                add_generation_prompt=conversation.add_generation_prompt,
                extra={**trusted, **values["extra"]},
                now=now,
            )

        rest: Values = {"documents": conversation.documents, "extra": extra}
        told, tools = _with_tools_told(conversation, template)
        messages = normalise_messages(told, _capabilities(template.source))
        if "<|channel|>" in template.source:
            _restore_developer(messages, told)
        text, talk = render_repaired(
            Talk(messages, tools),
            lambda talk: render(
                {**rest, "messages": talk.messages, "tools": talk.tools}
            ),
            _needed_repairs(template.source),
        )
        return _Rendering(
            {**rest, "messages": talk.messages, "tools": talk.tools}, render, text
        )

    def _shared(self, variables: Mapping[str, Any]) -> tuple[Values, Values]:
        """Return the variables that the server's flags set, and the request's."""
        trusted = {
            name: value
            for name, value in variables.items()
            if name in self._variables and self._variables[name] == value
        }
        return trusted, {k: v for k, v in variables.items() if k not in trusted}

    def _legacy_rendering(self, conversation: Conversation) -> _Rendering:
        messages = normalise_messages(conversation.messages)
        pairs = [(str(each["role"]), str(each["content"])) for each in messages]
        values: Values = {"messages": pairs}

        def render(values: Values) -> str:
            turns = [(role, content) for role, content in values["messages"]]
            return self._render_legacy(turns, conversation.add_generation_prompt)

        return _Rendering(values, render, render(values))

    def _render_legacy(
        self, messages: Sequence[tuple[str, str]], add_generation_prompt: bool
    ) -> str:
        ends = {"add_generation_prompt": add_generation_prompt}
        try:
            return self._engine.render_legacy(self._legacy_name, messages, **ends)
        except TemplateError:
            # As llama-server: a template the renderer does not know becomes ChatML.
            return self._engine.render_legacy(_CHATML_NAME, messages, **ends)


def _no_such_template(name: str, known: Iterable[str]) -> TemplateError:
    names = ", ".join(sorted(known)) or "none that can be chosen by name"
    return TemplateError(f"there is no chat template '{name[:64]}'; there are: {names}")


def _is_builtin_name(template: str | None) -> bool:
    return (
        template is not None
        and template != _CHATML_NAME
        and _NAME.fullmatch(template) is not None
    )


def _legacy_template(override: str | None, of_model: str | None) -> str:
    return override or of_model or _CHATML_NAME


def _with_tools_told(
    conversation: Conversation, template: ChatTemplate
) -> tuple[list[dict[str, Any]], list[dict[str, Any]] | None]:
    """Return messages and tools, both in words where the template has none for them.

    A conversation without tools is left alone: what it holds of calls is repaired.

    Raises:
        MessageError: The messages are malformed.
    """
    messages, tools = conversation.messages, conversation.tools
    if not tools or describes_tools(template):
        return messages, tools
    normalise_messages(messages)  # while they have the numbers that the client knows
    syntax = format_of(template).tools or GENERIC
    if conversation.tool_use.may_call:
        messages = tools_described(messages, tools, syntax)
    if syntax is GENERIC:
        return calls_as_text(messages), None
    return messages, tools


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
def _needed_repairs(source: str) -> tuple[Repair, ...]:
    return needed_repairs(_compiled(source, "", ""))


@lru_cache(maxsize=16)
def _capabilities(source: str) -> Mapping[str, bool]:
    return template_capabilities(_compiled(source, "", ""))
