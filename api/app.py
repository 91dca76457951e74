"""The Falcon application: routes and what surrounds them."""

from __future__ import annotations

from typing import Any

import falcon

from api.access_log import log_access
from api.context import ServingContext
from api.errors import install_error_handlers
from api.middleware import install
from api.observed_app import ObservedApp
from api.resources.counting import CountChatTokens, CountCompletionTokens
from api.resources.embed import NativeEmbeddings, OpenAIEmbeddings, Rerank
from api.resources.generate import ChatCompletion, NativeCompletion, TextCompletion
from api.resources.infill import InfillCompletion
from api.resources.info import Front, Health, Models, Props
from api.resources.kept_responses import (
    CancelResponse,
    KeptResponse,
    ResponseInputItems,
)
from api.resources.lora import LoraAdapters
from api.resources.messages import CountMessageTokens, Messages
from api.resources.metrics import Metrics
from api.resources.responses import CountResponseTokens, CreateResponse
from api.resources.slots import SlotActions, Slots
from api.resources.text import ApplyTemplate, Detokenize, Tokenize
from api.settings import Settings
from api.traffic import Traffic
from llamactypes.engine import Engine

__all__ = ("create_app",)


def _counting(*paths: str) -> tuple[str, ...]:
    return tuple(f"{path}/input_tokens" for path in paths)


def _responses(path: str) -> tuple[str, str]:
    return f"/v1/responses{path}", f"/responses{path}"


_ROUTES = (
    (Front, ("/",)),
    (Health, ("/health", "/v1/health")),
    (Models, ("/v1/models", "/models")),
    (Props, ("/props",)),
    (Slots, ("/slots",)),
    (SlotActions, ("/slots/{slot_id}",)),
    (LoraAdapters, ("/lora-adapters",)),
    (Metrics, ("/metrics",)),
    (Tokenize, ("/tokenize",)),
    (Detokenize, ("/detokenize",)),
    (ApplyTemplate, ("/apply-template",)),
    (ChatCompletion, ("/v1/chat/completions", "/chat/completions")),
    (TextCompletion, ("/v1/completions",)),
    (NativeCompletion, ("/completion", "/completions")),
    (InfillCompletion, ("/infill",)),
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
)


def create_app(
    settings: Settings | None = None, engine: Engine | None = None
) -> falcon.App[Any, Any]:
    """Return the WSGI application.

    Args:
        settings: None: read from the environment (``LLAMA_ARG_MODEL`` …).
        engine: None: one is made from `settings`, starts to load at once, and stops
            with the process. A given one stays its owner's.
    """
    if engine is None:
        from api.serving.bootstrap import settings_of_process, start_engine

        settings = settings or settings_of_process()
        engine = start_engine(settings)
    settings = settings or Settings.from_environment()
    traffic = Traffic(
        settings.api_prefix, (path for _, paths in _ROUTES for path in paths)
    )
    context = ServingContext(settings, engine, traffic)
    app: falcon.App[Any, Any] = ObservedApp((log_access,))
    app.req_options.strip_url_path_trailing_slash = True
    install(app, context)
    install_error_handlers(app)
    for make, paths in _ROUTES:
        resource = make(context)
        for path in paths:
            app.add_route((settings.api_prefix + path).rstrip("/") or "/", resource)
    return app
