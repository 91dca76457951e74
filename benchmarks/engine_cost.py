"""What the engine itself costs per token, beside a decode that takes a set time.

    python -m benchmarks.engine_cost                       the table
    python -m benchmarks.engine_cost --decode-ms 5 --spin  another device

Without readers it shows the engine alone; with readers each stream has a thread that
formats events as the server does. CPU time is the engine thread's own, decode excluded,
so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from dataclasses import asdict, dataclass
from typing import Any

from api.protocol.completion.openai import CompletionStream
from api.protocol.options import OptionDefaults, read_options
from api.protocol.reply import ReplyFacts, unique_id
from api.streams.client import Client
from api.streams.event_stream import EventStream
from benchmarks.fake_device import Device, FakeLoaded
from benchmarks.statistics import percentile
from llamactypes.engine import Engine, EngineConfig, Generation

__all__ = ("Cost", "measure")

TARGET_US = 20.0
"""At 32 sequences."""
TARGET_PART = 0.9
"""At 128 sequences and 2 ms."""
_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class Cost:
    """One line of the table."""

    n_streams: int
    has_readers: bool
    cpu_us: float
    """Engine thread's CPU time per token, in microseconds."""
    gap_us: float
    """Time between two decodes per token, in microseconds: what the device waits."""
    gap_p99_ms: float
    """99th percentile of the time between two decodes."""
    tokens_per_second: float
    ideal: float
    """Part of what a device would give that never waits."""
    bound: float
    """What `ideal` would be if the engine thread never waited for a CPU or the GIL."""


def measure(
    n_streams: int,
    *,
    decode_s: float = 2e-3,
    n_tokens: int = 300,
    has_readers: bool = False,
    is_spinning: bool = False,
) -> Cost:
    """Run `n_streams` generations of `n_tokens` at once."""
    device = Device(decode_s, is_spinning=is_spinning)
    device.n_full = n_streams
    config = EngineConfig("fake", n_parallel=n_streams, cache_ram_mib=0)
    engine = Engine(config, load=FakeLoaded(device).load)
    engine.start()
    engine.wait_ready()
    try:
        _run(engine, n_streams, n_tokens, has_readers)
    finally:
        engine.stop(0.0)
    if engine.failure is not None:
        raise engine.failure
    return _cost(device, n_streams, has_readers)


def _cost(device: Device, n_streams: int, has_readers: bool) -> Cost:
    gaps = device.gaps[len(device.gaps) // 20 :]  # the first ones meet cold readers
    mean_s = sum(gaps) / len(gaps)
    step_s = device.decode_s + mean_s
    own_s = device.own_cpu_s / len(device.gaps)
    return Cost(
        n_streams,
        has_readers,
        cpu_us=own_s / n_streams * 1e6,
        gap_us=mean_s / n_streams * 1e6,
        gap_p99_ms=percentile(gaps, 0.99) * 1e3,
        tokens_per_second=n_streams / step_s,
        ideal=device.decode_s / step_s,
        bound=device.decode_s / (device.decode_s + own_s),
    )


def _run(engine: Engine, n_streams: int, n_tokens: int, has_readers: bool) -> None:
    body = {"max_tokens": n_tokens, "temperature": 0.0, "stream": True}
    facts = _facts(engine, body)
    requests = facts.options.requests(list(facts.prompts)) * n_streams
    generations = engine.submit_many(requests)
    if not has_readers:
        for generation in generations:
            generation.wait(_LIMIT_S)
        return
    threads = [
        threading.Thread(target=_read, args=(one, facts), daemon=True)
        for one in generations
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_LIMIT_S)


def _facts(engine: Engine, body: dict[str, Any]) -> ReplyFacts:
    vocab: Any = engine.vocab
    return ReplyFacts(
        id=unique_id("cmpl-"),
        created=int(time.time()),
        model="fake",
        fingerprint="none",
        options=read_options(body, OptionDefaults(), vocab, engine.info.n_slots),
        prompts=[(1, 2, 3, 4)],
    )


def _read(generation: Generation, facts: ReplyFacts) -> None:
    for _ in EventStream([generation], CompletionStream(facts), Client({}), 30.0):
        pass


def main() -> int:
    """Print the table; 1 when a target is missed."""
    options = _parse()
    rows: list[Cost] = []
    print(f"{'streams':>7} {'readers':>7} {'µs/token':>9} {'gap/token':>10} ", end="")
    print(f"{'gap p99':>9} {'tokens/s':>9} {'ideal':>6} {'bound':>6}")
    for has_readers in (False, True):
        for n_streams in options.streams:
            cost = measure(
                n_streams,
                decode_s=options.decode_ms / 1e3,
                n_tokens=options.tokens,
                has_readers=has_readers,
                is_spinning=options.spin,
            )
            rows.append(cost)
            print(_line(cost), flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump([asdict(row) for row in rows], file, indent=1)
    missed = _missed(rows, options.decode_ms)
    for line in missed:
        print(line, file=sys.stderr)
    return 1 if missed else 0


def _missed(rows: list[Cost], decode_ms: float) -> list[str]:
    """Return what the rows fall short of."""
    missed = []
    for row in rows:
        who = f"{row.n_streams} streams, {'with' if row.has_readers else 'no'} readers"
        if row.n_streams == 32 and row.cpu_us > TARGET_US:
            missed.append(f"{who}: {row.cpu_us:.1f} µs/token, not {TARGET_US:.0f}")
        if row.n_streams == 128 and decode_ms == 2 and row.ideal < TARGET_PART:
            missed.append(f"{who}: {row.ideal:.2f} of the ideal, not {TARGET_PART}")
    return missed


def _line(cost: Cost) -> str:
    return (
        f"{cost.n_streams:7} {'yes' if cost.has_readers else 'no':>7} "
        f"{cost.cpu_us:9.1f} {cost.gap_us:10.1f} {cost.gap_p99_ms:6.2f} ms "
        f"{cost.tokens_per_second:9.0f} {cost.ideal:6.2f} "
        f"{cost.bound:6.2f}"
    )


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser("benchmarks.engine_cost", description=__doc__)
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 8, 32, 128])
    parser.add_argument("--decode-ms", type=float, default=2.0)
    parser.add_argument("--tokens", type=int, default=300, help="of each stream")
    parser.add_argument("--spin", action="store_true", help="keep a CPU busy meanwhile")
    parser.add_argument("--json", help="also write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
