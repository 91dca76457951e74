"""One model on one device: raw llama-batched-bench, our engine, and our server.

    python -m benchmarks.gpu_run model.gguf --bench llama-batched-bench --json out.json

Tokens per second while all streams generate, prompts not counted. The raw figure takes
no samples; ours take each token from the whole default chain.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.fairness import Stream, read_all
from benchmarks.own_server import OwnServer
from benchmarks.raw_decode import parse_rates
from llamactypes.engine import Engine, EngineConfig, GenerationRequest

__all__ = ("engine_rate", "raw_rate", "server_rate")

TARGET = 0.95
"""Part of the raw rate, at 32 streams."""
_N_PROMPT = 16
_N_TRIES = 3
"""The bench logs on a thread and sometimes ends before its line is out."""


def raw_rate(options: argparse.Namespace, n: int) -> float:
    """Return llama-batched-bench's tokens per second at `n` sequences."""
    command = [str(options.bench), "-m", str(options.model), "--output-format", "jsonl"]
    command += ["-npp", str(_N_PROMPT), "-ntg", str(options.tokens), "-npl", str(n)]
    command += ["-c", str(n * options.context), "-t", str(options.threads)]
    for _ in range(_N_TRIES):
        done = subprocess.run(
            command,
            env={**os.environ, "LD_LIBRARY_PATH": _library_path(options.bench)},
            capture_output=True,
            text=True,
            timeout=options.seconds,
            check=True,
        )
        rates = parse_rates(done.stdout)
        if n in rates:
            return rates[n]
    raise RuntimeError(f"no rate in the output: {done.stdout[-500:]}")


def _library_path(bench: Path) -> str:
    """Return where the bench finds libraries: its folder, and CUDA's from packages."""
    packages = (Path(folder) / "nvidia" for folder in sys.path)
    folders = [bench.parent, *(lib for one in packages for lib in one.glob("*/lib"))]
    found = os.environ.get("LD_LIBRARY_PATH")
    return os.pathsep.join([*map(str, folders), *([found] if found else [])])


def engine_rate(options: argparse.Namespace, n: int) -> float:
    """Return the same of our engine, without HTTP."""
    config = EngineConfig(
        str(options.model),
        n_parallel=n,
        n_ctx=n * options.context,
        n_threads=options.threads,
        n_threads_batch=options.threads,
    )
    engine = Engine(config)
    engine.start()
    try:
        engine.wait_ready(options.seconds)
        prompts = [tuple(range(300 + i, 300 + i + _N_PROMPT)) for i in range(n)]
        requests = [
            GenerationRequest(prompt, max_tokens=options.tokens, ignore_eos=True)
            for prompt in prompts
        ]
        generations = engine.submit_many(requests)
        results = [one.wait(options.seconds) for one in generations]
    finally:
        engine.stop(0.0)
    if engine.failure is not None or None in results:
        raise RuntimeError(f"the engine did not finish: {engine.failure}")
    timings = [result.timings for result in results if result is not None]
    longest_ms = max(one.predicted_ms for one in timings)
    return sum(one.predicted_n - 1 for one in timings) / longest_ms * 1e3


def server_rate(options: argparse.Namespace, n: int) -> float:
    """Return the same of our server, seen by `n` clients."""
    flags = ["-m", str(options.model), "-np", str(n), "-c", str(n * options.context)]
    flags += ["-t", str(options.threads), "-tb", str(options.threads)]
    with OwnServer(flags) as server:
        streams = [Stream(server.port, options.tokens, i) for i in range(n)]
        read_all(streams, n)
    seconds = max(s.last_at for s in streams) - min(s.first_at for s in streams)
    return sum(one.n_tokens - one.n_first for one in streams) / seconds


_RATES = {"raw": raw_rate, "engine": engine_rate, "server": server_rate}


def main() -> int:
    """Measure and print; 1 when something failed or the target is missed."""
    options = _parse()
    ends_at = time.monotonic() + options.seconds
    report: dict[str, Any] = {"model": options.model.name, "rows": []}
    for n in options.streams:
        row: dict[str, Any] = {"streams": n}
        for name, rate in _RATES.items():
            if time.monotonic() < ends_at:
                row[name] = _tried(report, name, partial(rate, options, n))
        _add_ratios(row)
        report["rows"].append(row)
        print(json.dumps(row), flush=True)
    _write(options.json, report)
    return 0 if _is_met(report) else 1


def _tried(report: dict[str, Any], name: str, measure: Callable[[], Any]) -> Any:
    """Return what `measure` gives; note a failure, so that the rest is not lost."""
    try:
        return measure()
    except Exception as error:
        detail = getattr(error, "stderr", "") or ""
        text = f"{name}: {type(error).__name__}: {error} {str(detail)[-500:]}"
        report.setdefault("errors", []).append(text)
        print(f"! {text}", file=sys.stderr, flush=True)
        return None


def _add_ratios(row: dict[str, Any]) -> None:
    for name in ("engine", "server"):
        rate = row.get(name)
        if rate:
            row[f"{name}_step_ms"] = row["streams"] / rate * 1e3
        if rate and row.get("raw"):
            row[f"{name}_ratio"] = rate / row["raw"]


def _is_met(report: dict[str, Any]) -> bool:
    ratios = [
        row.get("engine_ratio", 0.0) for row in report["rows"] if row["streams"] == 32
    ]
    return not report.get("errors") and all(ratio >= TARGET for ratio in ratios)


def _write(path: Path | None, report: dict[str, Any]) -> None:
    if path is not None:
        path.write_text(json.dumps(report, indent=1))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser("benchmarks.gpu_run", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--bench", type=Path, required=True)
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 32, 128])
    parser.add_argument("--tokens", type=int, default=128, help="of each stream")
    parser.add_argument("--context", type=int, default=256, help="of each stream")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=240.0, help="for all of it")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
