"""One OpenTelemetry span for each request, when the package and a target are there.

Names follow the semantic conventions for HTTP servers and generative AI. The text of
prompts and answers is never in a span.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from api.observing.exchange import End, Exchange

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

__all__ = ("Spans", "provider_of", "span_observers", "wants_spans")

logger = logging.getLogger("llamactypes.server")

_HINT = "pip install 'llamactypes[otel]'"

_OTLP = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
_TARGETS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_EXPORTERS = ("otlp", "console")


def wants_spans(environment: Mapping[str, str] | None = None) -> bool:
    """Whether the variables of OpenTelemetry name somewhere to send spans."""
    given = os.environ if environment is None else environment
    if given.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    exporter = given.get("OTEL_TRACES_EXPORTER", "")
    if exporter:
        return exporter in _EXPORTERS
    return any(given.get(name) for name in _TARGETS)


def span_observers(model: Callable[[], str]) -> tuple[Spans, ...]:
    """Return what records spans; nothing unless a target and the packages are there.

    Args:
        model: Returns the model's name, once it is loaded.
    """
    if not wants_spans():
        return ()
    try:
        return (Spans(provider_of(), model),)
    except ImportError as error:
        logger.warning("OTEL_* asks for spans, but %s: none are sent; %s", error, _HINT)
        return ()


def provider_of(environment: Mapping[str, str] | None = None) -> TracerProvider:
    """Return what sends spans where the variables say, in batches of its own thread.

    It reads the other ``OTEL_*`` variables (resource, headers, sampler) itself.
    """
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    given = os.environ if environment is None else environment
    named = "service.name" in given.get("OTEL_RESOURCE_ATTRIBUTES", "")
    is_named = named or bool(given.get("OTEL_SERVICE_NAME"))
    resource = Resource.create({} if is_named else {"service.name": "llamactypes"})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(_exporter(given)))
    return provider


def _exporter(given: Mapping[str, str]) -> Any:
    if given.get("OTEL_TRACES_EXPORTER") == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter(out=sys.stdout)
    return importlib.import_module(_OTLP).OTLPSpanExporter()


class Spans:
    """An observer of exchanges. Any thread."""

    def __init__(
        self, provider: TracerProvider, model: Callable[[], str] = str
    ) -> None:
        """Create it.

        Args:
            provider: Where spans go; it stays its owner's.
            model: Returns the model's name; asked only when something generated.
        """
        from opentelemetry.trace.propagation.tracecontext import (
            TraceContextTextMapPropagator,
        )

        self._tracer = provider.get_tracer("llamactypes")
        self._context = TraceContextTextMapPropagator()
        self._model = model

    def __call__(self, exchange: Exchange) -> None:
        """Record the span of an exchange that has ended."""
        from opentelemetry.trace import SpanKind, Status, StatusCode

        parent = {"traceparent": exchange.traceparent or ""}
        span = self._tracer.start_span(
            f"{exchange.method} {exchange.route or 'no route'}",
            context=self._context.extract(parent),
            kind=SpanKind.SERVER,
            attributes=self._attributes(exchange),
            start_time=exchange.began_ns,
        )
        if exchange.end is End.ERROR:
            span.set_status(Status(StatusCode.ERROR))
        span.end(exchange.ended_ns)

    def _attributes(self, exchange: Exchange) -> dict[str, str | int]:
        found: dict[str, str | int] = {
            "http.request.method": exchange.method,
            "http.response.status_code": exchange.status,
            "http.response.body.size": exchange.n_bytes,
            "url.path": exchange.path,
            "client.address": exchange.client,
            "llamactypes.request_id": exchange.request_id,
            "llamactypes.end": exchange.end.value,
        }
        if exchange.route:
            found["http.route"] = exchange.route
        if exchange.generations:
            tokens = exchange.tokens()
            found |= {
                "gen_ai.request.model": self._model(),
                "gen_ai.usage.input_tokens": tokens.n_prompt,
                "gen_ai.usage.output_tokens": tokens.n_generated,
                "llamactypes.cached_tokens": tokens.n_cached,
                "llamactypes.n_generations": len(exchange.generations),
            }
        return found
