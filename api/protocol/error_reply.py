"""A refusal as clients get it. Pure: what leads to which is `api.errors`' table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ("ErrorReply",)

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
    500: "server_error",
    501: "not_supported_error",
    503: "unavailable_error",
}


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """Status, body and headers of a refusal."""

    status: int
    message: str
    kind: str | None = None
    """The error's ``type``; None: the usual one of the status."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """More keys inside ``error``."""
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """Return the JSON object that OpenAI's and llama-server's routes send."""
        default = "server_error" if self.status >= 500 else "invalid_request_error"
        kind = self.kind or _KINDS.get(self.status, default)
        error = {"code": self.status, "message": self.message, "type": kind}
        return {"error": {**error, **self.extra}}
