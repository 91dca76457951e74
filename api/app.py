"""The Falcon application: routes and what surrounds them."""

from __future__ import annotations

from typing import Any

import falcon

from api.context import ServingContext
from api.continuing import continue_unfinished
from api.errors import install_error_handlers
from api.http.middleware import install
from api.observing.access_log import log_access
from api.observing.observed_app import ObservedApp
from api.observing.telemetry import span_observers
from api.observing.traffic import Traffic
from api.resources.counting import CountChatTokens, CountCompletionTokens
from api.resources.embed import NativeEmbeddings, OpenAIEmbeddings, Rerank
from api.resources.generate import ChatCompletion, NativeCompletion
from api.resources.health import Health, Live
from api.resources.infill import InfillCompletion
from api.resources.info import Front, Props
from api.resources.kept_responses import (
    CancelResponse,
    KeptResponse,
    ResponseInputItems,
)
from api.resources.lora import LoraAdapters
from api.resources.messages import CountMessageTokens, Messages
from api.resources.metrics import Metrics
from api.resources.models import Model, Models
from api.resources.openapi import OpenApi
from api.resources.responses import CountResponseTokens, CreateResponse
from api.resources.slots import SlotActions, Slots
from api.resources.stream_routes import Stream, StreamLookup
from api.resources.text import ApplyTemplate, Detokenize, Tokenize
from api.resources.text_completion import TextCompletion
from api.resources.thinking_control import ChatControl
from api.resources.vertex import Predict, request_formats
from api.settings import Settings, SettingsError
from api.settings.vertex import Vertex
from api.streams.sessions import StreamSessions
from llamactypes.engine import Engine

__all__ = ("create_app",)


def _counting(*paths: str) -> tuple[str, ...]:
    return tuple(f"{path}/input_tokens" for path in paths)


def _responses(path: str) -> tuple[str, str]:
    return f"/v1/responses{path}", f"/responses{path}"


_ROUTES = (
    (Front, ("/",)),
    (Health, ("/health", "/v1/health", "/readyz")),
    (Live, ("/livez",)),
    (Models, ("/v1/models", "/models")),
    (Model, ("/v1/models/{model_id:path}",)),
    (Props, ("/props",)),
    (Slots, ("/slots",)),
    (SlotActions, ("/slots/{slot_id}",)),
    (LoraAdapters, ("/lora-adapters",)),
    (Metrics, ("/metrics",)),
    (OpenApi, ("/openapi.json",)),
    (Tokenize, ("/tokenize",)),
    (Detokenize, ("/detokenize",)),
    (ApplyTemplate, ("/apply-template",)),
    (ChatCompletion, ("/v1/chat/completions", "/chat/completions")),
    (TextCompletion, ("/v1/completions",)),
    (NativeCompletion, ("/completion", "/completions")),
    (InfillCompletion, ("/infill",)),
    (
        ChatControl,
        ("/v1/chat/completions/control", "/chat/completions/control"),
    ),
    (CountChatTokens, _counting("/v1/chat/completions", "/chat/completions")),
    (CountCompletionTokens, _counting("/v1/completions")),
    (NativeEmbeddings, ("/embedding", "/embeddings")),
    (OpenAIEmbeddings, ("/v1/embeddings",)),
    (Rerank, ("/v1/rerank", "/v1/reranking", "/rerank", "/reranking")),
    (Messages, ("/v1/messages",)),
    (CountMessageTokens, ("/v1/messages/count_tokens",)),
    (CreateResponse, ("/v1/responses", "/responses")),
    (CountResponseTokens, _responses("/input_tokens")),
    (KeptResponse, _responses("/{response_id}")),
    (CancelResponse, _responses("/{response_id}/cancel")),
    (ResponseInputItems, _responses("/{response_id}/input_items")),
    (Stream, ("/v1/stream", "/v1/stream/{conversation_id:path}")),
    (StreamLookup, ("/v1/streams/lookup",)),
)


def create_app(
    settings: Settings | None = None,
    engine: Engine | None = None,
    streams: StreamSessions | None = None,
) -> ObservedApp:
    """Return the WSGI application.

    Args:
        settings: None: read from the environment (``LLAMA_ARG_MODEL`` …).
        engine: None: one is made from `settings`, starts to load at once, and stops
            with the process, or by the application's ``close``. A given one stays its
            owner's.
        streams: Those of conversations; None: new ones. Their owner may close them.
    """
    own = None
    if engine is None:
        from api.serving.bootstrap import settings_of_process, start_engine

        settings = settings or settings_of_process()
        own = start_engine(settings)
        engine = own.engine
    settings = settings or Settings.from_environment()
    vertex = _vertex_routes(settings)
    known = [path for _, paths in _ROUTES for path in paths]
    traffic = Traffic(settings.api_prefix, known + vertex)
    context = ServingContext(settings, engine, traffic, streams)
    context.routes = _ROUTES
    app = ObservedApp((log_access, *span_observers(lambda: context.model_id)))
    if own is not None:
        own.streams = context.streams
        app.close = own.close
    app.req_options.strip_url_path_trailing_slash = True
    install(app, context)
    install_error_handlers(app)
    for make, paths in _ROUTES:
        resource = make(context)
        for path in paths:
            app.add_route((settings.api_prefix + path).rstrip("/") or "/", resource)
    if settings.vertex is not None:
        _add_vertex(app, context, settings.vertex)
    continue_unfinished(app, context)
    return app


def _vertex_routes(settings: Settings) -> list[str]:
    """Return the routes that Vertex AI names.

    Raises:
        SettingsError: Something else is there.
    """
    if settings.vertex is None:
        return []
    predict, health = settings.vertex.predict_route, settings.vertex.health_route
    taken = {path: kind for kind, paths in _ROUTES for path in paths}
    if predict in taken or predict == health:
        raise SettingsError(f"AIP_PREDICT_ROUTE {predict} is another route already")
    if health in taken and taken[health] is not Health:
        raise SettingsError(f"AIP_HEALTH_ROUTE {health} is another route already")
    return [predict] + ([health] if health and health not in taken else [])


def _add_vertex(
    app: falcon.App[Any, Any], context: ServingContext, vertex: Vertex
) -> None:
    prefix = context.settings.api_prefix
    posts = [
        path for kind, paths in _ROUTES if hasattr(kind, "on_post") for path in paths
    ]
    predict = Predict(context, app, request_formats(posts))
    app.add_route(prefix + vertex.predict_route, predict)
    if vertex.health_route in _vertex_routes(context.settings):
        app.add_route(prefix + vertex.health_route, Health(context))
