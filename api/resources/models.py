"""``/v1/models``: the one model, under all its names."""

from __future__ import annotations

import time
from typing import Any

import falcon

from api.protocol.invalid import InvalidRequest
from api.resources.base import Resource, send_json
from api.resources.facts import models_reply

__all__ = ("Model", "Models")


class Models(Resource):
    """``GET /v1/models``."""

    needs_model = False

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """List the one model."""
        send_json(resp, self._reply())

    on_head = on_get

    def _reply(self) -> dict[str, Any]:
        context = self._context
        aliases = context.aliases or [context.model_id]
        tags = sorted(set(context.settings.model_tags))
        info = context.engine.info
        return models_reply(info, context.model_id, aliases, tags, int(time.time()))


class Model(Models):
    """``GET /v1/models/{id}``: OpenAI's; llama-server has no such route."""

    def on_get(  # type: ignore[override]
        self, req: falcon.Request, resp: falcon.Response, model_id: str
    ) -> None:
        """Show the model under any of its names."""
        (entry,) = self._reply()["data"]
        if model_id not in (entry["id"], *entry["aliases"]):
            raise InvalidRequest(
                f"The model '{model_id[:200]}' does not exist; GET /v1/models lists "
                "what is served here",
                "model",
                status=404,
                kind="not_found_error",
                code="model_not_found",
            )
        send_json(resp, {**entry, "id": model_id})

    on_head = on_get  # type: ignore[assignment]
