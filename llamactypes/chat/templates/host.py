"""What some templates want of the program around them. Pure.

Thinking has two names. Firefunction reads the tools as a text of JSON, TranslateGemma
reads languages beside each text: which of it a template wants is told by the names in
its source.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ("for_host",)

_LANGUAGES = ("source_lang_code", "target_lang_code")
_DEFAULT_LANGUAGE = "en-GB"


def for_host(
    names: frozenset[str], variables: dict[str, Any], extra: Mapping[str, Any]
) -> dict[str, Any]:
    """Return `variables` with what a template wants besides.

    Args:
        names: What it reads and nobody sets, and the language codes if it knows them.
        variables: As given to every template.
        extra: The caller's own, which may name the languages.
    """
    added: dict[str, Any] = {
        "messages": [_with_thinking(each) for each in variables["messages"]]
    }
    if "functions" in names:
        added["functions"] = json.dumps(
            variables["tools"] or [], ensure_ascii=False, indent=2
        )
    if names.issuperset(_LANGUAGES):
        codes = {name: extra.get(name, _DEFAULT_LANGUAGE) for name in _LANGUAGES}
        added["messages"] = _with_languages(added["messages"], codes)
    return {**variables, **added}


def _with_thinking(message: Mapping[str, Any]) -> dict[str, Any]:
    """Give thinking its other name, too, as transformers does: gpt-oss reads that."""
    thinking = message.get("reasoning_content")
    return dict(message) if thinking is None else {"thinking": thinking, **message}


def _with_languages(
    messages: Sequence[Mapping[str, Any]], codes: Mapping[str, Any]
) -> list[dict[str, Any]]:
    return [
        {**message, "content": [{"type": "text", "text": message["content"], **codes}]}
        if message.get("role") == "user" and isinstance(message["content"], str)
        else dict(message)
        for message in messages
    ]
