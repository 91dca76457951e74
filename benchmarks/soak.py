"""Mixed load for a long time, and what must stay true meanwhile.

    python -m benchmarks.soak                        30 minutes on the demo model
    python -m benchmarks.soak --minutes 3 --model tiny.gguf -- --kv-unified

Flags behind ``--`` go to the server. Checked throughout: no 5xx, no broken stream, a
greedy request gives the text it gave alone, the scheduler's books and the library's
agree after every step (the server runs with LLAMACTYPES_CHECK=1). At the end: memory,
threads and descriptors did not grow, all slots are idle, SIGTERM under load ends the
process with status 0, and the log holds no traceback. Ends with 1 when anything of it
is not so.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from api.settings.demo_model import find_demo_model
from benchmarks.own_server import OwnServer
from benchmarks.soak_load import KINDS, ViolationError, Worker, abort, sentinel_text
from benchmarks.statistics import percentile, slope

__all__ = ("Usage", "counters", "grown")

_STOP_S = 30.0
_IDLE_S = 20.0
_MOST_SHOWN = 20
_BAD_LOG = ("Traceback", "ERROR", "CRITICAL", "repaired", "emptied")

Usage = list[dict[str, float]]


def main() -> int:
    """Run the load; 1 when something was violated."""
    options = _parse()
    flags = ["-m", str(options.model), "-np", str(options.slots), "-t", "1", "-tb", "1"]
    flags += ["-c", str(options.slots * options.context), "--cache-ram", "32"]
    flags += ["--slots", "--metrics", *options.flags]
    with OwnServer(flags, {"LLAMACTYPES_CHECK": "1"}) as server:
        soak = _Soak(server, options)
        soak.run()
        report = soak.report()
    print(json.dumps(report, indent=1))
    if options.json:
        whole = {**report, "usage": soak.usage, "all_violations": soak.violations}
        options.json.write_text(json.dumps(whole, indent=1))
    return 1 if report["violations"] else 0


class _Soak:
    """One run: its workers, its watch, and what they found."""

    def __init__(self, server: OwnServer, options: argparse.Namespace) -> None:
        self._server = server
        self._options = options
        self.violations: list[str] = []
        self._counts: Counter[str] = Counter()
        self.usage: Usage = []
        self._health_s: list[float] = []
        self._is_over = threading.Event()
        self._exit: dict[str, Any] = {}
        self._counters: dict[str, float] = {}
        self._sentinel = ""

    def run(self) -> None:
        """Warm up, load, calm down, load again and stop."""
        self._sentinel = sentinel_text(self._worker(0))
        workers = [
            threading.Thread(target=self._work, args=(i,), daemon=True)
            for i in range(1, self._options.clients + 1)
        ]
        for worker in workers:
            worker.start()
        self._watch(self._options.minutes * 60)
        self._is_over.set()
        for worker in workers:
            worker.join(120)
        self._check_idle()
        self._check_growth()
        self._check_exit()

    def report(self) -> dict[str, Any]:
        """Return what was done and found."""
        last = self.usage[-1] if self.usage else {}
        health = self._health_s or [0.0]
        return {
            "minutes": self._options.minutes,
            "requests": dict(self._counts),
            "health_p99_ms": round(percentile(health, 0.99) * 1e3, 1),
            "health_max_ms": round(max(health) * 1e3, 1),
            "usage_at_end": last,
            "rss_mib_per_minute": round(self._slope("rss_mib") * 60, 3),
            "counters": self._counters,
            "exit": self._exit,
            "violations": self.violations[:_MOST_SHOWN],
            "n_violations": len(self.violations),
        }

    def _worker(self, number: int) -> Worker:
        dice = random.Random(f"{self._options.seed}/{number}")
        port, options = self._server.port, self._options
        return Worker(port, dice, options.slots, options.context, self._sentinel)

    def _work(self, number: int) -> None:
        worker = self._worker(number)
        kinds, shares = zip(*KINDS, strict=True)
        while not self._is_over.is_set():
            (kind,) = worker.dice.choices(kinds, shares)
            self._counts[kind.__name__] += 1
            try:
                kind(worker)
            except ViolationError as error:
                self._violate(f"{kind.__name__}: {error}")
            except Exception as error:
                self._violate(f"{kind.__name__}: {type(error).__name__}: {error}")

    def _violate(self, text: str) -> None:
        self.violations.append(text)
        if len(self.violations) <= _MOST_SHOWN:
            print(f"! {text}", file=sys.stderr, flush=True)

    # -- watching ---------------------------------------------------------------------

    def _watch(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            started = time.monotonic()
            status, _ = self._server.get("/health")
            self._health_s.append(time.monotonic() - started)
            if status != 200:
                self._violate(f"/health answered {status}")
                return
            self._check_slots()
            self._check_books()
            self.usage.append({"at": started, **self._server.usage()})
            time.sleep(max(0.0, 1.0 - (time.monotonic() - started)))

    def _check_slots(self) -> None:
        status, slots = self._server.get("/slots")
        if status != 200 or len(slots) != self._options.slots:
            self._violate(f"/slots answered {status}: {str(slots)[:200]}")
        elif sorted(slot["id"] for slot in slots) != list(range(len(slots))):
            self._violate(f"/slots: ids {[slot['id'] for slot in slots]}")

    def _check_books(self) -> None:
        status, text = self._server.get("/metrics")
        self._counters = counters(str(text))
        repairs = [v for k, v in self._counters.items() if "cache_repairs" in k]
        if status != 200 or repairs != [0.0]:
            self._violate(f"/metrics ({status}): cache repairs {repairs}")

    def _check_idle(self) -> None:
        """No request runs: nothing may be left of any."""
        deadline = time.monotonic() + _IDLE_S
        while time.monotonic() < deadline:
            _, slots = self._server.get("/slots")
            if slots and not any(slot["is_processing"] for slot in slots):
                return
            time.sleep(0.2)
        self._violate("slots are still busy although nobody asks any more")

    def _check_growth(self) -> None:
        time.sleep(2.0)
        self.usage.append({"at": time.monotonic(), **self._server.usage()})
        self.violations += grown(self.usage)

    def _slope(self, name: str) -> float:
        return slope([(one["at"], one[name]) for one in _settled(self.usage)])

    def _check_exit(self) -> None:
        """SIGTERM while clients are at work."""
        for number in range(4):
            worker = self._worker(100 + number)
            thread = threading.Thread(target=_quietly, args=(worker,), daemon=True)
            thread.start()
        time.sleep(0.3)
        status, seconds = self._server.terminate(_STOP_S)
        self._exit = {"status": status, "seconds": round(seconds, 2)}
        if status != 0:
            self._violate(f"SIGTERM: exit status {status} after {seconds:.1f} s")
        for line in self._server.log.splitlines():
            if any(word in line for word in _BAD_LOG):
                self._violate(f"log: {line[:300]}")


def _quietly(worker: Worker) -> None:
    try:
        abort(worker)
    except OSError:
        return


def counters(text: str) -> dict[str, float]:
    """Return the totals of Prometheus's text, histograms left out."""
    found = (line.split() for line in text.splitlines() if "_total " in line)
    return {name: float(value) for name, value, *_ in found if name[0] != "#"}


def _settled(usage: Usage) -> Usage:
    """Return the part after warm-up."""
    return usage[len(usage) // 3 :]


def grown(usage: Usage) -> list[str]:
    """Return what grew beyond noise after the first third of the run.

    Memory: by more than 5 % or 32 MiB along the line of best fit. Threads and
    descriptors: the last third's least is above the middle third's most.
    """
    found = []
    settled = _settled(usage)
    if len(settled) < 6:
        return []
    span_s = settled[-1]["at"] - settled[0]["at"]
    growth = slope([(one["at"], one["rss_mib"]) for one in settled]) * span_s
    typical = percentile([one["rss_mib"] for one in settled], 0.5)
    if growth > max(0.05 * typical, 32.0):
        found.append(f"resident memory grew by {growth:.0f} MiB to {typical:.0f} MiB")
    half = len(settled) // 2
    for name in ("threads", "descriptors"):
        before = max(one[name] for one in settled[:half])
        after = min(one[name] for one in settled[half:])
        if after > before:
            found.append(f"{name} grew from {before:.0f} to {after:.0f}")
    return found


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "benchmarks.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--model", type=Path, help="GGUF; default: the demo model")
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--context", type=int, default=512, help="tokens of each slot")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="also write the summary here")
    parser.add_argument("flags", nargs="*", help="flags of the server, behind --")
    options = parser.parse_args()
    options.model = options.model or find_demo_model()
    return options


if __name__ == "__main__":
    raise SystemExit(main())
