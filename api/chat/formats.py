"""How the model of a loaded template writes: learned once, then remembered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from llamactypes.chat import ChatTemplate, template_capabilities
from llamactypes.chat.learning import learn_format
from llamactypes.chat.output.format import ChatFormat, Tags
from llamactypes.chat.tool_text import GENERIC

__all__ = (
    "PLAIN",
    "describes_tools",
    "format_of",
    "has_thought",
    "marker_tokens",
    "said_in",
)

PLAIN = ChatFormat()
"""Of the library's own templates: nothing is known of how their models write."""


def format_of(template: ChatTemplate | None) -> ChatFormat:
    """Return the format of a template; None: one of the library's own."""
    if template is None:
        return PLAIN
    return _learned(template.source, template.bos_token, template.eos_token)


def describes_tools(template: ChatTemplate) -> bool:
    """Return whether a template tells the model of tools.

    Else it is told in words; see `llamactypes.chat.tool_text`.
    """
    return _describes_tools(template.source)


@lru_cache(maxsize=16)
def _learned(source: str, bos: str, eos: str) -> ChatFormat:
    learned = learn_format(ChatTemplate(source, bos_token=bos, eos_token=eos))
    if learned.tools is None:
        return replace(learned, tools=GENERIC)
    return learned


@lru_cache(maxsize=16)
def _describes_tools(source: str) -> bool:
    return template_capabilities(ChatTemplate(source))["supports_tools"]


def has_thought(prompt: str, form: ChatFormat) -> bool:
    """Return whether a prompt ends with thinking that is closed: none comes then.

    So templates write it where none is wanted.
    """
    closing = form.reasoning.close.strip() if form.reasoning is not None else ""
    return bool(closing) and not form.prompted and prompt.rstrip().endswith(closing)


def said_in(prefill: str, tags: Tags | None) -> str:
    """Return the answer in content that is continued, without thinking in tags."""
    closing = "" if tags is None else tags.close.strip()
    if not closing or closing not in prefill:
        return prefill
    return prefill.rpartition(closing)[2].lstrip()


def marker_tokens(
    form: ChatFormat, control_tokens: Mapping[str, int]
) -> frozenset[int]:
    """Return the control tokens that must be seen to read a text of this format."""
    markers = form.markers
    return frozenset(
        token
        for text, token in control_tokens.items()
        if text and any(text in marker for marker in markers)
    )
