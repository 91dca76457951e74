"""Our server against llama-server: same model, library, threads and work, in one run.

    python -m benchmarks --peers .build/peers/bin             every scenario
    python -m benchmarks --only decode --rounds 5             some of them

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
from benchmarks.scenarios import SCENARIOS, Scenario
from benchmarks.servers import llama_server, ours

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
    report: dict[str, Any] = {"machine": _machine(options.threads, model)}
    print(report["machine"])
    print(f"{'scenario':24} {'ratio':>7}  {'min – max':15} {'target':>6}   median")
    for scenario in SCENARIOS:
        if options.only in scenario.name:
            figures = _compare(options, binary, model, scenario)
            report[scenario.name] = figures
            print(_line(scenario, figures), flush=True)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser("benchmarks", description=__doc__)
    parser.add_argument("--peers", type=Path, default=Path(".build/peers/bin"))
    parser.add_argument("--model", type=Path, help="GGUF; default: the demo model")
    parser.add_argument("--only", default="", help="part of the scenarios' names")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    return parser.parse_args()


def _compare(
    options: argparse.Namespace, binary: Path, model: Path, scenario: Scenario
) -> dict[str, Any]:
    """Alternate between both servers and return what they needed."""
    shape = (model, options.threads, scenario.n_slots, scenario.n_ctx)
    pair = (ours(*shape, binary.parent), llama_server(*shape, binary))
    rounds = []
    with ExitStack() as stack:
        for server in pair:
            stack.enter_context(server.running())
            scenario.measure(server.port, 0)  # the first work pays for warm-up
        for i in range(1, options.rounds + 1):
            order = pair if i % 2 else pair[::-1]
            rounds.append({one.name: scenario.measure(one.port, i) for one in order})
        memory = {one.name: _resident_mib(one.process_id) for one in pair}
    ratios = sorted(
        one["llama-server"] / one["llamactypes"]
        if scenario.is_time
        else one["llamactypes"] / one["llama-server"]
        for one in rounds
    )
    medians = {
        name: statistics.median(one[name] for one in rounds) for name in rounds[0]
    }
    return {
        "ratio": statistics.median(ratios),
        "min": ratios[0],
        "max": ratios[-1],
        "target": scenario.target,
        "unit": scenario.unit,
        "medians": medians,
        "rounds": rounds,
        "resident_mib": memory,
    }


def _line(scenario: Scenario, figures: dict[str, Any]) -> str:
    extent = f"{figures['min']:.2f} – {figures['max']:.2f}"
    medians = ", ".join(f"{k} {v:.4g}" for k, v in figures["medians"].items())
    return (
        f"{scenario.name:24} {figures['ratio']:7.2f}  {extent:15} "
        f"{scenario.target:6.2f}   {medians} {scenario.unit}"
    )


def _resident_mib(process_id: int) -> float:
    for line in Path(f"/proc/{process_id}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


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
