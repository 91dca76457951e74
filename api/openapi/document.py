"""The OpenAPI document of the routes that an application has. Pure."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any

from api.openapi.replies import REPLIES
from api.openapi.requests import REQUESTS, RequestSchema
from api.openapi.shapes import STRING, Schema
from api.protocol.messages.error import OVERLOADED, speaks_anthropic

__all__ = ("openapi_document",)

_METHODS = ("get", "head", "post", "put", "patch", "delete")
_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
"""A part of a path, in Falcon's way of writing: with a converter, perhaps."""
_JSON = "application/json"

_STATUSES = {
    400: "The request cannot be honoured as it stands; param names the field.",
    401: "No valid API key.",
    404: "No such route, or nothing of this name.",
    405: "The route has other methods; Allow names them.",
    408: "The request did not come to its end in time.",
    413: "The body is too large.",
    415: "The body is compressed.",
    422: "The Idempotency-Key came with another request before.",
    429: "Too much to do; Retry-After says when to come back.",
    431: "The headers are too large.",
    500: "A fault of the server.",
    501: "Switched off by a flag, or not possible with this model.",
    503: "Loading or stopping; Retry-After says when to come back.",
}
_ANTHROPIC_STATUSES = {**_STATUSES, OVERLOADED: _STATUSES[429]}

_QUERIES: dict[str, dict[str, Schema]] = {
    "Slots": {"fail_on_no_slot": STRING},
    "SlotActions": {"action": STRING},
    "KeptResponse": {"stream": STRING, "starting_after": STRING},
    "Stream": {
        **{"conv_id": STRING, "from": STRING},
        **{"snapshot": STRING, "progress": STRING},
    },
    "ResponseInputItems": {"order": STRING, "after": STRING, "limit": STRING},
}

_HEADERS = ("X-Conversation-Id", "Idempotency-Key")
"""Of routes that generate: see docs/streams.md."""

_STREAMED = ("Stream", "KeptResponse")
"""Whose GET may be answered with events."""

_ERROR: Schema = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "type"],
            "properties": {
                "code": {"type": ["integer", "string"]},
                "message": STRING,
                "type": STRING,
                "param": STRING,
                "n_prompt_tokens": {"type": "integer"},
                "n_ctx": {"type": "integer"},
                "partial": {"type": "array", "items": STRING},
            },
        }
    },
}
_ANTHROPIC_ERROR: Schema = {
    "type": "object",
    "required": ["type", "error"],
    "properties": {
        "type": {"const": "error"},
        "error": {
            "type": "object",
            "required": ["type", "message"],
            "properties": {
                "type": STRING,
                "message": STRING,
                "partial": {"type": "array", "items": STRING},
            },
        },
        "request_id": {"type": ["string", "null"]},
    },
}


def openapi_document(
    routes: Iterable[tuple[type[Any], Iterable[str]]],
    *,
    version: str,
    prefix: str = "",
    has_keys: bool = False,
) -> dict[str, Any]:
    """Return the document.

    Args:
        routes: Falcon resources and the paths of each.
        version: Of this server.
        prefix: Path below which the routes are.
        has_keys: Whether requests must carry an API key.
    """
    listed = [(kind, tuple(paths)) for kind, paths in routes]
    names = {kind.__name__ for kind, _ in listed}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "llamactypes",
            "version": version,
            "description": "OpenAI's, Anthropic's and llama-server's HTTP routes.",
        },
        "servers": [{"url": prefix or "/"}],
        "paths": {
            _PARAMETER.sub(r"{\1}", path): _path_item(kind, path)
            for kind, paths in listed
            for path in paths
        },
        "components": {
            "schemas": {
                **{n: r.schema() for n, r in REQUESTS.items() if n in names},
                **_reply_components(names),
                "Error": _ERROR,
                "AnthropicError": _ANTHROPIC_ERROR,
            },
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
            },
        },
    }
    if has_keys:
        document["security"] = [{"bearer": []}, {"key": []}]
    return document


def _reply_components(names: set[str]) -> dict[str, Schema]:
    return {
        _reply_name(resource, method): schema
        for resource, replies in REPLIES.items()
        for method, schema in replies.items()
        if resource in names
    }


def _reply_name(resource: str, method: str) -> str:
    return f"{resource}{method.capitalize()}Reply"


def _path_item(kind: type[Any], path: str) -> dict[str, Any]:
    item: dict[str, Any] = {
        method: _operation(kind, path, method)
        for method in _METHODS
        if hasattr(kind, f"on_{method}")
    }
    parameters = [_parameter(name, "path") for name in _PARAMETER.findall(path)]
    return {**item, "parameters": parameters} if parameters else item


def _operation(kind: type[Any], path: str, method: str) -> dict[str, Any]:
    responder = getattr(kind, f"on_{method}")
    words = inspect.getdoc(responder) or inspect.getdoc(kind) or kind.__name__
    queries = _QUERIES.get(kind.__name__, {})
    operation: dict[str, Any] = {
        "operationId": method + _PARAMETER.sub(r"\1", path),
        "summary": words.partition("\n")[0].rstrip("."),
        "responses": _responses(kind, path, method),
    }
    if queries:
        operation["parameters"] = [_parameter(name, "query") for name in queries]
    request = REQUESTS.get(kind.__name__) if method == "post" else None
    if request is not None and request.streams:
        operation["parameters"] = [_parameter(name, "header") for name in _HEADERS]
    if request is not None:
        schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
        # Without required ones an empty object will do, but not an empty body.
        operation["requestBody"] = {
            "required": True,
            "content": {_JSON: {"schema": schema}},
        }
    return operation


def _parameter(name: str, place: str) -> dict[str, Any]:
    return {"name": name, "in": place, "required": place == "path", "schema": STRING}


def _responses(kind: type[Any], path: str, method: str) -> dict[str, Any]:
    request = REQUESTS.get(kind.__name__) if method == "post" else None
    statuses = _ANTHROPIC_STATUSES if speaks_anthropic(path) else _STATUSES
    if kind.__name__ == "Stream" and method == "delete":
        success: Schema = {"204": {"description": "Nothing is left of it."}}
    else:
        success = {"200": _success(kind, method, request)}
    return {
        **success,
        **{str(s): _error(words, path, method) for s, words in statuses.items()},
    }


def _success(
    kind: type[Any], method: str, request: RequestSchema | None
) -> dict[str, Any]:
    schema: Schema = {}
    if method in REPLIES.get(kind.__name__, {}):
        name = _reply_name(kind.__name__, method)
        schema = {"$ref": f"#/components/schemas/{name}"}
    content: dict[str, Any] = {_JSON: {"schema": schema}}
    if kind.__name__ == "Metrics":
        content = {"text/plain": {"schema": STRING}}
    if kind.__name__ in _STREAMED or (request is not None and request.streams):
        content["text/event-stream"] = {"schema": STRING}
    return {"description": "The answer.", "content": content}


def _error(words: str, path: str, method: str) -> Mapping[str, Any]:
    if method == "head":
        return {"description": words}
    name = "AnthropicError" if speaks_anthropic(path) else "Error"
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {"description": words, "content": {_JSON: {"schema": schema}}}
