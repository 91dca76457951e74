"""Runs one scenario on our server and one peer side by side, in turn."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.client import completion, stream
from benchmarks.load import foreign_share, read_load, read_process
from benchmarks.memory import kv_bytes, load_alone, weigh
from benchmarks.peers import Contender, Peer
from benchmarks.ratios import OURS, Result, Round, summarize
from benchmarks.raw_decode import RawDecode
from benchmarks.scenario import Figures, Row, Scenario, measure
from benchmarks.servers import Shape, ours

__all__ = ("Plan", "results", "run")


@dataclass(frozen=True, slots=True)
class Plan:
    """What holds for every scenario of a run."""

    model: Path
    threads: int
    n_rounds: int
    ends_at: float = math.inf
    """``time.monotonic`` after which no further round begins."""
    has_full_warm_up: bool = True
    """Each server first does the whole work once; otherwise a few tokens."""

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.ends_at


def run(plan: Plan, scenario: Scenario, peer: Peer | None) -> list[Round]:
    """Measure in turn; with no peer, only ours, on its own library.

    Always one round, then up to `n_rounds` while there is time.

    Raises:
        RuntimeError: A server ended at its start, or its replies are no answers.
        TimeoutError: A server did not become ready.
    """
    shape = Shape(
        plan.model,
        plan.threads,
        scenario.n_slots,
        scenario.n_ctx,
        keeps_prompts=not scenario.weighs_memory,
    )
    pair: list[Contender] = [ours(shape, peer.library if peer else None)]
    if peer:
        pair.append(peer.make(shape))
    scales = _scales(plan, scenario, peer)
    rounds = []
    with ExitStack() as stack:
        for contender in reversed(pair):  # what may fail at its start goes first
            stack.enter_context(contender.running())
            _warm_up(plan, scenario, contender)
        n_prompt = 0
        for number in range(1, plan.n_rounds + 1):
            done = {}
            for contender in pair if number % 2 else pair[::-1]:
                done[contender.name] = _observe(
                    contender, scenario, number, n_prompt, scales
                )
                n_prompt = round(done.get(OURS, ({}, 0))[0].get("n_prompt", n_prompt))
            rounds.append(_round(done))
            if plan.is_over:
                break
    return rounds


def results(
    scenario: Scenario, peer: Peer | None, rounds: list[Round], *, stands_in: bool
) -> list[Result]:
    """Return the rows that these rounds give, but those whose figure nobody has."""
    rows = scenario.rows_against(peer, stands_in=stands_in) if peer else scenario.rows
    return [
        _result(row, peer, rounds)
        for row in rows
        if all(row.key in one for one in rounds[0].figures.values())
    ]


def _result(row: Row, peer: Peer | None, rounds: list[Round]) -> Result:
    return summarize(
        rounds,
        row.key,
        row=row.name,
        unit=row.unit,
        peer=peer.name if peer else None,
        target=row.target(peer) if peer else None,
        limit=row.limit,
        less_is_better=row.less_is_better,
        details=row.details,
    )


def _warm_up(plan: Plan, scenario: Scenario, contender: Contender) -> None:
    """Pay for what only the first work of a process costs."""
    if isinstance(contender, RawDecode):
        return  # each of its processes warms up itself
    if plan.has_full_warm_up:
        scenario.work(contender, 0)
    else:
        request = contender.adapt(completion("Once upon a time", 8))
        stream(contender.port, [request])


def _observe(
    contender: Contender,
    scenario: Scenario,
    number: int,
    n_prompt: int,
    scales: Callable[[int], Figures] | None,
) -> tuple[Figures, float | None]:
    """Return one measurement, and others' share of the CPUs meanwhile."""
    before, spent = read_load(), read_process(contender.process_id)
    figures = measure(contender, scenario, number, n_prompt)
    foreign = foreign_share(before, read_load())
    figures |= _cpu_time(figures, spent, read_process(contender.process_id))
    if scales and contender.process_id:
        figures |= scales(contender.process_id)
    return figures, foreign


def _cpu_time(figures: Figures, before: float | None, after: float | None) -> Figures:
    """Return a server's own CPU time: much less disturbed by others than a rate."""
    if before is None or after is None or "n_generated" not in figures:
        return {}
    return {"cpu_ms_per_token": 1e3 * (after - before) / figures["n_generated"]}


def _scales(
    plan: Plan, scenario: Scenario, peer: Peer | None
) -> Callable[[int], Figures] | None:
    """Return what weighs a process, where the scenario asks and the model allows."""
    if not scenario.weighs_memory or not Path("/proc/self/smaps_rollup").exists():
        return None
    model = load_alone(plan.model, peer.library if peer else None)
    if model is None:
        return None
    cache_bytes = kv_bytes(model.metadata, scenario.n_slots, scenario.n_ctx)
    if cache_bytes is None:
        return None
    return lambda process_id: weigh(process_id, model, cache_bytes)


def _round(done: dict[str, tuple[Figures, float | None]]) -> Round:
    return Round(
        {name: figures for name, (figures, _) in done.items()},
        {name: foreign for name, (_, foreign) in done.items()},
    )
