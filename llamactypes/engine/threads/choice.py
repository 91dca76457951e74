"""How many threads to compute with: asked for, known, measured or by default."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace

from llamactypes import cpus, thread_cache
from llamactypes.context import Context
from llamactypes.engine.config import EngineConfig
from llamactypes.engine.threads.trials import (
    CHUNK_TOKENS,
    Trial,
    candidates,
    chosen,
    decodes,
    measure,
    reachable,
)
from llamactypes.thread_cache import KnownThreads

__all__ = ("ThreadChoice", "choose_threads", "warn_of_too_many")

logger = logging.getLogger("llamactypes.engine")

_STEPS = 4
"""Decodes of one token in one visit to a thread count."""
_BUDGET_S = 0.1
"""For each count and kind of decode, up to `_MOST_COUNTS` of them."""
_MOST_COUNTS = 6
_DEAR_S = 0.05
"""A decode of one token as long as this: trials of many would delay the start."""
_SAME_LOAD = 0.5
"""CPUs that others may use more or less before a known choice is measured anew."""
_SAME_LOAD_PART = 0.1
"""Of all CPUs, where there are many."""
_SAME_SPEED = 2.0
"""Times that a decode may take longer than when it was chosen."""


@dataclass(frozen=True, slots=True)
class ThreadChoice:
    """The threads in use and on what grounds."""

    n_threads: int
    n_threads_batch: int
    source: str
    """"asked", "measured", "cached" or "default"."""
    step_s: float = 0.0
    """A decode of one token, in seconds; 0: unknown."""
    chunk_s: float = 0.0
    """A decode of `CHUNK_TOKENS`, in seconds; 0: unknown."""
    is_loaded: bool = False
    """Whether others left fewer CPUs than this process may use."""
    is_fixed: bool = False
    """Never changed later: asked for, or results may not depend on the load."""
    is_batch_asked: bool = False
    """Whether `n_threads_batch` was asked for, `n_threads` not."""


def warn_of_too_many(config: EngineConfig) -> None:
    """Say so when more threads are asked for than there are CPUs."""
    limit = cpus.cpu_limit()
    asked = {"--threads": config.n_threads, "--threads-batch": config.n_threads_batch}
    flags = [f"{name} {n}" for name, n in asked.items() if n is not None and n > limit]
    if flags:
        logger.warning(
            "%s: more than the %d CPU(s) this process may use; waiting threads keep "
            "CPUs from working ones, and decodes can take hundreds of times longer. "
            "--threads auto measures what is best",
            " and ".join(flags),
            limit,
        )


def choose_threads(
    context: Context, config: EngineConfig, load: cpus.CpuLoad
) -> ThreadChoice:
    """Choose the threads of a new, empty `context`, set them and return the choice.

    What was asked for stays. The rest is known from the cache, if the load is as it was
    then, or measured within about half a second on few CPUs and a second on many.

    Args:
        context: The caller's; its memory is empty before and after.
        config: What was asked for.
        load: Running since the model began to load.

    Raises:
        DecodeError: A trial failed, as the first request would.
    """
    choice = _choose(context, config, load)
    context.set_threads(choice.n_threads, choice.n_threads_batch)
    return choice


def _choose(context: Context, config: EngineConfig, load: cpus.CpuLoad) -> ThreadChoice:
    if config.n_threads is not None:
        n_batch = config.n_threads_batch or config.n_threads
        return ThreadChoice(config.n_threads, n_batch, "asked", is_fixed=True)
    if config.deterministic:
        return _default(config)
    key = _key(context, config)
    may_decode = config.warmup and _can_measure(context)
    choice = _known(context, key, load.others(), may_decode=may_decode)
    if choice is None and may_decode:
        choice = _measured(context, key, load)
    if choice is None:
        return _default(config)
    return _with_asked_batch(choice, config.n_threads_batch)


def _default(config: EngineConfig) -> ThreadChoice:
    """Return all cores but one.

    Deterministic mode keeps that: the library shares some sums among the threads, so
    that the last bits depend on their number.
    """
    n = cpus.default_thread_count()
    n_batch = config.n_threads_batch
    choice = ThreadChoice(n, n, "default", is_fixed=config.deterministic)
    return _with_asked_batch(choice, n_batch)


def _key(context: Context, config: EngineConfig) -> str | None:
    """Return the cache's key; None when the model's file cannot be looked at."""
    model = context.model
    placement = (config.n_gpu_layers, config.split_mode, config.devices)
    layout = (config.type_k, config.type_v, config.flash_attn)
    try:
        return thread_cache.key_for(model.path, settings=(*placement, *layout))
    except OSError:
        return None


def _known(
    context: Context, key: str | None, others: float | None, *, may_decode: bool
) -> ThreadChoice | None:
    """Return the cached choice if load and speed are about what they were then."""
    known = thread_cache.find(key) if key else None
    if known is None or not _is_same_load(known.others, others):
        return None
    if max(known.n_threads, known.n_threads_batch) > cpus.cpu_limit():
        return None
    if may_decode:
        limit_s = _SAME_SPEED * known.step_s
        if decodes(context, 1, _STEPS)(known.n_threads, limit_s) >= limit_s:
            return None
    return _as_choice(known, "cached")


def _is_same_load(then: float | None, now: float | None) -> bool:
    tolerance = max(_SAME_LOAD, _SAME_LOAD_PART * cpus.usable_cpus())
    return then is None or now is None or abs(then - now) < tolerance


def _can_measure(context: Context) -> bool:
    """Whether a decode of some tokens means something: causal decoders only.

    Not for embeddings: trials would speak for generation, one token after another.
    """
    model = context.model
    if context.params.embeddings:
        return False
    has_room = min(context.n_ctx_seq, context.n_batch, context.n_ubatch) >= CHUNK_TOKENS
    is_decoder = model.has_decoder and not model.has_encoder and model.is_causal
    return is_decoder and has_room


def _measured(context: Context, key: str | None, load: cpus.CpuLoad) -> ThreadChoice:
    """Try some counts and remember the best."""
    started = time.perf_counter()
    others = load.others()
    limit = cpus.cpu_limit()
    counts = candidates(limit, cpus.physical_cores(), cpus.default_thread_count())
    counts = reachable(counts, _n_free(others))
    steps = _times(counts, decodes(context, 1, _STEPS))
    n = n_batch = chosen(steps, limit)
    chunks: dict[int, float] = {}
    if len(steps) > 1 and steps[n] < _DEAR_S:
        chunks = _times(list(steps), decodes(context, CHUNK_TOKENS, 1))
        n_batch = chosen(chunks, limit)
    others = load.others() if others is None else others
    known = KnownThreads(n, n_batch, steps[n], chunks.get(n_batch, 0.0), others)
    _report(steps, chunks, known, time.perf_counter() - started)
    if key:
        thread_cache.remember(key, known)
    return _as_choice(known, "measured")


def _n_free(others: float | None) -> int:
    """Return how many CPUs others leave: those beyond a quota are spare ones."""
    return cpus.usable_cpus() - round(others or 0.0)


def _times(counts: list[int], trial: Trial) -> dict[int, float]:
    return measure(counts, trial, _BUDGET_S * min(len(counts), _MOST_COUNTS))


def _report(
    steps: dict[int, float],
    chunks: dict[int, float],
    known: KnownThreads,
    took_s: float,
) -> None:
    busy = "" if known.others is None else f", others use {known.others:.1f} CPUs"
    logger.info(
        "threads measured in %.2f s%s: %d for one token (%s), %d for many (%s)",
        took_s,
        busy,
        known.n_threads,
        _table(steps),
        known.n_threads_batch,
        _table(chunks),
    )


def _table(times: dict[int, float]) -> str:
    cells = ", ".join(f"{n}: {times[n] * 1e3:.3g}" for n in sorted(times))
    return f"{cells} ms" if cells else "not tried"


def _as_choice(known: KnownThreads, source: str) -> ThreadChoice:
    return ThreadChoice(
        known.n_threads,
        known.n_threads_batch,
        source,
        known.step_s,
        known.chunk_s,
        is_loaded=_n_free(known.others) < cpus.cpu_limit(),
    )


def _with_asked_batch(choice: ThreadChoice, asked: int | None) -> ThreadChoice:
    if asked is None:
        return choice
    return replace(choice, n_threads_batch=asked, chunk_s=0.0, is_batch_asked=True)
