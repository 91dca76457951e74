"""``POST /v1/chat/completions/control``: ends the thinking of a running answer."""

from __future__ import annotations

from typing import Any

import falcon

from api.protocol.fields import text
from api.protocol.invalid import InvalidRequest
from api.resources.base import Resource, send_json
from llamactypes.engine import Generation

__all__ = ("ChatControl",)


class ChatControl(Resource):
    """Answers as llama-server does, with 200 when there is nothing to end, too."""

    needs_model = False

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """End the thinking of the completion that the body names."""
        body = self._read_json(req)
        id = text(body, "id", "")
        if not id:
            raise InvalidRequest("missing completion id", "id")
        if text(body, "action", "") != "reasoning_end":
            raise InvalidRequest("unknown control action", "action")
        send_json(resp, _ended(self._context.running.find(id)))


def _ended(generations: list[Generation]) -> dict[str, Any]:
    if not generations:
        return {"success": False, "message": "no active completion for this id"}
    limits = [generation.request.thinking for generation in generations]
    controls = [limit.control for limit in limits if limit and limit.control]
    if not controls:
        message = "reasoning control not enabled for this completion"
        return {"success": False, "message": message}
    for control in controls:
        control.end()
    return {"success": True}
