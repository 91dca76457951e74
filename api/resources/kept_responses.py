"""Responses that were made before: fetched, deleted, cancelled."""

from __future__ import annotations

from typing import Any

import falcon

from api.protocol.invalid import InvalidRequest
from api.protocol.responses.items import Item
from api.resources.base import Resource, send_events, send_json
from api.responses.run import ResponseRun
from api.responses.store import StoredResponse
from api.responses.stream import ResponseStream
from api.streams.client import Client

__all__ = ("CancelResponse", "KeptResponse", "ResponseInputItems")

_MOST_ITEMS = 100
_USUAL_ITEMS = 20
_LONGEST_NUMBER = 18


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
        """Show a response as it is now, or its events after one of them."""
        run = self._find(req, response_id).run
        if req.get_param_as_bool("stream", default=False):
            self._send_events(req, resp, run)
        else:
            send_json(resp, run.response())

    def on_head(
        self, req: falcon.Request, resp: falcon.Response, response_id: str
    ) -> None:
        """Tell whether there is such a response."""
        send_json(resp, self._find(req, response_id).run.response())

    def _send_events(
        self, req: falcon.Request, resp: falcon.Response, run: ResponseRun
    ) -> None:
        if not run.keeps_events:
            raise InvalidRequest(
                "The events of this response were not kept: only those of responses "
                "made with background=true, or with an X-Conversation-Id, can be "
                "streamed again. Fetch it without stream.",
                "stream",
            )
        start = _starting_after(req) + 1
        followers = self._context.streams.followers
        followers.follow()
        interval_s = self._context.settings.sse_ping_interval_s
        client = Client(req.env)
        body = ResponseStream(run, client, interval_s, start, followers.unfollow)
        send_events(resp, body)

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


def _starting_after(req: falcon.Request) -> int:
    """Return the number of the last event that the client has; -1: it has none."""
    text = req.get_param("starting_after")
    if text is None:
        return -1
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER):
        raise InvalidRequest.field(
            "starting_after", "Value must be the sequence_number of an event"
        )
    return int(text)


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
