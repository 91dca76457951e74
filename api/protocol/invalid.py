"""What a request can be refused for, before anything is computed. Pure."""

from __future__ import annotations

__all__ = ("InvalidRequest", "NotSupported")


class InvalidRequest(Exception):  # noqa: N818 - a value thrown to the client
    """The request cannot be honoured as it stands.

    Attributes:
        message: Names the thing and what it may be.
        param: The parameter at fault, as the client spelt it.
        status: HTTP status.
        kind: The error's ``type`` in the reply.
        code: The error's ``code``; None: the status.
    """

    def __init__(
        self,
        message: str,
        param: str | None = None,
        *,
        status: int = 400,
        kind: str = "invalid_request_error",
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.status = status
        self.kind = kind
        self.code = code

    @staticmethod
    def field(name: str, reason: str) -> InvalidRequest:
        """Return the error for a field, worded as llama-server words it."""
        return InvalidRequest(f"Field '{name}': {reason}", name)


class NotSupported(InvalidRequest):
    """A parameter that we know, do not honour, and therefore do not ignore."""

    def __init__(self, param: str, detail: str) -> None:
        super().__init__(f"not supported: {param} ({detail})", param)
