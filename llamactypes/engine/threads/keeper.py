"""Keeps a context's threads at a count that works. Engine thread only."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from llamactypes import cpus
from llamactypes.context import Context
from llamactypes.engine.planning.plan import Plan
from llamactypes.engine.threads.choice import ThreadChoice
from llamactypes.engine.threads.trials import CHUNK_TOKENS
from llamactypes.engine.threads.watch import (
    Counts,
    Slowness,
    StepUp,
    ThreadWatch,
    ladder,
)

__all__ = ("ThreadKeeper",)

logger = logging.getLogger("llamactypes.engine")

_LEAST_CALM_S = 5.0
"""Others' use of the CPUs is averaged over at least this long."""
_RECOUNT = 16
"""Slots grow by a token a decode: their lengths are asked this seldom."""
_SPARE = 0.25
"""Part of a CPU that others may use although all are wanted."""


class ThreadKeeper:
    """Feeds a `ThreadWatch`, does what it says, and says so in the log."""

    def __init__(
        self,
        context: Context,
        choice: ThreadChoice,
        load: cpus.CpuLoad,
    ) -> None:
        """Watch `context`, whose threads are those of `choice`.

        Args:
            context: Owned by the calling thread.
            choice: What it computes with. What was asked for is never changed.
            load: Measures what others do; the keeper restarts it.
        """
        self._context = context
        self._load = load
        self.on_change: Callable[[], None] = lambda: None
        """Called when the counts have changed."""
        self._is_fixed = choice.is_fixed
        self.source = choice.source
        """Why there are so many threads; see `ModelInfo.threads_source`."""
        self._watch = _watch(choice)
        self._n_notes = 0
        self._n_cells_now = 0

    @property
    def counts(self) -> Counts:
        """Threads for one token and for many."""
        return self._context.n_threads, self._context.n_threads_batch

    @property
    def is_watching(self) -> bool:
        """Whether `note` may ever do anything: not with one thread from the start."""
        return self._watch is not None

    def note(self, plan: Plan, seconds: float) -> None:
        """Tell that the plan's decode took so long, sampling not counted."""
        watch, now = self._watch, time.monotonic()
        if watch is None:
            return
        found = watch.note(plan.n_tokens, self._n_cells(plan), seconds, now)
        if found is None and watch.may_rise(now) and self._is_calm(watch):
            found = watch.rise()
        if found is not None:
            self._follow(found)

    def _n_cells(self, plan: Plan) -> int:
        """Return how many cells of the KV cache a token's computation passes over.

        One buffer: those of all slots, idle ones too. A buffer each: the longest.
        """
        if not self._context.params.kv_unified:
            return max(chunk.start + chunk.n_tokens for chunk in plan.chunks)
        if self._n_notes % _RECOUNT == 0:
            memory, n_slots = self._context.memory, self._context.n_seq_max
            lengths = (memory.seq_pos_max(slot) + 1 for slot in range(n_slots))
            self._n_cells_now = sum(lengths)
        self._n_notes += 1
        return self._n_cells_now

    def _is_calm(self, watch: ThreadWatch) -> bool:
        """Whether others leave the CPUs free that more threads would use."""
        if watch.next_up is None or self._load.span_s < _LEAST_CALM_S:
            return False
        others = self._load.others()
        self._load.restart()
        wanted = max(watch.next_up)
        return others is not None and others <= cpus.usable_cpus() - wanted + _SPARE

    def _follow(self, found: Slowness | StepUp) -> None:
        if isinstance(found, Slowness):
            self._report_slowness(found)
        elif not found.is_trial and found.to == found.before:
            logger.info("CPUs are free again: %s", _threads(found.to))
        else:
            logger.debug("%s instead of %s", _threads(found.to), _threads(found.before))
        if found.to != self.counts:
            self._context.set_threads(*found.to)
            self.source = "adapted"
            self._load.restart()
            self.on_change()

    def _report_slowness(self, found: Slowness) -> None:
        advice = (
            "their number is fixed; --threads auto adapts it"
            if self._is_fixed
            else f"now {_threads(found.to)}"
        )
        logger.warning(
            "decodes take %s, %.0f times the %s expected, with %s: something else uses "
            "the CPUs; %s",
            _duration(found.seconds),
            found.seconds / found.expected_s,
            _duration(found.expected_s),
            _threads(found.before),
            advice,
        )


def _watch(choice: ThreadChoice) -> ThreadWatch | None:
    now = choice.n_threads, choice.n_threads_batch
    if choice.is_fixed:
        return None if max(now) == 1 else ThreadWatch([now], now)
    # What was chosen under load may be too little later.
    most = cpus.cpu_limit() if choice.is_loaded else 1
    n_batch = now[1] if choice.is_batch_asked else max(now[1], most)
    rungs = ladder((max(now[0], most), n_batch), now, keep_batch=choice.is_batch_asked)
    if len(rungs) == 1:
        return None
    watch = ThreadWatch(rungs, now)
    if choice.step_s:
        watch.know(1, 1, choice.step_s)
    if choice.chunk_s:
        watch.know(CHUNK_TOKENS, CHUNK_TOKENS, choice.chunk_s)
    return watch


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _threads(counts: Counts) -> str:
    n, n_batch = counts
    return f"{n} thread(s)" if n == n_batch else f"{n} thread(s), {n_batch} for prompts"
