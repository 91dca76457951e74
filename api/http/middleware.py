"""What happens to every request before its route: llama-server's order.

Identity, CORS, preflight, readiness, key. All of it in ``process_request``, before
routing: an unknown path is treated like a known one, and nothing runs after a responder
that could drop a stream without closing it (only a count, `api.observing.traffic`).
"""

from __future__ import annotations

import hmac
from typing import Any

import falcon

from api.context import ServingContext
from api.errors import ENGINE_FAILED, JSON_TYPE, NotAuthorized
from api.http.bulk import Bulk
from api.http.cors import CorsPolicy
from api.http.request_id import id_headers, request_name
from api.observing.exchange import exchange_of
from api.streams.resumption import RESUMPTION
from llamactypes.engine import EngineState
from llamactypes.errors import EngineFailed, EngineLoading, EngineStopped

__all__ = ("Awake", "Cors", "Key", "Readiness", "RequestId", "route_path")

_HEALTH = ("/health", "/v1/health", "/readyz")
_LIVE = "/livez"
_PUBLIC = (*_HEALTH, _LIVE, "/")


def route_path(req: falcon.Request, prefix: str) -> str:
    """Return the path below the server's prefix, without a trailing slash."""
    path = req.path
    if prefix and path.startswith(prefix):
        path = path[len(prefix) :]
    return path.rstrip("/") or "/"


class RequestId:
    """Names the request in its reply, by the client's name when it gave one."""

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Set ``X-Request-Id``, and where Anthropic's clients look for it."""
        name = request_name(req.get_header("X-Request-Id"))
        req.context.request_id = name
        exchange = exchange_of(req.env)
        if exchange is not None:
            exchange.request_id = name
        resp.set_headers(id_headers(req.path, name))

    def process_resource(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        resource: object,
        params: dict[str, Any],
    ) -> None:
        """Note which route it is."""
        exchange = exchange_of(req.env)
        if exchange is not None:
            exchange.route = req.uri_template


class Cors:
    """Lets browsers in: headers on every reply, and an answer to every OPTIONS."""

    def __init__(self, policy: CorsPolicy) -> None:
        self._policy = policy

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Set the headers; answer a preflight, which carries no key."""
        for name, value in self._policy.reply_headers(req.get_header("Origin")):
            resp.append_header(name, value)
        if req.method == "OPTIONS":
            resp.set_headers(self._policy.preflight_headers())
            resp.content_type = "text/html"
            resp.data = b""
            resp.complete = True
        else:
            resp.set_headers(self._policy.exposed_headers())


class Readiness:
    """Answers 503 while the model loads, on every path, before the key is asked for."""

    def __init__(self, context: ServingContext) -> None:
        self._context = context
        self._health = (*_HEALTH, *_vertex_health(context))

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Raise what the engine's state calls for."""
        engine = self._context.engine
        if resp.complete or engine.state in (EngineState.READY, EngineState.SLEEPING):
            return
        path = route_path(req, self._context.settings.api_prefix)
        is_health = path in self._health
        if engine.state is EngineState.FAILED:
            self._refuse_failed(req.method, path, is_probe=is_health or path == _LIVE)
            return
        if path == _LIVE:
            return
        if engine.state in (EngineState.CREATED, EngineState.LOADING):
            raise EngineLoading("Loading model")
        if is_health or (req.method == "POST" and not _ends_work(path)):
            raise EngineStopped("the server is shutting down")

    def _refuse_failed(self, method: str, path: str, *, is_probe: bool) -> None:
        """Refuse what needs the engine; what it wrote before can still be read."""
        if is_probe:
            raise EngineStopped(ENGINE_FAILED)
        if method == "POST" and not _ends_work(path):
            raise EngineFailed(ENGINE_FAILED)


def _ends_work(path: str) -> bool:
    """Whether a POST helps a stopping server to its end, or asks how far it is."""
    is_cancel = path.endswith("/cancel") and "/responses/" in path
    return is_cancel or path == "/v1/streams/lookup"


class Key:
    """Asks for an API key where one is set."""

    def __init__(self, context: ServingContext) -> None:
        self._context = context
        self._keys = [key.encode() for key in context.settings.api_keys]
        self._prefix: str = context.settings.api_prefix
        self._public = (*_PUBLIC, *_vertex_health(context))

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Raise without a valid key; note which one it is."""
        req.context.key_index = None
        earlier = req.env.get(RESUMPTION)
        if earlier is not None:
            # This process goes on for a client that showed its key to another.
            owner = earlier.written.facts.key.owner
            req.context.key_index = self._context.key_index_of(owner)
            return
        if resp.complete or not self._keys:
            return
        if route_path(req, self._prefix) in self._public:
            return
        req.context.key_index = self._index(_given_key(req))

    def _index(self, given: bytes) -> int:
        # Every key is compared, each in constant time: the answer tells nothing more.
        matches = [hmac.compare_digest(given, key) for key in self._keys]
        if True not in matches:
            raise NotAuthorized
        return matches.index(True)


def _given_key(req: falcon.Request) -> bytes:
    value = req.get_header("Authorization")
    if value is None:
        value = req.get_header("X-Api-Key") or ""
    if value[:7].lower() == "bearer ":  # a scheme's case does not matter
        value = value[7:]
    # WSGI hands header bytes over as latin-1, whatever the client meant by them.
    return value.strip().encode("latin-1", "replace")


def _vertex_health(context: ServingContext) -> tuple[str, ...]:
    vertex = context.settings.vertex
    return (vertex.health_route,) if vertex and vertex.health_route else ()


class Awake:
    """Keeps the engine awake while a responder needs the model."""

    def __init__(self, context: ServingContext) -> None:
        self._engine = context.engine

    def process_resource(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        resource: object,
        params: dict[str, Any],
    ) -> None:
        """Wait until the model is there.

        Raises:
            EngineAsleep: It cannot be loaded again.
        """
        if getattr(resource, "needs_model", False):
            awake = self._engine.awake()
            awake.__enter__()
            req.context.awake = awake

    def process_response(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        resource: object,
        req_succeeded: bool,
    ) -> None:
        """Let it sleep; what a stream still waits for keeps it awake by itself."""
        awake = getattr(req.context, "awake", None)
        if awake is not None:
            awake.__exit__(None, None, None)


def install(app: falcon.App[Any, Any], context: ServingContext) -> None:
    """Add all of it to `app`, in order."""
    app.resp_options.default_media_type = JSON_TYPE
    cors = Cors(CorsPolicy.of(context.settings))
    for part in (RequestId(), cors, Readiness(context), Key(context), Awake(context)):
        app.add_middleware(part)
    app.add_middleware(Bulk())
    app.add_middleware(context.traffic)
