"""What an engine for embeddings does in one step, and whom it tells. Engine thread.

take a batch ─► compute ─► note rows ─► end what is complete
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import numpy as np

from llamactypes.engine.config import EngineConfig, ModelInfo, SlotState
from llamactypes.engine.embedding.embedder import Embedder
from llamactypes.engine.embedding.job import EmbeddingJob
from llamactypes.engine.embedding.queue import EmbeddingQueue, Pending, Piece
from llamactypes.engine.embedding.request import EmbeddingResult, shaped
from llamactypes.engine.measures.metrics import Meter
from llamactypes.errors import DecodeAborted, KVCacheFull, LlamaError, NotFinite

__all__ = ("EmbeddingCore",)

logger = logging.getLogger("llamactypes.engine")

_NOT_FINITE = (
    "the model computed numbers that are not finite; a file of another quantisation, "
    "or --flash-attn off, may help"
)


class EmbeddingCore:
    """The queue, the embedder and the live jobs, driven step by step.

    `interruptible`, `slot_states` and the counts may be read from any thread.
    """

    n_preemptions = 0
    """Nothing that was begun is put off."""

    def __init__(
        self,
        config: EngineConfig,
        info: ModelInfo,
        embedder: Embedder,
        meter: Meter,
        on_end: Callable[[], None],
    ) -> None:
        """Start without work; `on_end` is called after each job's end."""
        # Rows depend a little on what is computed beside them: alone they do not.
        n_sequences = 1 if config.deterministic else info.n_slots
        self._queue = EmbeddingQueue(embedder.n_tokens_batch, n_sequences)
        self._info = info
        self._embedder = embedder
        self._meter = meter
        self._on_end = on_end
        self._live: dict[int, tuple[Pending, EmbeddingJob]] = {}
        self._batch: tuple[Piece, ...] = ()
        self._n_started = 0
        self._n_alone = 0
        """Next inputs to compute one by one."""

    # -- any thread -----------------------------------------------------------------

    @property
    def interruptible(self) -> frozenset[int]:
        """Ids of those for whose end the running batch is worth losing.

        Only when nobody is left who waits for any of it.
        """
        ids = frozenset(piece.pending.id for piece in self._batch)
        jobs = [self._live.get(id) for id in ids]
        is_unwanted = all(job is None or job[1].is_cancel_requested for job in jobs)
        return ids if is_unwanted else frozenset()

    @property
    def n_running(self) -> int:
        """Requests of which something was computed, or is being."""
        return self._n_started

    def slot_states(self) -> list[SlotState]:
        """Return as many slots as inputs may be computed together."""
        n, n_ctx = len(self._batch), self._info.n_ctx_slot
        return [SlotState(id, n_ctx, id < n) for id in range(self._info.n_slots)]

    def interrupt(self) -> None:
        """End the running batch early."""
        self._embedder.interrupt()

    def abandon(self, error: LlamaError) -> None:
        """Tell whoever waits that the engine thread does not come back."""
        for _, job in tuple(self._live.values()):
            job.end(EmbeddingResult(error=error))

    # -- engine thread --------------------------------------------------------------

    @property
    def has_work(self) -> bool:
        """Whether `step` has anything to do."""
        return len(self._queue) > 0

    def add(self, job: EmbeddingJob) -> None:
        """Take over a new request."""
        pending = Pending(job.id, job.request, t_submit=job.created_at)
        self._live[job.id] = (pending, job)
        self._queue.add(pending)

    def cancel(self, job: EmbeddingJob) -> None:
        """End a job; nothing happens when it has ended."""
        if job.id in self._live:
            self._end(job.id, EmbeddingResult(is_cancelled=True))

    def cancel_orphans(self, limit_s: float) -> None:
        """End jobs that nobody has looked at for `limit_s` seconds."""
        now = time.monotonic()
        for _, job in tuple(self._live.values()):
            if now - job.last_read_at > limit_s:
                logger.warning("request %d: nobody reads it, ended", job.id)
                self.cancel(job)

    def end_all(self, error: LlamaError) -> None:
        """End every job with `error`."""
        for id in tuple(self._live):
            self._end(id, EmbeddingResult(error=error))

    def step(self) -> None:
        """Compute one batch.

        Raises:
            DecodeError: Fatal; nothing more can be computed.
        """
        batch = self._queue.take(1 if self._n_alone else None)
        self._n_alone = max(0, self._n_alone - 1)
        self._batch = tuple(batch)
        # Whoever cancels sets its mark first and looks at `interruptible` then; we do
        # it the other way round, so that one of us sees the other.
        try:
            if not self.interruptible:
                self._compute(batch)
            else:
                self._queue.put_back(batch)  # cancelled: the mailbox says so next
        finally:
            self._batch = ()

    def _compute(self, batch: list[Piece]) -> None:
        started = time.perf_counter()
        self._note_start(batch, started)
        try:
            found = self._embedder.run([piece.tokens for piece in batch])
        except DecodeAborted:
            self._queue.put_back(batch)
            return
        except KVCacheFull as error:
            self._without_room(batch, error)
            return
        lengths = [len(piece.tokens) for piece in batch]
        self._meter.count_embedded(lengths, time.perf_counter() - started)
        for piece, rows in zip(batch, found, strict=True):
            piece.pending.rows[piece.place] = rows
        for pending in {piece.pending.id: piece.pending for piece in batch}.values():
            if pending.is_complete:
                self._end(pending.id, self._result(pending))

    def _note_start(self, batch: list[Piece], now: float) -> None:
        for pending in (piece.pending for piece in batch):
            if not pending.t_start:
                pending.t_start = now
                self._n_started += 1
                self._meter.queue_s.observe(now - pending.t_submit)

    def _without_room(self, batch: list[Piece], error: KVCacheFull) -> None:
        """Try inputs one by one; one that finds no room alone never will."""
        if len(batch) > 1:
            self._n_alone = len(batch)
            self._queue.put_back(batch)
        else:
            self._end(batch[0].pending.id, EmbeddingResult(error=error))

    def _result(self, pending: Pending) -> EmbeddingResult:
        rows = tuple(each for each in pending.rows if each is not None)
        if not all(np.isfinite(each).all() for each in rows):
            return EmbeddingResult(error=NotFinite(_NOT_FINITE))
        if self._embedder.pooling != "none":
            rows = tuple(shaped(each, pending.request) for each in rows)
        return EmbeddingResult(rows)

    def rest(self) -> None:
        """Nothing is left between requests: no cache to compare with the library's."""

    def _end(self, id: int, result: EmbeddingResult) -> None:
        pending, job = self._live.pop(id)
        self._queue.remove(pending)
        self._n_started -= bool(pending.t_start)
        now = time.perf_counter()
        self._meter.count_embedding(result, pending.t_submit, pending.t_start, now)
        self._on_end()
        job.end(result)
