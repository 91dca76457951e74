"""How long the engine waits for the interpreter, at several switch intervals.

    python -m benchmarks.gil

`hand-over`: a thread comes back from C, as after a decode, while others format events
without a pause; how long until it runs. `streams`: the same in the whole, see
`benchmarks.engine_cost`, with as many readers. Rounds alternate between the intervals;
medians are shown.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from api import sse
from benchmarks.engine_cost import measure
from benchmarks.statistics import percentile

__all__ = ("hand_over",)

_N_WAITS = 200
_PAUSE_S = 1e-3
_CHUNK = {"choices": [{"text": " word", "index": 0, "logprobs": None}], "id": "x" * 36}


@contextmanager
def switch_interval(seconds: float) -> Iterator[None]:
    """Set the interpreter's switch interval for the length of a with block."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def hand_over(n_busy: int) -> list[float]:
    """Return the seconds a thread waits to run on, `n_busy` others being at work."""
    is_over = threading.Event()
    others = [
        threading.Thread(target=_format, args=(is_over,), daemon=True)
        for _ in range(n_busy)
    ]
    for other in others:
        other.start()
    waits = []
    for _ in range(_N_WAITS):
        due = time.perf_counter() + _PAUSE_S
        time.sleep(_PAUSE_S)
        waits.append(time.perf_counter() - due)
    is_over.set()
    for other in others:
        other.join()
    return waits


def _format(is_over: threading.Event) -> None:
    while not is_over.is_set():
        sse.data_event(_CHUNK)


def main() -> int:
    """Print both tables."""
    options = _parse()
    print("hand-over (ms): p50, p99")
    for n_busy in (1, 4):
        for interval_ms in options.intervals_ms:
            with switch_interval(interval_ms / 1e3):
                waits = hand_over(n_busy)
            p50, p99 = (percentile(waits, part) * 1e3 for part in (0.5, 0.99))
            print(f"  {n_busy} busy, {interval_ms:5.2f} ms: {p50:6.2f} {p99:6.2f}")
    print("streams: part of the ideal, p99 of the time between two decodes (ms)")
    for n_streams in options.streams:
        _compare(n_streams, options)
    return 0


def _compare(n_streams: int, options: argparse.Namespace) -> None:
    found: dict[float, list[tuple[float, float]]] = {}
    for _ in range(options.rounds):
        for interval_ms in options.intervals_ms:
            with switch_interval(interval_ms / 1e3):
                cost = measure(n_streams, has_readers=True, n_tokens=options.tokens)
            found.setdefault(interval_ms, []).append((cost.ideal, cost.gap_p99_ms))
    for interval_ms, rows in found.items():
        ideal, gap = (statistics.median(column) for column in zip(*rows, strict=True))
        line = f"{n_streams:5} streams, {interval_ms:5.2f} ms: {ideal:.2f} {gap:6.2f}"
        print(line, flush=True)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "benchmarks.gil",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    default = [5.0, 1.0, 0.5, 0.1]
    parser.add_argument("--intervals-ms", type=float, nargs="+", default=default)
    parser.add_argument("--streams", type=int, nargs="+", default=[8, 32, 128])
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
