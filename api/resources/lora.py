"""``/lora-adapters``: the adapters, and the scales of requests that name none."""

from __future__ import annotations

from typing import Any

import falcon

from api.http.body import read_array
from api.protocol.lora import read_lora
from api.resources.base import Resource, send_json
from llamactypes.engine import AdapterInfo

__all__ = ("LoraAdapters",)


class LoraAdapters(Resource):
    """``GET`` and ``POST /lora-adapters``."""

    needs_model = False

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """List the adapters of ``--lora`` and ``--lora-scaled``."""
        adapters = self._context.engine.adapters
        shown = [_shown(i, info, scale) for i, (info, scale) in enumerate(adapters)]
        send_json(resp, shown)

    on_head = on_get

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Choose the scales from now on; adapters that are not named are off."""
        body = read_array(req, self._context.settings.max_body_bytes)
        self._context.engine.set_adapters(dict(read_lora(body) or ()))
        send_json(resp, {"success": True})


def _shown(id: int, info: AdapterInfo, scale: float) -> dict[str, Any]:
    shown = {
        "id": id,
        "path": info.path,
        "scale": scale,
        "task_name": info.task_name,
        "prompt_prefix": info.prompt_prefix,
    }
    if info.invocation_tokens:
        shown["alora_invocation_string"] = info.invocation_text
        shown["alora_invocation_tokens"] = list(info.invocation_tokens)
    return shown
