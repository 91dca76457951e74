"""How many requests were answered, by route and status."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import falcon

__all__ = ("OTHER", "Answered", "Traffic")

OTHER = "other"
"""Stands for paths that are no route and methods that HTTP does not know."""

_SCRAPES = "/metrics"


class Answered(NamedTuple):
    """What requests are told apart by; few values, whatever clients send."""

    method: str
    route: str
    status: int


class Traffic:
    """Middleware that counts when an answer begins; scrapes change nothing."""

    def __init__(self, prefix: str, routes: Iterable[str]) -> None:
        """Create empty counts; `prefix` stands in front of each of `routes`."""
        self._routes = {(prefix + route).rstrip("/"): route for route in routes}
        self._counts: Counter[Answered] = Counter()
        self._lock = threading.Lock()

    def process_response(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        resource: object,
        req_succeeded: bool,
    ) -> None:
        """Count one answer.

        It runs between the responder and a stream, which Falcon would drop without
        closing it if anything here could raise.
        """
        # A route with an id in its path counts as one, whatever the id is.
        path = req.uri_template or req.path.rstrip("/")
        route = self._routes.get(path, OTHER)
        if route == _SCRAPES:
            return
        method = req.method if req.method in falcon.HTTP_METHODS else OTHER
        with self._lock:
            self._counts[Answered(method, route, resp.status_code)] += 1

    def counts(self) -> dict[Answered, int]:
        """Return the counts as they are now."""
        with self._lock:
            return dict(self._counts)
