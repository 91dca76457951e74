"""Decode throughput of our server over llama-server's, on the same library.

    python -m benchmarks --peers .build/peers/bin --streams 1,8 --rounds 5

Machines are shared and noisy: both servers run side by side, the work alternates
between them, and only the ratio within a round counts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from api.settings.demo_model import find_demo_model
from benchmarks.client import stream_completions
from benchmarks.servers import Server, llama_server, ours

_PROMPT = "The story of number {}: once upon a time, in a small village by the sea,"
_HOW_TO_BUILD = (
    "llama-server is not there: build it and its library with\n"
    "    python build_scripts/build_libllama.py --backend cpu --with-peers\n"
    "or name a folder with --peers"
)


def main() -> int:
    """Run the comparison; return the process's exit status."""
    options = _parse()
    binary = options.peers / "llama-server"
    if not binary.is_file():
        print(_HOW_TO_BUILD, file=sys.stderr)
        return 2
    model = options.model or Path(find_demo_model())
    print(_machine(options.threads, model))
    report: dict[str, Any] = {"machine": _machine(options.threads, model)}
    for n_streams in options.streams:
        report[f"decode_{n_streams}"] = _compare(options, binary, model, n_streams)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser("benchmarks", description=__doc__)
    parser.add_argument("--peers", type=Path, default=Path(".build/peers/bin"))
    parser.add_argument("--model", type=Path, help="GGUF; default: the demo model")
    parser.add_argument("--streams", type=_numbers, default=(1, 8))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    return parser.parse_args()


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(one) for one in text.split(","))


def _compare(
    options: argparse.Namespace, binary: Path, model: Path, n_streams: int
) -> dict[str, Any]:
    """Alternate between both servers; print and return ratios."""
    pair = (
        ours(model, options.threads, n_streams, binary.parent),
        llama_server(model, options.threads, n_streams, binary),
    )
    with ExitStack() as stack:
        for server in pair:
            stack.enter_context(server.running())
            _measure(server, n_streams, 8)  # the first request pays for warm-up
        rounds = [
            _round(pair if i % 2 == 0 else pair[::-1], n_streams, options.tokens)
            for i in range(options.rounds)
        ]
    ratios = sorted(one["llamactypes"] / one["llama-server"] for one in rounds)
    figures = {
        "ratio_median": statistics.median(ratios),
        "ratio_min": ratios[0],
        "ratio_max": ratios[-1],
        "rounds": rounds,
    }
    median = {
        name: statistics.median(one[name] for one in rounds) for name in rounds[0]
    }
    print(
        f"decode, {n_streams} stream(s): ratio {figures['ratio_median']:.3f} "
        f"[{ratios[0]:.3f} – {ratios[-1]:.3f}]; tokens/s "
        + ", ".join(f"{name} {value:.1f}" for name, value in median.items())
    )
    return figures


def _round(pair: tuple[Server, ...], n_streams: int, n_tokens: int) -> dict[str, float]:
    return {server.name: _measure(server, n_streams, n_tokens) for server in pair}


def _measure(server: Server, n_streams: int, n_tokens: int) -> float:
    prompts = [_PROMPT.format(i) for i in range(n_streams)]
    return stream_completions(server.port, prompts, n_tokens).tokens_per_second


def _machine(threads: int, model: Path) -> str:
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {_cpu()}, {os.cpu_count()} CPUs, "
        f"load {load}, {threads} thread(s), {model.name}"
    )


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    raise SystemExit(main())
