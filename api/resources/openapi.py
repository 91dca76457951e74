"""``/openapi.json``: what this server understands, for programs."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import falcon

from api.context import ServingContext
from api.json_loader import dumps_bytes
from api.openapi.document import openapi_document
from api.resources.base import Resource

__all__ = ("OpenApi",)


class OpenApi(Resource):
    """``GET /openapi.json``."""

    needs_model = False

    def __init__(self, context: ServingContext) -> None:
        super().__init__(context)
        self._text = b""

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Describe every route, its requests and its errors."""
        if not self._text:
            self._text = dumps_bytes(self._document())
        resp.content_type = "application/json; charset=utf-8"
        resp.data = self._text

    on_head = on_get

    def _document(self) -> dict[str, Any]:
        settings = self._context.settings
        return openapi_document(
            self._context.routes,
            version=_version(),
            prefix=settings.api_prefix,
            has_keys=bool(settings.api_keys),
        )


def _version() -> str:
    try:
        return metadata.version("llamactypes")
    except metadata.PackageNotFoundError:  # run from a source tree
        return "0"
