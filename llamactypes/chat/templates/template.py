"""A model's chat template: conversation in, prompt text out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from types import TracebackType
from typing import Any

import jinja2
from jinja2 import meta

from llamactypes.chat.templates.budget import RenderBudget
from llamactypes.chat.templates.environment import (
    NOW,
    ChatEnvironment,
    make_environment,
)
from llamactypes.chat.templates.host import for_host
from llamactypes.errors import TemplateError, TemplateLimit

__all__ = ("CHATML", "MAX_SOURCE_CHARS", "ChatTemplate")

CHATML = """\
{%- for message in messages -%}
{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ '<|im_start|>assistant\\n' }}
{%- endif -%}
"""
"""The template for a model that brings none (ChatML, llama-server's fallback)."""

MAX_SOURCE_CHARS = 1024 * 1024
"""Longest template text, in characters."""

_TEMPLATE_FILE = "<template>"
_CODES = ("source_lang_code", "target_lang_code")
_OPTIONAL = ("tools", "documents")
_PYTHON_ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    TypeError,
    ValueError,
)


class ChatTemplate:
    """A compiled chat template. Immutable: any thread may render, at the same time.

    Attributes:
        source: The template's text.
        name: The template's name in messages, such as ``default`` or ``tool_use``.
        bos_token: Text given to the template as ``bos_token``.
        eos_token: Text given to the template as ``eos_token``.
    """

    def __init__(
        self,
        source: str,
        *,
        bos_token: str = "",
        eos_token: str = "",
        name: str = "default",
    ) -> None:
        """Compile `source`.

        Raises:
            TemplateError: The text does not parse (the message has the line number)
                or is longer than `MAX_SOURCE_CHARS`.
        """
        self.source = source
        self.name = name
        self.bos_token = bos_token
        self.eos_token = eos_token
        self._environment = _environment(grows_lists=_grows_lists(source))
        self._template = self._compile()
        self._names = self._names_read()

    def _compile(self) -> jinja2.Template:
        if len(self.source) > MAX_SOURCE_CHARS:
            raise TemplateError(
                f"chat template '{self.name}' has {len(self.source)} characters; "
                f"the limit is {MAX_SOURCE_CHARS}"
            )
        try:
            return self._environment.from_string(self.source)
        except jinja2.TemplateSyntaxError as error:
            raise TemplateError(
                f"chat template '{self.name}' does not parse: "
                f"line {error.lineno}: {error.message}"
            ) from error
        except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
            raise TemplateError(
                f"chat template '{self.name}' cannot be compiled: {error}"
            ) from error

    def _names_read(self) -> frozenset[str]:
        names = meta.find_undeclared_variables(self._environment.parse(self.source))
        return frozenset(names | {code for code in _CODES if code in self.source})

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True,
        extra: Mapping[str, Any] | None = None,
        now: datetime | None = None,
    ) -> str:
        """Return the prompt for a conversation.

        Args:
            messages: What the template loops over, as it expects it; see
                `llamactypes.chat.normalise_messages`. JSON values only.
            tools: Tool definitions in OpenAI's form, or None for no tools.
            documents: Retrieved documents, or None.
            add_generation_prompt: End with the beginning of the assistant's turn.
            extra: More variables (``enable_thinking``, ``reasoning_effort``, …);
                they win over the standard ones.
            now: Present time for ``strftime_now``, ``date_string`` and ``datetime``.

        Raises:
            TemplateError: The template refused the conversation (its own message), it
                used something undefined or forbidden, or it passed a limit of
                `llamactypes.chat.templates.budget`.
        """
        moment = now or datetime.now()
        own = _own if self._environment.grows_lists else _same
        variables = {
            "messages": own(list(messages)),
            "tools": own(tools),
            "documents": own(documents),
            "add_generation_prompt": add_generation_prompt,
            "bos_token": self.bos_token,
            "eos_token": self.eos_token,
            "date_string": moment.strftime("%d %b %Y"),
            "datetime": moment.strftime("%b %d %Y"),
        }
        given = own(dict(extra or {}))
        variables = {**for_host(self._names, variables, given), **given}
        budget = RenderBudget()
        with self._errors_explained(), budget.active(), _present(now):
            try:
                return self._text(variables, budget)
            except TypeError:
                # Hugging Face gives None for absent tools, llama-server nothing at
                # all; a template that loops over them unasked knows only the latter.
                missing = [key for key in _OPTIONAL if variables[key] is None]
                if not missing:
                    raise
                given = {k: v for k, v in variables.items() if k not in missing}
                return self._text(given, budget)

    def _text(self, variables: dict[str, Any], budget: RenderBudget) -> str:
        pieces = []
        for piece in self._template.generate(variables):
            budget.write(piece)
            pieces.append(piece)
        return "".join(pieces)

    @contextmanager
    def _errors_explained(self) -> Iterator[None]:
        try:
            yield
        except jinja2.exceptions.SecurityError as error:
            raise TemplateLimit(self._failure("is not allowed", error)) from error
        except jinja2.TemplateError as error:
            if type(error) is jinja2.TemplateError:  # from raise_exception
                raise TemplateError(error.message or "") from error
            raise TemplateError(self._failure("failed", error)) from error
        except RecursionError as error:
            reason = "it calls itself without end"
            raise TemplateLimit(self._failure("failed", reason)) from error
        except _PYTHON_ERRORS as error:
            raise TemplateError(self._failure("failed", error)) from error

    def _failure(self, verb: str, error: Exception | str) -> str:
        place = ""
        if isinstance(error, Exception):
            line = _template_line(error.__traceback__)
            place = f" at line {line}" if line else ""
        text = f"chat template '{self.name}' {verb}{place}: {error}"
        return text.rstrip(": ")


def _grows_lists(source: str) -> bool:
    """Whether a template changes lists, which must then be its own."""
    return ".append(" in source or ".pop(" in source


def _own(value: Any) -> Any:
    """Copy JSON values, so that a template's changes stay in its rendering."""
    if isinstance(value, Mapping):
        return {key: _own(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_own(each) for each in value]
    return value


def _same(value: Any) -> Any:
    return value


@lru_cache(maxsize=2)
def _environment(*, grows_lists: bool) -> ChatEnvironment:
    return make_environment(grows_lists=grows_lists)


@contextmanager
def _present(now: datetime | None) -> Iterator[None]:
    token = NOW.set(now)
    try:
        yield
    finally:
        NOW.reset(token)


def _template_line(traceback: TracebackType | None) -> int | None:
    # Jinja2 rewrites its frames so that their line numbers are the template's.
    line = None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == _TEMPLATE_FILE:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line
