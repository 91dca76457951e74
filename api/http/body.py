"""Reading a request body, whatever its content type says."""

from __future__ import annotations

from typing import Any

import falcon

from api.json_loader import load_array, load_object
from api.protocol.invalid import InvalidRequest

__all__ = ("read_array", "read_json")


def read_json(req: falcon.Request, max_bytes: int) -> dict[str, Any]:
    """Return the body as a JSON object; see `_read`."""
    return load_object(_read(req, max_bytes))


def read_array(req: falcon.Request, max_bytes: int) -> list[Any]:
    """Return the body as a JSON array; see `_read`."""
    return load_array(_read(req, max_bytes))


def _read(req: falcon.Request, max_bytes: int) -> bytes:
    """Return the body's bytes.

    The media type is not looked at: ``curl -d '{…}'`` sends JSON as a form.

    Raises:
        InvalidRequest: The body is compressed (415) or too large (413); callers add
            that it is not JSON (400).
    """
    coding = (req.get_header("Content-Encoding") or "identity").strip().lower()
    if coding != "identity":
        raise InvalidRequest(
            f"the request body is encoded with {coding[:64]}; send it as it is",
            status=415,
        )
    length = req.content_length
    if length is not None and length > max_bytes:
        raise _too_large(max_bytes)
    # Without a length the body is chunked: only then does the server mark its end.
    is_chunked = length is None and req.env.get("wsgi.input_terminated")
    stream = req.stream if is_chunked else req.bounded_stream
    body: bytes = stream.read(max_bytes + 1)
    if len(body) > max_bytes:
        raise _too_large(max_bytes)
    return body


def _too_large(max_bytes: int) -> InvalidRequest:
    return InvalidRequest(
        f"the request body is too large; the limit is {max_bytes} bytes", status=413
    )
