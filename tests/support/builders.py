"""Small makers of engine objects for tests that need no model."""

from __future__ import annotations

from itertools import count
from typing import Any

from llamactypes.engine.planning.plan import Plan, Sampled
from llamactypes.engine.planning.scheduler import Scheduler
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.request import GenerationRequest

__all__ = ("make_request", "make_scheduler", "make_sequence", "sample_all", "step")

_ids = count(1)


def make_request(n_prompt: int = 4, *, first: int = 100, **options: Any):
    """Return a request whose prompt counts up from `first`."""
    tokens = options.pop("tokens", tuple(range(first, first + n_prompt)))
    return GenerationRequest(tokens, **options)


def make_sequence(n_prompt: int = 4, **options: Any) -> Sequence:
    return Sequence(next(_ids), make_request(n_prompt, **options))


def make_scheduler(
    n_slots: int = 2, n_ctx_slot: int = 64, n_batch: int = 8, **options: Any
) -> Scheduler:
    return Scheduler(n_slots, n_ctx_slot, n_batch, **options)


def sample_all(plan: Plan, piece: bytes = b"x", *, token: int = 7, is_eog=False):
    """Return a token for every chunk that wants one."""
    return [
        Sampled(chunk.sequence, token, piece, is_eog)
        for chunk in plan.chunks
        if chunk.wants_logits
    ]


def step(scheduler: Scheduler, now: float = 1.0, **sampled: Any):
    """Do one whole step with a runner that keeps every prefix; return plan, events."""
    scheduler.admit()
    events = [
        scheduler.start(admission, admission.n_cached, now)
        for admission in scheduler.begin()
    ]
    scheduler.shifts()
    plan = scheduler.plan()
    events += scheduler.apply(plan, sample_all(plan, **sampled), now)
    scheduler.check_integrity()
    return plan, events
