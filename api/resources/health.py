"""Whether the server works: ``/health``, ``/readyz`` and ``/livez``."""

from __future__ import annotations

import falcon

from api.resources.base import Resource, send_json

__all__ = ("Health", "Live")


class Health(Resource):
    """``GET /health``, ``/readyz``: middleware answers for every state but this one."""

    needs_model = False

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer that generations are served."""
        send_json(resp, {"status": "ok"})

    on_head = on_get


class Live(Health):
    """``GET /livez``: 200 unless only a restart can help, also while loading."""
