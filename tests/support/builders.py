"""Small makers of engine objects for tests that need no model."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any

from llamactypes.engine.planning.plan import Chunk, Event, Plan, Sampled
from llamactypes.engine.planning.planner import Planner
from llamactypes.engine.planning.scheduler import Scheduler
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.request import GenerationRequest

__all__ = (
    "PIECES",
    "make_request",
    "make_scheduler",
    "make_sequence",
    "sample_all",
    "step",
    "taken",
)

_ids = count(1)
_END, _X = 2, 7
_PLANNER_OPTIONS = ("n_rows", "turns", "has_adapters", "pace", "reaction")


class Pieces:
    """A vocabulary that grows: token 2 ends, token 7 is "x"."""

    eog_tokens = (_END,)

    def __init__(self) -> None:
        self._pieces = {_END: b"", _X: b"x"}

    def token(self, piece: bytes) -> int:
        """Return the token of a piece."""
        for token, known in self._pieces.items():
            if known == piece and token != _END:
                return token
        self._pieces[token := 1000 + len(self._pieces)] = piece
        return token

    def piece(self, token: int, *, special: bool = True) -> bytes:
        return self._pieces[token]


PIECES = Pieces()


@dataclass(frozen=True)
class _Planned(Plan):
    """A plan that remembers where its chunks were."""

    seen: tuple[Chunk, ...] = ()

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        return self.seen


def make_request(n_prompt: int = 4, *, first: int = 100, **options: Any):
    """Return a request whose prompt counts up from `first`."""
    tokens = options.pop("tokens", tuple(range(first, first + n_prompt)))
    return GenerationRequest(tokens, **options)


def make_sequence(n_prompt: int = 4, **options: Any) -> Sequence:
    return Sequence(next(_ids), make_request(n_prompt, **options))


def make_scheduler(
    n_slots: int = 2, n_ctx_slot: int = 64, n_batch: int = 8, **options: Any
) -> Scheduler:
    own = {name: options.pop(name) for name in _PLANNER_OPTIONS if name in options}
    planner = Planner(n_batch, is_unified=options.get("n_kv") is not None, **own)
    return Scheduler(n_slots, n_ctx_slot, planner, PIECES, **options)


def sample_all(plan: Plan, piece: bytes = b"x", *, is_eog: bool = False) -> Sampled:
    """Return a token for every chunk that wants one."""
    sequences = [chunk.sequence for chunk in plan.chunks if chunk.wants_logits]
    token = _END if is_eog else PIECES.token(piece)
    return Sampled(sequences, [token] * len(sequences))


def taken(event: Event) -> Event:
    """Return an event with its delta, as the core takes it."""
    if not event.is_due:
        return event
    return Event(event.sequence, event.sequence.take_delta())


def step(scheduler: Scheduler, now: float = 1.0, **sampled: Any):
    """Do one whole step with a runner that keeps every prefix; return plan, events.

    The plan's chunks are as they were planned.
    """
    scheduler.admit()
    events = [
        scheduler.start(admission, admission.n_cached, now)
        for admission in scheduler.begin()
    ]
    scheduler.shifts()
    plan = scheduler.plan()
    planned = _Planned(plan.generating, plan.prompts, plan.chunks)
    events += map(taken, scheduler.apply(plan, sample_all(plan, **sampled), now))
    scheduler.check_integrity()
    return planned, events
