"""What the resources share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import falcon

from api import sse
from api.context import ServingContext
from api.errors import JSON_TYPE
from api.http.body import read_json
from api.json_loader import dumps_large

__all__ = ("Resource", "send_events", "send_json")


def send_json(resp: falcon.Response, value: Any) -> None:
    """Answer with JSON of a known length, so that the connection stays alive."""
    resp.content_type = JSON_TYPE
    resp.data = dumps_large(value)


def send_events(resp: falcon.Response, body: Iterable[bytes]) -> None:
    """Answer with server-sent events. The last statement of a responder.

    Falcon drops a stream without closing it when anything raises after this.
    """
    resp.content_type = sse.CONTENT_TYPE
    resp.set_header("Cache-Control", "no-cache, no-transform")
    resp.set_header("X-Accel-Buffering", "no")
    resp.stream = body


class Resource:
    """A route's handlers; one object serves all requests, on any thread."""

    needs_model = True
    """A sleeping engine loads its model first, and keeps it until the end."""

    def __init__(self, context: ServingContext) -> None:
        self._context = context

    def _read_json(self, req: falcon.Request) -> dict[str, Any]:
        body = read_json(req, self._context.settings.max_body_bytes)
        req.context.body = body
        return body
