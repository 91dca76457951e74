"""A snapshot of the engine as Prometheus text, by prometheus-client (an extra).

Names that begin with ``llamacpp:`` are llama-server's, with its types. The registry
lives for one scrape, which changes nothing: rates are means since the start, not since
the scrape before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from api.observing.traffic import Answered
from api.streams.counts import StreamCounts
from llamactypes.engine import EngineMetrics, HistogramSnapshot

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

__all__ = ("CONTENT_TYPE", "INSTALL_HINT", "has_prometheus_client", "metrics_text")

CONTENT_TYPE = "text/plain; version=0.0.4"
INSTALL_HINT = "pip install prometheus-client, or the extra: llamactypes[metrics]"

_COUNTERS = (
    ("prompt_tokens_total", "Prompt tokens computed.", "prompt_tokens"),
    (
        "prompt_tokens_cached_total",
        "Prompt tokens taken from what was computed before.",
        "prompt_tokens_cached",
    ),
    ("prompt_seconds_total", "Time spent on prompts.", "prompt_seconds"),
    ("tokens_predicted_total", "Tokens generated.", "tokens_generated"),
    (
        "tokens_predicted_seconds_total",
        "Time from first to last token, all requests added up.",
        "generation_seconds",
    ),
    ("n_decode_total", "Calls of llama_decode.", "n_decode"),
)
_SPECULATION = ("num_draft_tokens", "num_accepted_tokens", "num_drafts")
_OWN_COUNTERS = (
    (
        "requests_refused_total",
        "Generations not taken because the queue was full.",
        "requests_refused",
    ),
    (
        "preemptions_total",
        "Generations put back into the queue for want of KV cache.",
        "preemptions",
    ),
    (
        "cache_repairs_total",
        "Slots found in disagreement with the library; above 0 is a bug.",
        "cache_repairs",
    ),
)
_STREAMS = (
    ("opened", "Requests that named their conversation."),
    ("resumed", "Connections that read a stream again."),
    ("bytes_replayed", "Bytes sent to them."),
    ("offsets_lost", "Reads refused because their bytes had been dropped."),
    ("orphaned", "Generations that ended because nobody read them."),
    ("interrupted", "Streams that an earlier process left unfinished."),
    ("continued", "Unfinished streams that this process went on with."),
    ("store_errors", "Failures of files or of Redis; generations went on."),
)
_OUTCOMES = ("finished", "cancelled", "failed")
_HISTOGRAMS = (
    ("queue_seconds", "From submission to a slot.", "queue_s"),
    (
        "time_to_first_token_seconds",
        "From submission to the first token.",
        "time_to_first_token_s",
    ),
    ("inter_token_seconds", "Between two tokens of one request.", "inter_token_s"),
    (
        "request_seconds",
        "From submission to the end, of requests that ended by themselves.",
        "request_s",
    ),
    (
        "prompt_tokens_per_second",
        "Prompt tokens computed per second, one value for each request.",
        "prompt_rate",
    ),
    (
        "generation_tokens_per_second",
        "Tokens generated per second, one value for each request.",
        "generation_rate",
    ),
)


def has_prometheus_client() -> bool:
    """Whether `metrics_text` can work."""
    try:
        import prometheus_client  # noqa: F401
    except ImportError:
        return False
    return True


def metrics_text(
    metrics: EngineMetrics,
    answered: Mapping[Answered, int],
    streams: StreamCounts | None = None,
) -> bytes:
    """Return the Prometheus text format (0.0.4)."""
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Snapshot(metrics, answered, streams or StreamCounts()))
    # llama-server declares this maximum a counter, and its name has no _total, which
    # the client library adds to counters.
    return generate_latest(registry).replace(
        b"\n# TYPE llamacpp:n_tokens_max gauge\n",
        b"\n# TYPE llamacpp:n_tokens_max counter\n",
    )


class _Snapshot:
    """A collector of one moment, for one scrape."""

    def __init__(
        self,
        metrics: EngineMetrics,
        answered: Mapping[Answered, int],
        streams: StreamCounts,
    ) -> None:
        self._metrics = metrics
        self._streams = streams
        self._answered = answered

    def collect(self) -> Iterator[Metric]:
        yield from _peer_counters(self._metrics)
        yield from _peer_gauges(self._metrics)
        yield from _own_counters(self._metrics)
        yield from _histograms(self._metrics)
        yield _http(self._answered)
        yield from _resumable(self._streams)


def _peer_counters(metrics: EngineMetrics) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily

    for name, text, attribute in _COUNTERS:
        value = getattr(metrics, attribute)
        yield CounterMetricFamily(f"llamacpp:{name}", text, value=value)
    for name in _SPECULATION:
        yield CounterMetricFamily(
            f"llamacpp:spec_decode_{name}_total",
            "Speculative decoding: always 0, there is none.",
            value=0,
        )


def _peer_gauges(metrics: EngineMetrics) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily

    gaps = metrics.inter_token_s
    for name, text, value in (
        (
            "n_tokens_max",
            "Most tokens ever held by one slot.",
            metrics.n_tokens_max,
        ),
        (
            "prompt_tokens_seconds",
            "Prompt tokens per second, mean since the start.",
            _ratio(metrics.prompt_tokens, metrics.prompt_seconds),
        ),
        (
            "predicted_tokens_seconds",
            "Tokens per second of one request, mean since the start.",
            _ratio(gaps.count, gaps.sum),
        ),
        (
            "requests_processing",
            "Generations in slots.",
            metrics.requests_processing,
        ),
        (
            "requests_deferred",
            "Generations that wait for a slot.",
            metrics.requests_waiting,
        ),
        (
            "n_busy_slots_per_decode",
            "Slots in one call of llama_decode, mean since the start.",
            _ratio(metrics.busy_slots_total, metrics.n_decode),
        ),
    ):
        yield GaugeMetricFamily(f"llamacpp:{name}", text, value=value)


def _own_counters(metrics: EngineMetrics) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    yield GaugeMetricFamily("llamactypes:slots", "Slots.", value=metrics.n_slots)
    outcomes = CounterMetricFamily(
        "llamactypes:requests", "Generations that ended.", labels=("outcome",)
    )
    for outcome in _OUTCOMES:
        outcomes.add_metric((outcome,), getattr(metrics, f"requests_{outcome}"))
    yield outcomes
    for name, text, attribute in _OWN_COUNTERS:
        value = getattr(metrics, attribute)
        yield CounterMetricFamily(f"llamactypes:{name}", text, value=value)


def _http(answered: Mapping[Answered, int]) -> Metric:
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(
        "llamactypes:http_requests",
        "Requests that were answered, scrapes left out.",
        labels=("method", "route", "status"),
    )
    for (method, route, status), n in sorted(answered.items()):
        family.add_metric((method, route, str(status)), n)
    return family


def _resumable(streams: StreamCounts) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    yield GaugeMetricFamily(
        "llamactypes:streams_live",
        "Resumable streams whose generations go on.",
        value=streams.live,
    )
    for name, text in _STREAMS:
        value = getattr(streams, name)
        family = f"llamactypes:streams_{name}_total"
        yield CounterMetricFamily(family, text, value=value)


def _histograms(metrics: EngineMetrics) -> Iterator[Metric]:
    from prometheus_client.core import HistogramMetricFamily

    for name, text, attribute in _HISTOGRAMS:
        snapshot: HistogramSnapshot = getattr(metrics, attribute)
        yield HistogramMetricFamily(
            f"llamactypes:{name}",
            text,
            buckets=_buckets(snapshot),
            sum_value=snapshot.sum,
        )


def _buckets(snapshot: HistogramSnapshot) -> list[tuple[str, float]]:
    from prometheus_client.utils import INF, floatToGoString

    limits = map(floatToGoString, (*snapshot.bounds, INF))
    return list(zip(limits, snapshot.cumulative(), strict=True))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
