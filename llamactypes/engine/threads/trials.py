"""How long decodes take with how many threads: short, bounded trials on a context."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Protocol

from llamactypes.batch import Batch
from llamactypes.context import AbortFlag, Context
from llamactypes.errors import DecodeAborted

__all__ = (
    "CHUNK_TOKENS",
    "Trial",
    "candidates",
    "chosen",
    "decodes",
    "measure",
    "reachable",
)

CHUNK_TOKENS = 16
"""Enough to be computed as a prompt is: matrix by matrix."""

_ROUNDS = 4
_WORTHWHILE = 1.3
"""What is this much slower than the best after two rounds is tried no more."""
_TRAPPED = 2.0
"""A trial this many times slower than the best so far is cut short."""
_LEAST_LIMIT_S = 0.01
_LONG_S = 0.02
"""Beside a decode this long, starting threads is nothing."""
_LEAST_COUNTS = 2
_CLOSE = 1.05
"""Fewer threads are preferred when they are almost as fast."""
_CLOSE_TO_ALL = 1.15
"""The last CPU serves HTTP, too: it must gain more."""


class Trial(Protocol):
    """One visit to a thread count."""

    def __call__(self, count: int, limit_s: float | None) -> float:
        """Return seconds per decode with `count` threads.

        From `limit_s` on it does not matter how many: the trial may end early.
        """


def candidates(n_cpus: int, n_cores: int, first: int) -> list[int]:
    """Return the counts worth a trial: `first`, then from many to few.

    Args:
        n_cpus: CPUs this process can keep busy; no count is larger.
        n_cores: Physical cores.
        first: Tried first, because it is used when there is no time for others.
    """
    powers = {1 << bits for bits in range(n_cpus.bit_length())}
    counts = {one for one in powers | {n_cores, n_cpus} if 1 <= one <= n_cpus}
    return [first, *sorted(counts - {first}, reverse=True)]


def reachable(counts: Iterable[int], n_free: int) -> list[int]:
    """Return the counts that find a CPU each; 1 always does."""
    return [count for count in counts if count <= max(1, n_free)]


def measure(
    counts: Sequence[int],
    trial: Trial,
    budget_s: float,
    now: Callable[[], float] = time.perf_counter,
) -> dict[int, float]:
    """Return the median seconds of a decode for each count that was tried.

    Rounds over all counts alternate, so that a disturbance meets all of them; what is
    clearly slower leaves after two rounds. No trial begins after `budget_s`, but two
    counts are always tried.
    """
    times: dict[int, list[float]] = {}
    live, end = list(counts), now() + budget_s
    for n_round in range(_ROUNDS):
        for count in live:
            if len(times) >= _LEAST_COUNTS and now() >= end:
                return _medians(times)
            limit_s = _TRAPPED * min(_medians(times).values()) if times else None
            times.setdefault(count, []).append(trial(count, limit_s))
        if n_round:
            worth = _WORTHWHILE * min(_medians(times).values())
            live = [count for count in live if median(times[count]) <= worth]
        if len(live) == 1:
            break
    return _medians(times)


def _medians(times: Mapping[int, list[float]]) -> dict[int, float]:
    return {count: median(values) for count, values in times.items()}


def chosen(times: Mapping[int, float], n_cpus: int) -> int:
    """Return the smallest count that is about as fast as the best.

    Args:
        times: Seconds by count.
        n_cpus: CPUs this process can keep busy.
    """
    best = min(times, key=lambda count: times[count])
    close = _CLOSE_TO_ALL if best == n_cpus else _CLOSE
    return min(count for count in times if times[count] <= close * times[best])


def decodes(context: Context, n_tokens: int, n_decodes: int) -> Trial:
    """Return a trial that decodes `n_tokens` at once, `n_decodes` times.

    The first decode after a change of threads starts them and is not counted when
    there are others; a long one is enough. Sequence 0 is empty before and after. Owner
    of `context` only.
    """

    def trial(count: int, limit_s: float | None) -> float:
        context.set_threads(count)
        n = 1 if limit_s is not None and limit_s >= _LONG_S else n_decodes
        total_s = None if limit_s is None else max(_LEAST_LIMIT_S, limit_s * n)
        try:
            with _TimeLimit(context, total_s):
                return _median_decode(context, n_tokens, n)
        except DecodeAborted:
            assert total_s is not None
            return total_s / n
        finally:
            context.memory.clear(False)

    return trial


def _median_decode(context: Context, n_tokens: int, n_decodes: int) -> float:
    with Batch(n_tokens) as batch:
        first_s = _decode(context, batch)
        if first_s >= _LONG_S or n_decodes == 1:
            return first_s
        return median(_decode(context, batch) for _ in range(n_decodes - 1))


def _decode(context: Context, batch: Batch) -> float:
    """Compute some tokens at the start of an empty memory; return the seconds."""
    context.memory.clear(False)
    batch.clear()
    n_vocab = context.model.vocab.n_tokens
    tokens = [index % n_vocab for index in range(batch.n_tokens_max)]
    batch.extend(tokens, 0, 0, last_logits=True)
    started = time.perf_counter()
    context.decode(batch)
    context.synchronize()
    return time.perf_counter() - started


class _TimeLimit:
    """Aborts decodes after a while: in the trap one of them may take seconds."""

    def __init__(self, context: Context, limit_s: float | None) -> None:
        self._context = context
        self._flag = AbortFlag()
        self._timer: threading.Timer | None = None
        if limit_s is not None:
            self._timer = threading.Timer(limit_s, self._flag.set)
            self._timer.daemon = True

    def __enter__(self) -> None:
        self._context.set_abort(self._flag)
        if self._timer is not None:
            self._timer.start()

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        self._context.set_abort(None)
