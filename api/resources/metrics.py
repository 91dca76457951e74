"""``GET /metrics``: what the engine has done, for Prometheus."""

from __future__ import annotations

import time

import falcon

from api.context import ServingContext
from api.observing.prometheus import CONTENT_TYPE, metrics_text
from api.protocol.invalid import InvalidRequest
from api.resources.base import Resource

__all__ = ("Metrics",)


class Metrics(Resource):
    """``GET /metrics``, when the server was started with ``--metrics``."""

    needs_model = False

    def __init__(self, context: ServingContext) -> None:
        super().__init__(context)
        self._started_at = time.time()

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Write a snapshot of the engine's counters."""
        if not self._context.settings.metrics:
            raise InvalidRequest(
                "This server does not support metrics endpoint. "
                "Start it with `--metrics`",
                status=501,
                kind="not_supported_error",
            )
        resp.content_type = CONTENT_TYPE
        resp.set_header("Process-Start-Time-Unix", f"{self._started_at:.0f}")
        context = self._context
        resp.data = metrics_text(
            context.engine.metrics(),
            context.traffic.counts(),
            context.streams.counts(),
        )

    on_head = on_get
