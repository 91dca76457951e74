"""Who is computed next: integers in, a plan out. No ctypes, threads or clock. Pure.

One step of the engine is::

    scheduler.admit()                            # waiting → a slot
    for admission in scheduler.begin():          # with the best prefix to be had
        scheduler.start(admission, runner.forget(slot, n_cached), now)
    for shift in scheduler.shifts():             # full contexts lose their middle
        runner.shift(shift)
    plan = scheduler.plan()                      # a token budget, running first
    events = scheduler.apply(plan, runner.run(plan), now)

When ``run`` raises `KVCacheFull`, `make_room` names a slot to forget and the step is
planned again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from llamactypes.engine.config import SlotState
from llamactypes.engine.planning.limits import Limits
from llamactypes.engine.planning.plan import (
    Admission,
    Chunk,
    Event,
    Plan,
    PromptProbs,
    Sampled,
    Shift,
)
from llamactypes.engine.planning.planner import Planner
from llamactypes.engine.planning.room import Room
from llamactypes.engine.planning.sequence import Sequence, SequenceState
from llamactypes.engine.planning.spacing import due_again, spacing_s
from llamactypes.engine.prefixes.checkpoints import (
    Checkpoint,
    CheckpointPolicy,
    MemoryTraits,
    until,
)
from llamactypes.engine.prefixes.finder import PrefixFinder
from llamactypes.engine.prefixes.slots import Slot, SlotTable
from llamactypes.engine.prefixes.state_cache import StateCache
from llamactypes.engine.request import FinishReason
from llamactypes.engine.text.pieces import Pieces, PieceTables
from llamactypes.errors import KVCacheFull, LlamaError

__all__ = ("Scheduler",)


class Scheduler:
    """Waiting and running sequences, and the slots they live in. Engine thread only."""

    def __init__(
        self,
        n_slots: int,
        n_ctx_slot: int,
        planner: Planner,
        vocab: Pieces,
        *,
        n_kv: int | None = None,
        similarity: float = 0.1,
        context_shift: bool = False,
        n_keep_extra: int = 0,
        cache_bytes: int = 0,
        memory: MemoryTraits | None = None,
        checkpoints: CheckpointPolicy | None = None,
        keep_idle: bool = True,
    ) -> None:
        """Create a scheduler without work.

        Args:
            n_slots: Sequences that may run at once; at most a batch has tokens.
            n_ctx_slot: Most tokens one sequence may hold.
            planner: Says how much of whom is computed in a decode.
            vocab: Of the model.
            n_kv: See `Room`.
            similarity: See `SlotTable`.
            context_shift: See `Limits`.
            n_keep_extra: See `Limits`.
            cache_bytes: Limit of states kept in RAM; -1: none, 0: keep nothing.
            memory: What the model's memory can do; None: everything.
            checkpoints: For memory that cannot be cut.
            keep_idle: See `Room`.
        """
        if n_slots > planner.n_batch:
            raise ValueError(
                f"{n_slots} slots do not fit a batch of {planner.n_batch} tokens"
            )
        self.slots = SlotTable(n_slots, similarity)
        self.n_ctx_slot = n_ctx_slot
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self.n_preemptions = 0
        self.state_cache = StateCache(cache_bytes)
        self._planner = planner
        self._pieces = PieceTables(vocab)
        cut = 1 if planner.turns is None else planner.turns.cut
        memory = memory or MemoryTraits()
        self._prefixes = PrefixFinder(self.slots, self.state_cache, memory, cut)
        self._memory = memory
        self._checkpoints = checkpoints or CheckpointPolicy()
        if memory.can_cut:
            self._checkpoints = CheckpointPolicy()
        self.room = Room(
            self.slots, self.running, self._prefixes, n_kv=n_kv, keep_idle=keep_idle
        )
        self._limits = Limits(
            n_ctx_slot,
            frozenset(vocab.eog_tokens),
            context_shift=context_shift,
            n_keep_extra=n_keep_extra,
        )
        self._hold_admission = False

    # -- in ----------------------------------------------------------------------

    def submit(self, sequence: Sequence) -> None:
        """Queue a new sequence, behind all that wait."""
        if self._planner.turns is not None:
            sequence.n_trusted = self._planner.turns.n_reusable(sequence)
        request = sequence.request
        sequence.piece_of = self._pieces.reader(
            request.preserved_tokens, special=request.special_pieces
        )
        sequence.resume()
        sequence.cuts = self._checkpoints.cuts(sequence.n_prompt)
        if sequence.use.start:
            sequence.cuts.append(sequence.use.start)
        self.waiting.append(sequence)

    def cancel(self, sequence: Sequence) -> Event | None:
        """End a sequence now; None when it had ended already."""
        return self.end(sequence, FinishReason.CANCELLED)

    def end(
        self,
        sequence: Sequence,
        reason: FinishReason,
        error: LlamaError | None = None,
    ) -> Event | None:
        """End a sequence with what it has; None when it had ended already."""
        if sequence.state is SequenceState.FINISHED:
            return None
        if sequence.state is SequenceState.WAITING:
            self.waiting.remove(sequence)
        return self._finish(sequence, reason, error)

    @property
    def has_work(self) -> bool:
        """Whether anything waits or runs."""
        return bool(self.running or self.waiting)

    # -- admission ----------------------------------------------------------------

    def admit(self) -> list[Sequence]:
        """Give idle slots to waiting sequences, in arrival order; return these.

        A sequence that asked for a busy slot is passed by; nobody else is.
        """
        admitted: list[Sequence] = []
        if self._hold_admission and self.running:
            return admitted
        for sequence in tuple(self.waiting):
            if not self.room.has_place_for(sequence):
                break
            slot = self.slots.choose(sequence)
            if slot is None and sequence.request.id_slot < 0:
                break
            if slot is None:
                continue
            self.waiting.remove(sequence)
            self._enter(sequence, slot)
            admitted.append(sequence)
        return admitted

    def _enter(self, sequence: Sequence, slot: Slot) -> None:
        slot.sequence = slot.last_request = sequence
        sequence.slot = slot.id
        sequence.state = SequenceState.RUNNING
        sequence.waits_for, sequence.n_wanted = self._prefixes.awaited(
            sequence, slot, self.running
        )
        if sequence.waits_for is not None and not self._memory.can_cut:
            sequence.waits_for.cuts.append(sequence.n_wanted)
        self.running.append(sequence)
        self._planner.forget()

    def begin(self) -> list[Admission]:
        """Return how each admitted sequence, that need not wait for another, begins."""
        if self._planner.steady is not None:
            return []
        return [
            self._prefixes.best(sequence, self.slots[sequence.slot])
            for sequence in self.running
            if sequence.slot is not None
            and not sequence.is_entered
            and not sequence.is_held
        ]

    def start(self, admission: Admission, n_cached: int, now: float) -> Event:
        """Begin an admitted sequence of which `n_cached` tokens really are computed."""
        sequence = admission.sequence
        sequence.start(n_cached, now)
        sequence.checkpoints = until(admission.checkpoints, n_cached)
        if admission.moves and n_cached > admission.moves[0].to:
            sequence.n_trusted = admission.moves[0].to
        # Where prompts went apart once, others will.
        sequence.cuts.append(self._checkpoints.cut(admission.n_shared))
        admission.slot.empty()  # what it held is the sequence's now, or gone
        if not sequence.tokens:
            return self._finish(sequence, FinishReason.LENGTH)
        if sequence.request.generated and not admission.sequence.t_first:
            # An earlier generation may have been at its end, and never said so.
            last = sequence.request.generated[-1]
            reason = self._limits.reason(sequence, last)
            if reason is not None:
                sequence.text.finish()  # told with the last of these tokens
                return self._finish(sequence, reason)
        if sequence.request.return_progress and not sequence.n_decoded:
            return Event(sequence, sequence.progress_delta(now))
        return Event(sequence)

    # -- plan ---------------------------------------------------------------------

    def shifts(self) -> list[Shift]:
        """Shorten the running sequences whose context is full; return what to move."""
        return self._limits.shifts(self.running)

    def plan(self) -> Plan:
        """Return the next decode."""
        return self._planner.plan(self.running)

    # -- results ------------------------------------------------------------------

    def apply_prompt_probs(self, found: Iterable[PromptProbs]) -> list[Event]:
        """Take over logprobs of prompts, before `apply` for the same decode."""
        return [Event(each, each.prompt_delta(probs)) for each, probs in found]

    def apply(self, plan: Plan, sampled: Sampled, now: float) -> list[Event]:
        """Take over what a decode computed; return what readers should see."""
        events: list[Event] = []
        for sequence in plan.generating:
            sequence.n_computed += 1
        for chunk in plan.prompts:
            chunk.sequence.n_computed = chunk.start + chunk.n_tokens
            event = None if chunk.sequence.n_decoded else self._apply_prompt(chunk, now)
            if event is not None:
                events.append(event)
        spacing = spacing_s(plan.n_generating)
        for sequence, token in zip(sampled.sequences, sampled.tokens, strict=True):
            if sequence.state is not SequenceState.RUNNING:
                continue  # it ended while its token was computed
            sequence.add_token(token, now)
            if sampled.probs and sequence.id in sampled.probs:
                sequence.add_probs(sampled.probs[sequence.id])
            reason = self._limits.reason(sequence, token)
            if reason is None and sequence.id in sampled.forced:
                reason = self._force(sequence, sampled.forced[sequence.id], now)
            if reason is not None:
                events.append(self._finish(sequence, reason))
            elif now >= sequence.t_due:
                sequence.t_due = due_again(sequence, now, spacing)
                events.append(Event(sequence, is_due=True))
        events += [
            self._finish(sequence, FinishReason.ERROR, error)
            for sequence, error in sampled.errors
            if sequence.state is SequenceState.RUNNING
        ]
        return events

    def _force(
        self, sequence: Sequence, tokens: Iterable[int], now: float
    ) -> FinishReason | None:
        """Append what must follow; return why the sequence ends there, if it does."""
        self._planner.forget()
        for token in tokens:
            sequence.add_token(token, now)
            reason = self._limits.reason(sequence, token)
            if reason is not None:
                return reason
        return None

    def _apply_prompt(self, chunk: Chunk, now: float) -> Event | None:
        sequence = chunk.sequence
        in_prompt = min(sequence.n_computed, sequence.n_prompt)
        sequence.n_prompt_computed = max(0, in_prompt - sequence.n_cached)
        if not sequence.n_missing and not chunk.wants_logits:
            sequence.t_first = sequence.t_last = now
            return self._finish(sequence, FinishReason.LENGTH)
        if sequence.request.return_progress:
            return Event(sequence, sequence.progress_delta(now))
        return None

    def due_checkpoints(self, plan: Plan) -> list[Sequence]:
        """Return whose memory should be copied now, after `apply`, as a checkpoint."""
        if not self._checkpoints.n_max:
            return []
        return [chunk.sequence for chunk in plan.prompts if self._is_due(chunk)]

    def _is_due(self, chunk: Chunk) -> bool:
        sequence, end = chunk.sequence, chunk.start + chunk.n_tokens
        if sequence.state is not SequenceState.RUNNING or end >= sequence.n_prompt:
            return False
        if end in sequence.cuts:
            return True
        return self._checkpoints.is_due(end, sequence.checkpoints)

    def add_checkpoint(self, sequence: Sequence, data: bytes | bytearray) -> None:
        """Remember a copy of what cannot be rolled back of a sequence's memory."""
        new = Checkpoint(sequence.n_computed, data)
        sequence.checkpoints = self._checkpoints.added(sequence.checkpoints, new)

    def _finish(
        self,
        sequence: Sequence,
        reason: FinishReason,
        error: LlamaError | None = None,
    ) -> Event:
        was_running = sequence.state is SequenceState.RUNNING
        result = sequence.finish(reason, error)
        if was_running:
            self._leave(sequence)
        return Event(sequence, sequence.take_delta(), result)

    def _leave(self, sequence: Sequence) -> None:
        assert sequence.slot is not None
        self.slots.release(self.slots[sequence.slot])
        self.running.remove(sequence)
        self._planner.forget()
        self._hold_admission = False

    # -- when the KV cache is full --------------------------------------------------

    def make_room(self) -> tuple[Slot, Event | None]:
        """Give up something so that the next plan may fit; return the slot to forget.

        First what idle slots remember, then the youngest running sequence (it waits
        again and goes on from RAM later, or is computed anew), and when only one runs,
        that one fails.
        """
        slot = self.slots.evict()
        if slot is not None:
            return slot, None
        slot, youngest = self.room.youngest()
        event = None
        if len(self.running) > 1:
            self._preempt(youngest)
            event = Event(youngest, youngest.take_delta())
        else:
            error = KVCacheFull(
                "Context size has been exceeded: the KV cache has no room left for "
                "this request; raise --ctx-size or send less",
                1,
            )
            event = self._finish(youngest, FinishReason.ERROR, error)
        slot.empty()
        return slot, event

    def _preempt(self, sequence: Sequence) -> None:
        assert sequence.slot is not None
        self.slots[sequence.slot].sequence = None
        self.running.remove(sequence)
        self._planner.forget()
        sequence.slot = None
        sequence.is_entered = False
        sequence.waits_for = None
        sequence.n_computed = 0
        sequence.checkpoints = ()
        sequence.state = SequenceState.WAITING
        self.waiting.appendleft(sequence)
        self._hold_admission = True
        self.n_preemptions += 1

    def resync(self, sequence: Sequence, n_computed: int) -> int:
        """After an interrupted decode: `n_computed` tokens are really in the cache.

        Returns:
            How many of them to keep: the last token is computed again for its logits.
        """
        self._planner.forget()
        sequence.n_computed = max(0, min(n_computed, sequence.n_skippable))
        sequence.checkpoints = until(sequence.checkpoints, sequence.n_computed)
        return sequence.n_computed

    # -- looking in -----------------------------------------------------------------

    def slot_states(self) -> list[SlotState]:
        """Return one snapshot per slot. Any thread: reads a few integers."""
        return [slot.snapshot(self.n_ctx_slot) for slot in self.slots.slots]

    def check_integrity(self) -> None:
        """Raise AssertionError when bookkeeping contradicts itself: our bug."""
        owners = [slot.sequence for slot in self.slots.slots if slot.sequence]
        assert len(owners) == len(set(map(id, owners))) == len(self.running)
        for sequence in self.running:
            assert sequence.slot is not None, f"{sequence.id} runs without a slot"
            assert self.slots[sequence.slot].sequence is sequence
            assert 0 <= sequence.n_computed <= len(sequence.tokens) <= self.n_ctx_slot
        steady = self._planner.steady
        if steady is not None:
            assert list(steady.generating) == self.running
            assert all(sequence.is_generating for sequence in self.running)
        for waiting in self.waiting:
            assert waiting.state is SequenceState.WAITING
            assert waiting.slot is None
