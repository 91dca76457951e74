"""Vertex AI's prediction route: several requests to other routes in one.

{"instances": [{"@requestFormat": "chatCompletions", …}, …]}  →  {"predictions": […]}
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import falcon

from api.context import ServingContext
from api.json_loader import dumps_bytes
from api.protocol.error_reply import ErrorReply
from api.protocol.invalid import InvalidRequest
from api.resources.base import Resource, send_json

__all__ = ("Predict", "request_formats")

logger = logging.getLogger("llamactypes.api")

_MOST_INSTANCES = 128
_FORMAT = "@requestFormat"
_LEFT_OUT = (
    *("HTTP_TRANSFER_ENCODING", "HTTP_CONTENT_ENCODING", "HTTP_EXPECT"),
    *("HTTP_X_CONVERSATION_ID", "HTTP_IDEMPOTENCY_KEY"),
)
"""Headers of the whole: of the body that carries all instances, and one name for many
generations, which would replace each other."""


class _Application(Protocol):
    def __call__(self, environ: Any, start_response: Any, /) -> Iterable[bytes]: ...


def request_formats(paths: Iterable[str]) -> dict[str, str]:
    """Return what ``@requestFormat`` may be: paths, and their names in camel case.

    ``/v1/chat/completions`` is ``chatCompletions``; of two paths with one name OpenAI's
    is meant.
    """
    plain = [path for path in paths if "{" not in path]
    formats = {path: path for path in plain}
    for path in sorted(plain, key=lambda path: not path.startswith("/v1/")):
        formats.setdefault(_camel_case(path.removeprefix("/v1")), path)
    return formats


def _camel_case(path: str) -> str:
    first, *others = path.strip("/").replace("-", "/").replace("_", "/").split("/")
    return first + "".join(word[:1].upper() + word[1:] for word in others)


class Predict(Resource):
    """``POST /predict``, or what AIP_PREDICT_ROUTE says."""

    needs_model = False  # each instance is a request of its own

    def __init__(
        self,
        context: ServingContext,
        app: _Application,
        formats: Mapping[str, str],
    ) -> None:
        """Serve requests by calling the application that this is a route of."""
        super().__init__(context)
        self._app = app
        self._formats = formats

    def on_post(self, req: falcon.Request, resp: falcon.Response) -> None:
        """Answer every instance, in order; one that fails has its error object."""
        instances = self._read_json(req).get("instances")
        if not isinstance(instances, list):
            raise InvalidRequest(
                "request body must include an array field named instances", "instances"
            )
        if len(instances) > _MOST_INSTANCES:
            raise InvalidRequest(
                f"instances array exceeds maximum size of {_MOST_INSTANCES}",
                "instances",
            )
        environ = {**req.env, "HTTP_X_REQUEST_ID": req.context.request_id}
        n_threads = max(1, min(len(instances), self._context.engine.request_limit))
        with ThreadPoolExecutor(n_threads, "llamactypes-predict") as pool:
            found = pool.map(lambda one: self._predict(environ, one), instances)
            predictions = list(found)
        send_json(resp, {"predictions": predictions})

    def _predict(self, environ: Mapping[str, Any], instance: Any) -> Any:
        """Return the answer to one instance, or its error object."""
        if not isinstance(instance, dict):
            return _error("each instance must be a JSON object")
        name = instance.get(_FORMAT)
        if not isinstance(name, str):
            return _error(f"each instance must include a string {_FORMAT}")
        path = self._formats.get(name)
        if path is None:
            return _error(f"no handler registered for {_FORMAT}: {name[:200]}")
        body = {key: value for key, value in instance.items() if key != _FORMAT}
        if body.get("stream"):
            logger.warning("stream is ignored: predictions are answered whole")
        prefix = self._context.settings.api_prefix
        return self._call(environ, prefix + path, {**body, "stream": False})

    def _call(self, environ: Mapping[str, Any], path: str, body: dict[str, Any]) -> Any:
        data = dumps_bytes(body)
        inner = {name: environ[name] for name in environ if name not in _LEFT_OUT}
        inner |= {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": path,
            "QUERY_STRING": "",
            "CONTENT_LENGTH": str(len(data)),
            "wsgi.input": io.BytesIO(data),
        }
        answer = self._app(inner, _start_response)
        try:
            return _parsed(b"".join(answer))
        finally:
            close = getattr(answer, "close", None)
            if close is not None:
                close()


def _start_response(status: str, headers: Any, exc_info: Any = None) -> Any:
    """Take a status, which an error object repeats."""
    return lambda data: None


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data) if data else None
    except ValueError:
        return data.decode("utf-8", "replace")


def _error(message: str) -> dict[str, Any]:
    return ErrorReply(400, message).body()
