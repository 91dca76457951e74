import pytest

pytest.importorskip("opentelemetry.sdk.trace")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from api.observing.telemetry import Spans, provider_of, span_observers, wants_spans
from llamactypes.errors import EngineFailed

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


@pytest.fixture
def spans(api):
    """The spans of `api`, as its exporter got them."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    api.app._observers = (*api.app._observers, Spans(provider, lambda: "tiny"))
    yield exporter.get_finished_spans
    provider.shutdown()


def test_a_request_has_one_span_with_tokens_and_its_id(api, spans):
    headers = {
        "X-Request-Id": "r-1",
        "traceparent": f"00-{TRACE}-{PARENT}-01",
    }
    api.post("/v1/completions", {"prompt": "abc", "max_tokens": 2}, headers=headers)
    (span,) = spans()
    assert span.name == "POST /v1/completions"
    assert span.kind is SpanKind.SERVER
    assert f"{span.context.trace_id:032x}" == TRACE
    assert f"{span.parent.span_id:016x}" == PARENT
    assert span.end_time > span.start_time
    expected = {
        "http.route": "/v1/completions",
        "http.response.status_code": 200,
        "llamactypes.request_id": "r-1",
        "llamactypes.end": "complete",
        "gen_ai.request.model": "tiny",
        "gen_ai.usage.input_tokens": 4,
        "gen_ai.usage.output_tokens": 2,
        "llamactypes.cached_tokens": 2,
    }
    assert expected.items() <= dict(span.attributes).items()


def test_a_span_holds_no_text_of_prompt_or_answer(api, spans):
    api.post("/completion", {"prompt": "my secret"})
    assert "secret" not in spans()[0].to_json()


def test_a_stream_has_one_span_at_its_end(api, spans):
    api.events("/v1/chat/completions", {"messages": [{"role": "user", "content": "a"}]})
    (span,) = spans()
    assert span.attributes["gen_ai.usage.output_tokens"] == 3


def test_a_fault_is_an_error_and_a_refusal_is_not(api, spans):
    api.engine.refusal = EngineFailed("odd")
    api.post("/completion", {"prompt": "a"})
    api.get("/nope", headers={"traceparent": "nonsense"})
    failed, refused = spans()
    assert failed.status.status_code is StatusCode.ERROR
    assert refused.status.status_code is StatusCode.UNSET
    assert refused.parent is None
    assert refused.name == "GET no route"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4318"}, True),
        ({"OTEL_TRACES_EXPORTER": "console"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "x"}, False),
        ({"OTEL_TRACES_EXPORTER": "console", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_spans_are_off_unless_a_target_is_named(environment, expected):
    assert wants_spans(environment) is expected


def test_provider_writes_to_the_console_when_asked(api, capsys):
    provider = provider_of({"OTEL_TRACES_EXPORTER": "console"})
    api.app._observers = (Spans(provider),)
    api.get("/health")
    provider.shutdown()
    shown = capsys.readouterr().out
    assert '"name": "GET /health"' in shown
    assert "llamactypes" in shown


def test_the_environment_switches_spans_on(monkeypatch, capsys):
    monkeypatch.delenv("OTEL_SDK_DISABLED", raising=False)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    assert span_observers(str) == ()
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    (spans,) = span_observers(str)
    assert isinstance(spans, Spans)
