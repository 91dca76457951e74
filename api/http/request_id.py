"""What a request is called in its reply, in the log and in error bodies. Pure."""

from __future__ import annotations

import re
import uuid

from api.protocol.messages.error import speaks_anthropic

__all__ = ("id_headers", "request_name")

_ACCEPTED = re.compile(r"[\x21-\x7e]{1,128}")


def request_name(given: str | None) -> str:
    """Return the client's name for its request if it is printable, else a new one."""
    return given if given and _ACCEPTED.fullmatch(given) else uuid.uuid4().hex


def id_headers(path: str, name: str) -> list[tuple[str, str]]:
    """Return the headers that tell `name`: Anthropic's clients look for another."""
    headers = [("X-Request-Id", name)]
    if speaks_anthropic(path):
        headers.append(("Request-Id", name))
    return headers
