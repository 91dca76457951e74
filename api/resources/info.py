"""Facts about the server: its properties, and the front page."""

from __future__ import annotations

import falcon

from api.protocol.invalid import InvalidRequest
from api.protocol.options import read_options
from api.resources.base import Resource, send_json
from api.resources.facts import props_reply
from llamactypes.engine import EngineState

__all__ = ("Front", "Props")


class Front(Resource):
    """``GET /``: who answers here."""

    needs_model = False

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Name the server and where to go from here."""
        prefix = self._context.settings.api_prefix
        send_json(
            resp,
            {
                "name": "llamactypes",
                "model": self._context.model_id,
                "api": f"{prefix}/v1",
                "docs": "docs/http_api.md",
                "routes": [
                    f"{prefix}{path}"
                    for path in ("/v1/chat/completions", "/v1/models", "/health")
                ],
            },
        )

    on_head = on_get


class Props(Resource):
    """``/props``."""

    needs_model = False

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Show the model, the defaults of a request and the chat template."""
        context = self._context
        engine, settings = context.engine, context.settings
        options = read_options({}, context.option_defaults, engine.vocab, 1)
        reply = props_reply(
            engine.info,
            model_id=context.model_id,
            default_request=options.requests([()])[0],
            chat_template=context.prompts.source,
            tool_use_template=context.prompts.tool_use_source,
            capabilities=context.prompts.capabilities,
            endpoints={
                "endpoint_slots": settings.slots,
                "endpoint_props": settings.props,
                "endpoint_metrics": settings.metrics,
                "ui": False,
            },
            is_deterministic=settings.engine.deterministic,
            is_sleeping=engine.state is EngineState.SLEEPING,
        )
        send_json(resp, reply)

    on_head = on_get

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Succeed without changing anything, as llama-server does."""
        if not self._context.settings.props:
            raise InvalidRequest(
                "This server does not support changing global properties. "
                "Start it with `--props`",
                status=501,
                kind="not_supported_error",
            )
        send_json(resp, {"success": True})
