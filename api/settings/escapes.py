"""Escapes in texts of the command line, as llama-server reads them. Pure."""

from __future__ import annotations

import re

__all__ = ("unescaped",)

_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_MEANINGS = {"n": "\n", "r": "\r", "t": "\t", "'": "'", '"': '"', "\\": "\\"}


def unescaped(text: str) -> str:
    r"""Replace ``\n``, ``\r``, ``\t``, quotes, ``\\`` and ``\xHH``; others stay.

    ``\xHH`` is a byte of UTF-8 (common/common.cpp, ``string_process_escapes``).
    """
    raw = _ESCAPE.sub(_meaning, text)
    return raw.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _meaning(match: re.Match[str]) -> str:
    if match[1] is not None:
        # A byte that is no character of its own waits as a surrogate for the others.
        return bytes.fromhex(match[1]).decode("utf-8", "surrogateescape")
    return _MEANINGS.get(match[2], match[0])
