"""What other threads ask of the engine thread, until it looks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from llamactypes.engine.core import Core
from llamactypes.engine.embedding.core import EmbeddingCore
from llamactypes.engine.embedding.job import EmbeddingJob
from llamactypes.engine.embedding.request import EmbeddingResult
from llamactypes.engine.generation import Generation
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.slot_orders import SlotOrder
from llamactypes.errors import LlamaError
from llamactypes.sampling import SamplerChain

__all__ = ("Mailbox",)


class Mailbox:
    """Messages to the engine thread, in the order they came. Any thread.

    Every message wakes it.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._submitted: deque[tuple[Sequence, Generation, SamplerChain]] = deque()
        self._cancelled: deque[Generation] = deque()
        self._jobs: deque[EmbeddingJob] = deque()
        self._cancelled_jobs: deque[EmbeddingJob] = deque()
        self._orders: deque[SlotOrder[Any]] = deque()

    def submit(self, work: list[tuple[Sequence, Generation, SamplerChain]]) -> None:
        """Leave generations to be made; the samplers are the engine's from now on."""
        self._submitted.extend(work)
        self._wake()

    def cancel(self, generation: Generation) -> None:
        """Leave word that a generation may end."""
        self._cancelled.append(generation)
        self._wake()

    def embed(self, job: EmbeddingJob) -> None:
        """Leave inputs to be embedded."""
        self._jobs.append(job)
        self._wake()

    def cancel_job(self, job: EmbeddingJob) -> None:
        """Leave word that nobody waits for these embeddings."""
        self._cancelled_jobs.append(job)
        self._wake()

    def order(self, order: SlotOrder[Any]) -> None:
        """Leave something to be done with an idle slot."""
        self._orders.append(order)
        self._wake()

    def deliver(self, core: Core | EmbeddingCore) -> None:
        """Hand everything to `core`. Engine thread."""
        if isinstance(core, EmbeddingCore):
            while self._jobs:
                core.add(self._jobs.popleft())
            while self._cancelled_jobs:
                core.cancel(self._cancelled_jobs.popleft())
            return
        while self._submitted:
            core.add(*self._submitted.popleft())
        while self._cancelled:
            core.cancel(self._cancelled.popleft())
        while self._orders:
            core.orders.add(self._orders.popleft())
        core.orders.carry_out()

    def abandon(self, error: LlamaError) -> None:
        """Tell whoever waits that nobody will look; the messages stay where they are.

        For any thread, when the engine thread is lost.
        """
        for sequence, generation, _ in tuple(self._submitted):
            generation.append(None, sequence.lost(error))
        for job in tuple(self._jobs):
            job.end(EmbeddingResult(error=error))
