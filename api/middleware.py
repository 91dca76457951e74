"""What happens to every request before its route: llama-server's order.

Identity, CORS, preflight, readiness, key. All of it in ``process_request``, before
routing: an unknown path is treated like a known one, and nothing runs after a responder
that could drop a stream without closing it (only a count, `api.traffic`).
"""

from __future__ import annotations

import hmac
import re
import uuid
from typing import Any
from urllib.parse import urlsplit

import falcon

from api.context import ServingContext
from api.errors import JSON_TYPE, NotAuthorized
from api.protocol.anthropic_error import speaks_anthropic
from llamactypes.engine import EngineState
from llamactypes.errors import EngineFailed, EngineLoading, EngineStopped

__all__ = ("Cors", "Key", "Readiness", "RequestId", "route_path")

_HEALTH = ("/health", "/v1/health")
_PUBLIC = (*_HEALTH, "/")
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}")


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
        given = req.get_header("X-Request-Id") or ""
        name = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        req.context.request_id = name
        resp.set_header("X-Request-Id", name)
        if speaks_anthropic(req.path):
            resp.set_header("Request-Id", name)


class Cors:
    """Lets browsers in: headers on every reply, and an answer to every OPTIONS."""

    def __init__(self, context: ServingContext) -> None:
        settings = context.settings
        self._origins: str = settings.cors_origins
        self._methods: str = settings.cors_methods
        self._headers: str = settings.cors_headers
        self._credentials: bool = settings.cors_credentials

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Set the headers; answer a preflight, which carries no key."""
        origin = self._allowed_origin(req.get_header("Origin"))
        if origin is not None:
            resp.set_header("Access-Control-Allow-Origin", origin)
            if origin != self._origins:
                resp.append_header("Vary", "Origin")
        if self._credentials:
            resp.set_header("Access-Control-Allow-Credentials", "true")
        if req.method == "OPTIONS":
            resp.set_header("Access-Control-Allow-Methods", self._methods)
            resp.set_header("Access-Control-Allow-Headers", self._headers)
            resp.content_type = "text/html"
            resp.data = b""
            resp.complete = True
        else:
            resp.set_header(
                "Access-Control-Expose-Headers", "X-Request-Id, Request-Id"
            )

    def _allowed_origin(self, origin: str | None) -> str | None:
        if self._origins == "localhost":
            return origin if origin and _is_local(origin) else None
        if self._origins == "*" and self._credentials:
            return origin
        return self._origins or None


def _is_local(origin: str) -> bool:
    try:
        return urlsplit(origin).hostname in _LOCAL_HOSTS
    except ValueError:
        return False


class Readiness:
    """Answers 503 while the model loads, on every path, before the key is asked for."""

    def __init__(self, context: ServingContext) -> None:
        self._context = context

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Raise what the engine's state calls for."""
        if resp.complete:
            return
        engine = self._context.engine
        if engine.state in (EngineState.CREATED, EngineState.LOADING):
            raise EngineLoading("Loading model")
        if engine.state is EngineState.READY:
            return
        is_health = route_path(req, self._context.settings.api_prefix) in _HEALTH
        if engine.state is EngineState.FAILED:
            reason = f"the engine failed: {engine.failure}"
            raise EngineStopped(reason) if is_health else EngineFailed(reason)
        if is_health or req.method == "POST":
            raise EngineStopped("the server is shutting down")


class Key:
    """Asks for an API key where one is set."""

    def __init__(self, context: ServingContext) -> None:
        self._keys = [key.encode() for key in context.settings.api_keys]
        self._prefix: str = context.settings.api_prefix

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Raise without a valid key; note which one it is."""
        req.context.key_index = None
        if resp.complete or not self._keys:
            return
        if route_path(req, self._prefix) in _PUBLIC:
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
    # WSGI hands header bytes over as latin-1, whatever the client meant by them.
    return value.removeprefix("Bearer ").strip().encode("latin-1", "replace")


def install(app: falcon.App[Any, Any], context: ServingContext) -> None:
    """Add all of it to `app`, in order."""
    app.resp_options.default_media_type = JSON_TYPE
    for part in (RequestId(), Cors(context), Readiness(context), Key(context)):
        app.add_middleware(part)
    app.add_middleware(context.traffic)
