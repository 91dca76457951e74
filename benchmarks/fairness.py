"""Many streams at once: do all get the same, and does /health still answer?

    python -m benchmarks.fairness                    64 and 128 clients on 64 slots

Each stream's tokens are what the server itself says (``timings_per_token``), looked at
whenever something arrives, and counted from the moment all run: who came first is
ahead by right. Compared is from 50 tokens each until the first stream ends. Meanwhile
/health is asked a hundred times a second, each time on a connection of its own.
"""

from __future__ import annotations

import argparse
import json
import re
import selectors
import socket
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from api.settings.demo_model import find_demo_model
from benchmarks.own_server import OwnServer
from benchmarks.statistics import percentile

__all__ = ("Fairness", "Stream", "measure", "read_all")

TARGET_RATIO = 1.2
TARGET_HEALTH_MS = 50.0
_LEAST_TOKENS = 50
_PROBE_S = 0.01
_N_PREDICTED = re.compile(rb'"predicted_n":\s*(\d+)')
_KEPT = 64  # bytes a number's end may be cut from


@dataclass(frozen=True, slots=True)
class Fairness:
    """What one run of `n_clients` gave."""

    n_clients: int
    n_slots: int
    ratio: float
    """Most tokens of a stream over least, at the worst moment."""
    n_moments: int
    health_p50_ms: float
    health_p99_ms: float
    health_max_ms: float
    tokens_per_second: float


class Stream:
    """One client's stream and how many tokens it has."""

    def __init__(self, port: int, n_tokens: int, number: int) -> None:
        body = {
            "prompt": f"{number} Once upon a time",
            "max_tokens": n_tokens,
            "ignore_eos": True,
            "seed": number,
            "stream": True,
            "timings_per_token": True,
        }
        data = json.dumps(body).encode()
        head = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        self.n_tokens = 0
        self.is_over = False
        self.first_at = self.last_at = 0.0
        """When its first and its last tokens came (``time.perf_counter``)."""
        self.n_first = 0
        """Tokens that came first, at once."""
        self._rest = b""
        self.socket = socket.create_connection(("127.0.0.1", port), 60)
        self.socket.sendall(head.encode() + data)
        self.socket.setblocking(False)

    def read(self) -> None:
        """Take what arrived."""
        data = self.socket.recv(1 << 16)
        if not data:
            self.is_over = True
            self.socket.close()
            return
        data = self._rest + data
        found = _N_PREDICTED.findall(data, 0, len(data) - 1)
        if found:
            self.n_tokens = max(self.n_tokens, int(found[-1]))
            self.last_at = time.perf_counter()
            if not self.first_at:
                self.first_at, self.n_first = self.last_at, self.n_tokens
        self._rest = data[-_KEPT:]


def measure(server: OwnServer, n_clients: int, n_slots: int, n_tokens: int) -> Fairness:
    """Start all clients at once and read them to their ends."""
    streams = [Stream(server.port, n_tokens, i) for i in range(n_clients)]
    waits: list[float] = []
    is_over = threading.Event()
    probe = threading.Thread(target=_probe, args=(server, waits, is_over))
    probe.start()
    started = time.monotonic()
    ratios = read_all(streams, min(n_clients, n_slots))
    seconds = time.monotonic() - started
    is_over.set()
    probe.join()
    return Fairness(
        n_clients=n_clients,
        n_slots=n_slots,
        ratio=max(ratios, default=float("inf")),
        n_moments=len(ratios),
        health_p50_ms=percentile(waits, 0.5) * 1e3,
        health_p99_ms=percentile(waits, 0.99) * 1e3,
        health_max_ms=max(waits) * 1e3,
        tokens_per_second=sum(one.n_tokens for one in streams) / seconds,
    )


def read_all(streams: list[Stream], n_running: int) -> list[float]:
    """Return the ratio at each moment at which `n_running` first streams compare."""
    ratios: list[float] = []
    running: list[tuple[Stream, int]] = []
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream.socket, selectors.EVENT_READ, stream)
        while selector.get_map():
            for key, _ in selector.select(60.0):
                file = key.fileobj
                key.data.read()
                if key.data.is_over:
                    selector.unregister(file)
            if not running:
                begun = [(one, one.n_tokens) for one in streams if one.n_tokens]
                running = begun if len(begun) >= n_running else []
            elif not any(one.is_over for one, _ in running):
                counts = [one.n_tokens - before for one, before in running]
                if min(counts) >= _LEAST_TOKENS:
                    ratios.append(max(counts) / min(counts))
    return ratios


def _probe(server: OwnServer, waits: list[float], is_over: threading.Event) -> None:
    while not is_over.wait(_PROBE_S):
        started = time.perf_counter()
        status, _ = server.get("/health")
        waits.append(time.perf_counter() - started)
        if status != 200:
            raise RuntimeError(f"/health answered {status}")


def main() -> int:
    """Print a line for each number of clients; 1 when a target is missed."""
    options = _parse()
    flags = ["-m", str(options.model), "-np", str(options.slots)]
    flags += ["-c", str(options.slots * options.context), "-t", "1", "-tb", "1"]
    rows = []
    for n_clients in options.clients:
        with OwnServer([*flags, *options.flags]) as server:
            row = measure(server, n_clients, options.slots, options.tokens)
        rows.append(row)
        print(_line(row), flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    missed = [row for row in rows if not _is_met(row)]
    for row in missed:
        print(f"{row.n_clients} clients miss a target", file=sys.stderr)
    return 1 if missed else 0


def _is_met(row: Fairness) -> bool:
    return row.ratio <= TARGET_RATIO and row.health_p99_ms <= TARGET_HEALTH_MS


def _line(row: Fairness) -> str:
    return (
        f"{row.n_clients:4} clients on {row.n_slots} slots: max/min tokens "
        f"{row.ratio:.3f} ({row.n_moments} moments); /health p50 "
        f"{row.health_p50_ms:.1f}, p99 {row.health_p99_ms:.1f}, max "
        f"{row.health_max_ms:.1f} ms; {row.tokens_per_second:.0f} tokens/s"
    )


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "benchmarks.fairness",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--clients", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--context", type=int, default=512, help="tokens of each slot")
    parser.add_argument("--tokens", type=int, default=300, help="of each stream")
    parser.add_argument("--model", type=Path, help="GGUF; default: the demo model")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("flags", nargs="*", help="flags of the server, behind --")
    options = parser.parse_args()
    options.model = options.model or find_demo_model()
    return options


if __name__ == "__main__":
    raise SystemExit(main())
