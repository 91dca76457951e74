"""What the tests of the documentation read out of a Markdown page."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ("anchors", "code_blocks", "links", "prose")

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)


def code_blocks(text: str, language: str) -> list[str]:
    """Return the fenced blocks of `language`."""
    return [body for name, body in _FENCE.findall(text) if name == language]


def prose(text: str) -> str:
    """Return `text` without its fenced blocks."""
    return _FENCE.sub("", text)


def links(text: str) -> list[str]:
    """Return the targets of all links."""
    return _LINK.findall(prose(text))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as a forge makes them."""
    titles = _HEADING.findall(prose(page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in titles}
