"""Streams of conversations: read again, looked up, stopped."""

from __future__ import annotations

from typing import Any

import falcon

from api.protocol.invalid import InvalidRequest
from api.resources.base import Resource, send_events, send_json
from api.resources.resumable import send_whole_log
from api.streams.client import Client
from api.streams.log_body import LogBody
from api.streams.ring import OffsetLost
from api.streams.stores.reading import ReadableLog

__all__ = ("Stream", "StreamLookup")

_LONGEST_NUMBER = 18


class Stream(Resource):
    """``/v1/stream/{conversation_id}``, or ``/v1/stream?conv_id=…``."""

    needs_model = False
    follows = True
    """A GET may take as long as a generation: no look at what is there."""

    def on_get(
        self, req: falcon.Request, resp: falcon.Response, conversation_id: str = ""
    ) -> None:
        """Read a stream from an offset to its end, and on while it is live."""
        log = self._find(req, conversation_id)
        offset = _offset(req)
        if log.keeps_errors:
            self._send_whole(req, resp, log, offset)
            return
        has_snapshots = req.get_param_as_bool("snapshot", default=False)
        if offset < log.first and not has_snapshots:
            self._context.streams.followers.note_lost()
            raise OffsetLost(offset, log.first)
        # A silent prompt: this sends the headers, at an offset all readers agree on.
        log.greet()
        followers = self._context.streams.followers
        followers.follow()
        body = LogBody(
            log,
            Client(req.env),
            offset,
            followers.unfollow,
            has_snapshots=has_snapshots,
            has_progress=req.get_param_as_bool("progress", default=False),
            is_late=True,
        )
        send_events(resp, body)

    def on_head(
        self, req: falcon.Request, resp: falcon.Response, conversation_id: str = ""
    ) -> None:
        """Tell whether a stream can be read."""
        resp.content_type = self._find(req, conversation_id).content_type

    def on_delete(
        self, req: falcon.Request, resp: falcon.Response, conversation_id: str = ""
    ) -> None:
        """End a conversation's generation and forget its stream, if there is one."""
        conversation_id = _id(req, conversation_id)
        self._context.streams.stop(self._owner(req), conversation_id)
        resp.status = falcon.HTTP_204

    def _owner(self, req: falcon.Request) -> str | None:
        return self._context.owner_of(req.context.key_index)

    def _find(self, req: falcon.Request, conversation_id: str) -> ReadableLog:
        conversation_id = _id(req, conversation_id)
        log = self._context.streams.find(self._owner(req), conversation_id)
        if log is None:
            raise InvalidRequest(
                "Stream not found or expired", status=404, kind="not_found_error"
            )
        return log

    def _send_whole(
        self, req: falcon.Request, resp: falcon.Response, log: ReadableLog, offset: int
    ) -> None:
        """Answer with a body that was no stream, when it is there."""
        followers, n_sent = self._context.streams.followers, 0
        followers.follow()
        try:
            n_sent = send_whole_log(resp, log, Client(req.env), offset)
        finally:
            followers.unfollow(n_sent)
        digest = log.crc
        resp.set_header("Repr-CRC32", f"{digest:08x}")


class StreamLookup(Resource):
    """``POST /v1/streams/lookup``."""

    needs_model = False

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Tell how far the streams of some conversations are."""
        ids = self._read_json(req).get("conversation_ids")
        if ids is not None and not isinstance(ids, list):
            raise InvalidRequest.field("conversation_ids", "Type must be array")
        wanted = [each for each in ids or () if isinstance(each, str) and each]
        owner = self._context.owner_of(req.context.key_index)
        found = self._context.streams.lookup(owner, wanted)
        send_json(resp, [_status(id, log) for id, log in found])


def _status(conversation_id: str, log: ReadableLog) -> dict[str, Any]:
    return {
        "conversation_id": conversation_id,
        "is_done": log.is_done,
        "total_bytes": log.n_total,
        "started_at": log.started_at,
        "completed_at": log.completed_at,
        "total_events": log.n_events,
        "is_continued": getattr(log, "is_continued", False),
        "crc32": f"{log.crc:08x}",
    }


def _id(req: falcon.Request, in_path: str) -> str:
    found = in_path or req.get_param("conv_id") or ""
    if not found:
        raise InvalidRequest("Missing conversation id in path", "conv_id")
    return found


def _offset(req: falcon.Request) -> int:
    """Return where to read on: ``from``, or after the event of ``Last-Event-ID``."""
    name, text = "from", req.get_param("from")
    if text is None:
        name, text = "Last-Event-ID", req.get_header("Last-Event-ID") or "0"
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER):
        raise InvalidRequest(
            f"Invalid '{name}' offset: a whole number of bytes is expected", name
        )
    return int(text)
