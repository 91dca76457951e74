"""Errors in the shape of Anthropic's API. Pure."""

from __future__ import annotations

import re
from typing import Any

from api.protocol.error_reply import ErrorReply

__all__ = ("OVERLOADED", "anthropic_error", "speaks_anthropic")

OVERLOADED = 529
"""Anthropic's status for a server that has too much to do."""

_PATH = re.compile(r"/v1/messages(?:/|$)")

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    OVERLOADED: "overloaded_error",
}


def speaks_anthropic(path: str) -> bool:
    """Whether errors of `path` have Anthropic's shape, whatever prefix it has.

    Also true of what Anthropic has below its messages and this server has not.
    """
    return _PATH.search(path) is not None


def anthropic_error(reply: ErrorReply, request_id: str | None) -> dict[str, Any]:
    """Return the JSON object, ``{"type": "error", "error": {"type", "message"}}``."""
    default = "api_error" if reply.status >= 500 else "invalid_request_error"
    kind = _TYPES.get(reply.status, default)
    error: dict[str, Any] = {"type": kind, "message": _message(reply)}
    if "partial" in reply.extra:
        error["partial"] = reply.extra["partial"]
    return {"type": "error", "error": error, "request_id": request_id}


def _message(reply: ErrorReply) -> str:
    n_prompt = reply.extra.get("n_prompt_tokens")
    if n_prompt is not None:
        # Programs that compact a conversation wait for these words.
        most = reply.extra["n_ctx"] - 1
        return (
            f"prompt is too long: {n_prompt} tokens > {most} maximum; {reply.message}"
        )
    param = reply.extra.get("param")
    if param and str(param) not in reply.message:
        return f"{param}: {reply.message}"
    return reply.message
