"""Large requests take turns, so that everybody else has a processor and memory left."""

from __future__ import annotations

import threading
from typing import Any

import falcon

from api.errors import ClientGone
from api.observing.exchange import exchange_of
from api.streams.client import WAIT_SLICE_S, Client

__all__ = ("Bulk", "LARGE_BYTES")

LARGE_BYTES = 256 << 10
"""PERF: what is done with such a body holds Python's lock for long. 24 texts of 5 MB
that were tokenized at once held /health back for up to 15 s; now it is 1 s."""
_AT_ONCE = 2


class Bulk:
    """Middleware that lets few large bodies be worked on at a time.

    A turn lasts from the first look at the body until the generations it asks for are
    submitted, or the answer is made: nobody waits for another's tokens.
    """

    def __init__(self) -> None:
        self._turns = threading.Semaphore(_AT_ONCE)

    def process_resource(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        resource: object,
        params: dict[str, Any],
    ) -> None:
        """Wait for a turn.

        Raises:
            ClientGone: The client left meanwhile.
        """
        if (req.content_length or 0) < LARGE_BYTES:
            return
        client = Client(req.env)
        while not self._turns.acquire(timeout=WAIT_SLICE_S):
            if client.is_gone():
                raise ClientGone
        turn = req.context.bulk_turn = _Turn(self._turns)
        exchange = exchange_of(req.env)
        if exchange is not None:
            exchange.on_submitted = turn.end

    def process_response(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        resource: object,
        req_succeeded: bool,
    ) -> None:
        """End the turn."""
        turn = getattr(req.context, "bulk_turn", None)
        if turn is not None:
            turn.end()


class _Turn:
    """One place, given back once."""

    def __init__(self, turns: threading.Semaphore) -> None:
        self._turns: threading.Semaphore | None = turns

    def end(self) -> None:
        turns, self._turns = self._turns, None
        if turns is not None:
            turns.release()
