"""Responses that were made before: fetched, deleted, cancelled."""

from __future__ import annotations

from typing import Any

import falcon

from api.protocol.invalid import InvalidRequest, NotSupported
from api.protocol.responses_items import Item
from api.resources.base import Resource, send_json
from api.responses.store import StoredResponse

__all__ = ("CancelResponse", "KeptResponse", "ResponseInputItems")

_MOST_ITEMS = 100
_USUAL_ITEMS = 20


class _Kept(Resource):
    """Finds the response of a path."""

    needs_model = False

    def _find(self, req: falcon.Request, response_id: str) -> StoredResponse:
        stored = self._context.responses.get(req.context.key_index, response_id)
        if stored is None:
            raise InvalidRequest(
                f"Response with id '{response_id[:80]}' not found.", status=404
            )
        return stored


class KeptResponse(_Kept):
    """``/v1/responses/{response_id}``."""

    def on_get(
        self, req: falcon.Request, resp: falcon.Response, response_id: str
    ) -> None:
        """Show a response as it is now."""
        stored = self._find(req, response_id)
        if (req.get_param("stream") or "").lower() in ("true", "1"):
            raise NotSupported(
                "stream", "a response is not streamed again; poll without it"
            )
        send_json(resp, stored.run.response())

    on_head = on_get

    def on_delete(
        self, req: falcon.Request, resp: falcon.Response, response_id: str
    ) -> None:
        """Forget a response; one that is still being made ends."""
        self._context.responses.remove(self._find(req, response_id))
        send_json(resp, {"id": response_id, "object": "response", "deleted": True})


class CancelResponse(_Kept):
    """``POST /v1/responses/{response_id}/cancel``."""

    def on_post(
        self, req: falcon.Request, resp: falcon.Response, response_id: str
    ) -> None:
        """End a background response; nothing happens to one that has ended."""
        stored = self._find(req, response_id)
        if not stored.is_background:
            raise InvalidRequest(
                "Cannot cancel a synchronous response: only those made with "
                "background=true. Close its connection instead.",
                "response_id",
            )
        stored.run.cancel()
        send_json(resp, stored.run.response())


class ResponseInputItems(_Kept):
    """``GET /v1/responses/{response_id}/input_items``."""

    def on_get(
        self, req: falcon.Request, resp: falcon.Response, response_id: str
    ) -> None:
        """List what a response was made from, earlier turns included."""
        items = self._find(req, response_id).turn.context()
        if _choice(req, "order", ("desc", "asc")) == "desc":
            items.reverse()
        send_json(resp, _page(_after(items, req.get_param("after")), _limit(req)))

    on_head = on_get


def _choice(req: falcon.Request, name: str, words: tuple[str, ...]) -> str:
    value = req.get_param(name) or words[0]
    if value not in words:
        raise InvalidRequest.field(name, f"Value must be one of {', '.join(words)}")
    return value


def _limit(req: falcon.Request) -> int:
    text = req.get_param("limit") or str(_USUAL_ITEMS)
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:4]) <= _MOST_ITEMS):
        raise InvalidRequest.field(
            "limit", f"Value must be a whole number within 1 … {_MOST_ITEMS}"
        )
    return int(text)


def _after(items: list[Item], id: str | None) -> list[Item]:
    if id is None:
        return items
    for index, item in enumerate(items):
        if item["id"] == id:
            return items[index + 1 :]
    raise InvalidRequest.field("after", f"no item of this response is '{id[:80]}'")


def _page(items: list[Item], limit: int) -> dict[str, Any]:
    page = items[:limit]
    return {
        "object": "list",
        "data": page,
        "first_id": page[0]["id"] if page else None,
        "last_id": page[-1]["id"] if page else None,
        "has_more": len(items) > limit,
    }
