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
from collections.abc import Iterable, Iterator

from llamactypes.engine.config import SlotState
from llamactypes.engine.planning.adapters import AdapterTurns
from llamactypes.engine.planning.deterministic import Turns
from llamactypes.engine.planning.plan import (
    Admission,
    Chunk,
    Event,
    Plan,
    PromptProbs,
    Sampled,
    Shift,
)
from llamactypes.engine.planning.sequence import Sequence, SequenceState
from llamactypes.engine.planning.tiles import chunk_length, whole_tiles
from llamactypes.engine.prefixes.checkpoints import (
    Checkpoint,
    CheckpointPolicy,
    MemoryTraits,
    until,
)
from llamactypes.engine.prefixes.finder import PrefixFinder
from llamactypes.engine.prefixes.slots import Slot, SlotTable
from llamactypes.engine.prefixes.state_cache import SavedState, StateCache
from llamactypes.engine.request import FinishReason
from llamactypes.errors import KVCacheFull, LlamaError

__all__ = ("Scheduler",)

_UNSPACED = 16
_SPACING_S = 0.25e-3
"""PERF: readers are woken 4,000 times a second at most when more than `_UNSPACED`
sequences generate: each further one adds this to the time between two deltas of one
sequence. Waking and formatting takes the GIL, which the engine needs as well; at the
speed of a CPU every token still has its own delta."""
_TURNS = 16


class Scheduler:
    """Waiting and running sequences, and the slots they live in. Engine thread only."""

    def __init__(
        self,
        n_slots: int,
        n_ctx_slot: int,
        n_batch: int,
        *,
        n_kv: int | None = None,
        similarity: float = 0.1,
        context_shift: bool = False,
        n_keep_extra: int = 0,
        cache_bytes: int = 0,
        n_rows: int = 256,
        turns: Turns | None = None,
        memory: MemoryTraits | None = None,
        checkpoints: CheckpointPolicy | None = None,
        keep_idle: bool = True,
        has_adapters: bool = False,
    ) -> None:
        """Create a scheduler without work.

        Args:
            n_slots: Sequences that may run at once; at most `n_batch`.
            n_ctx_slot: Most tokens one sequence may hold.
            n_batch: Most tokens in one plan.
            n_kv: Size of the KV buffer that all slots share; None: each has its own.
            similarity: See `SlotTable`.
            context_shift: Go on when a context is full, losing its middle.
            n_keep_extra: Tokens always kept at a shift: 1 when prompts begin with BOS.
            cache_bytes: Limit of states kept in RAM; -1: none, 0: keep nothing.
            n_rows: Most rows of logits in one plan for the logprobs of prompts.
            turns: Plans in deterministic mode.
            memory: What the model's memory can do; None: everything.
            checkpoints: For memory that cannot be cut.
            keep_idle: What idle slots must give up goes to RAM.
            has_adapters: Sequences may differ in their LoRA adapters.
        """
        if n_slots > n_batch:
            raise ValueError(f"{n_slots} slots do not fit a batch of {n_batch} tokens")
        self.slots = SlotTable(n_slots, similarity)
        self.n_ctx_slot = n_ctx_slot
        self.n_batch = n_batch
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self.n_preemptions = 0
        self.state_cache = StateCache(cache_bytes)
        self._turns = turns
        self._adapter_turns = AdapterTurns() if has_adapters else None
        cut = 1 if turns is None else turns.cut
        memory = memory or MemoryTraits()
        self._prefixes = PrefixFinder(self.slots, self.state_cache, memory, cut)
        self._memory = memory
        self._keep_idle = keep_idle
        self._checkpoints = checkpoints or CheckpointPolicy()
        if memory.can_cut:
            self._checkpoints = CheckpointPolicy()
        self._n_kv = n_kv
        self._context_shift = context_shift
        self._n_keep_extra = n_keep_extra
        self._n_rows = n_rows
        self._hold_admission = False

    # -- in ----------------------------------------------------------------------

    def submit(self, sequence: Sequence) -> None:
        """Queue a new sequence, behind all that wait."""
        if self._turns is not None:
            sequence.n_trusted = self._turns.n_reusable(sequence)
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
        return self._finish(sequence, reason, "", error)

    @property
    def has_work(self) -> bool:
        """Whether anything waits or runs."""
        return bool(self.running or self.waiting)

    def live(self) -> Iterator[Sequence]:
        """Yield every sequence that has not ended (a snapshot)."""
        yield from (*self.running, *self.waiting)

    # -- admission ----------------------------------------------------------------

    def admit(self) -> list[Sequence]:
        """Give idle slots to waiting sequences, in arrival order; return these.

        A sequence that asked for a busy slot is passed by; nobody else is.
        """
        admitted: list[Sequence] = []
        if self._hold_admission and self.running:
            return admitted
        for sequence in tuple(self.waiting):
            if not self._has_room(sequence):
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

    def begin(self) -> list[Admission]:
        """Return how each admitted sequence, that need not wait for another, begins."""
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
            return self._finish(sequence, FinishReason.LENGTH, "")
        if sequence.request.return_progress and not sequence.n_decoded:
            return Event(sequence, sequence.progress_delta(now))
        return Event(sequence)

    def _has_room(self, sequence: Sequence) -> bool:
        """Whether a shared KV buffer holds this one beside all that run."""
        if self._n_kv is None or not self.running:
            return True
        in_use = sum(len(running.tokens) for running in self.running)
        return in_use + len(sequence.tokens) < self._n_kv

    # -- context shift ------------------------------------------------------------

    def shifts(self) -> list[Shift]:
        """Shorten the running sequences whose context is full; return what to move."""
        if not self._context_shift:
            return []
        return [
            self._shift(sequence)
            for sequence in self.running
            if sequence.is_generating and sequence.n_computed + 1 >= self.n_ctx_slot
        ]

    def _shift(self, sequence: Sequence) -> Shift:
        # [0, keep) stays, [keep, keep + discard) goes, the rest up to end moves down.
        end = sequence.n_computed
        keep = sequence.request.n_keep
        keep = (sequence.n_prompt if keep < 0 else keep) + self._n_keep_extra
        keep = min(self.n_ctx_slot - 4, keep)
        n_left = end - keep
        discard = sequence.request.n_discard or n_left // 2
        discard = min(max(discard, 0), max(0, n_left - 1))
        del sequence.tokens[keep : keep + discard]
        sequence.n_trusted = min(keep, sequence.n_trusted or keep)
        sequence.checkpoints = ()
        sequence.n_computed -= discard
        sequence.use = sequence.use.shifted(keep, discard)
        sequence.truncated = True
        assert sequence.slot is not None
        return Shift(sequence.slot, keep, discard, end)

    # -- plan ---------------------------------------------------------------------

    def plan(
        self, n_prompt_max: int | None = None, n_abortable: int | None = None
    ) -> Plan:
        """Return the next decode.

        Running sequences go first: a long prompt must not stall tokens already
        streaming. Prompts fill what is left, in the order they were admitted.

        Args:
            n_prompt_max: Most prompt tokens while others generate; None: no limit.
            n_abortable: Most prompt tokens at any time; None: no limit.
        """
        if self._turns is not None:
            return self._turns.plan(self.running)
        running = self.running
        if self._adapter_turns is not None:
            running = self._adapter_turns.choose(running)
        chunks = [
            Chunk(sequence, sequence.n_computed, 1, True)
            for sequence in running
            if sequence.is_generating
        ]
        n_generating = len(chunks)
        if n_generating == len(running):
            return Plan(tuple(chunks), n_generating)
        room = budget = self.n_batch - n_generating
        has_streams = n_generating or any(one.is_generating for one in self.running)
        limits = (n_prompt_max if has_streams else None, n_abortable)
        limit = min((n for n in limits if n is not None), default=None)
        if limit is not None:
            is_unified = self._n_kv is not None
            n_max = whole_tiles(limit, n_generating, is_unified=is_unified)
            budget = min(budget, n_max)
        n_rows = self._n_rows
        for sequence in running:
            if budget <= 0:
                break
            if sequence.is_generating or not sequence.is_entered:
                continue
            n_tokens = chunk_length(sequence.n_missing, budget, room)
            chunk = _prompt_chunk(sequence, n_tokens, n_rows)
            if chunk.n_tokens:
                chunks.append(chunk)
            room -= chunk.n_tokens
            budget -= chunk.n_tokens
            n_rows -= len(chunk.prompt_rows)
        return Plan(tuple(chunks), n_generating)

    # -- results ------------------------------------------------------------------

    def apply_prompt_probs(self, found: Iterable[PromptProbs]) -> list[Event]:
        """Take over logprobs of prompts, before `apply` for the same decode."""
        return [Event(each, each.prompt_delta(probs)) for each, probs in found]

    def apply(self, plan: Plan, sampled: list[Sampled], now: float) -> list[Event]:
        """Take over what a decode computed; return what readers should see."""
        events: list[Event] = []
        for chunk in plan.chunks:
            chunk.sequence.n_computed = chunk.start + chunk.n_tokens
            event = None if chunk.sequence.n_decoded else self._apply_prompt(chunk, now)
            if event is not None:
                events.append(event)
        spacing_s = max(0, plan.n_generating - _UNSPACED) * _SPACING_S
        for one in sampled:
            if one.sequence.state is SequenceState.RUNNING:
                event = self._apply_token(one, now, spacing_s)
                if event is not None:
                    events.append(event)
        return events

    def _apply_prompt(self, chunk: Chunk, now: float) -> Event | None:
        sequence = chunk.sequence
        in_prompt = min(sequence.n_computed, sequence.n_prompt)
        sequence.n_prompt_computed = max(0, in_prompt - sequence.n_cached)
        if not sequence.n_missing and not chunk.wants_logits:
            sequence.t_first = sequence.t_last = now
            return self._finish(sequence, FinishReason.LENGTH, "")
        if sequence.request.return_progress:
            return Event(sequence, sequence.progress_delta(now))
        return None

    def due_checkpoints(self, plan: Plan) -> list[Sequence]:
        """Return whose memory should be copied now, after `apply`, as a checkpoint."""
        if not self._checkpoints.n_max:
            return []
        return [chunk.sequence for chunk in plan.chunks if self._is_due(chunk)]

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

    def _apply_token(
        self, sampled: Sampled, now: float, spacing_s: float
    ) -> Event | None:
        sequence = sampled.sequence
        if not sequence.n_decoded:
            sequence.t_first = now
        sequence.t_last = now
        text = sequence.add_token(sampled.token, sampled.piece, sampled.probs)
        reason = self._finish_reason(sequence, sampled.is_eog, text)
        if reason is not None:
            return self._finish(sequence, reason, text)
        if now < sequence.t_due:
            sequence.hold(text)
            return None
        if spacing_s:
            # Those that began together take turns from their second delta on.
            share = 1.0 if sequence.t_due else sequence.id % _TURNS / _TURNS
            sequence.t_due = now + spacing_s * share
        return Event(sequence, sequence.take_delta(text))

    def _finish_reason(
        self, sequence: Sequence, is_eog: bool, text: str
    ) -> FinishReason | None:
        if sequence.text.stopping_word:
            return FinishReason.STOP_WORD
        if is_eog:
            return FinishReason.STOP_EOS
        if sequence.text.was_cut or sequence.n_remaining == 0:
            return FinishReason.LENGTH
        if not self._context_shift and sequence.n_computed + 1 >= self.n_ctx_slot:
            sequence.truncated = True
            return FinishReason.LENGTH
        limit_ms = sequence.request.t_max_predict_ms
        if limit_ms > 0 and "\n" in text:
            elapsed_ms = (sequence.t_last - sequence.t_first) * 1e3
            return FinishReason.LENGTH if elapsed_ms > limit_ms else None
        return None

    def _finish(
        self,
        sequence: Sequence,
        reason: FinishReason,
        text: str,
        error: LlamaError | None = None,
    ) -> Event:
        text += sequence.text.finish()
        was_running = sequence.state is SequenceState.RUNNING
        result = sequence.finish(reason, error)
        if was_running:
            self._leave(sequence)
        return Event(sequence, sequence.take_delta(text), result)

    def _leave(self, sequence: Sequence) -> None:
        assert sequence.slot is not None
        self.slots.release(self.slots[sequence.slot])
        self.running.remove(sequence)
        self._hold_admission = False

    # -- when the KV cache is full --------------------------------------------------

    @property
    def may_lack_room(self) -> bool:
        """Whether an idle slot could give up cells for others."""
        return self._n_kv is not None and self.slots.least_used() is not None

    def lacks_room(self, n_tokens: int) -> bool:
        """Whether `n_tokens` more fit only after an idle slot has given up cells."""
        if self._n_kv is None or self.slots.least_used() is None:
            return False
        return (
            n_tokens + sum(slot.computed[0] for slot in self.slots.slots) > self._n_kv
        )

    def worth_keeping(self) -> tuple[Slot, SavedState] | None:
        """Return what `make_room` would lose though RAM could keep it.

        The state's data is still to be had from the runner.
        """
        slot = self.slots.least_used()
        if slot is not None and self._keep_idle and slot.n_trusted is None:
            lost = SavedState(slot.tokens, b"", slot.checkpoints, slot.use)
        elif slot is None and len(self.running) > 1:
            youngest = self._youngest()
            assert youngest.slot is not None
            if youngest.n_trusted is not None:
                return None
            slot = self.slots[youngest.slot]
            tokens = youngest.tokens[: youngest.n_computed]
            lost = SavedState(tokens, b"", youngest.checkpoints, youngest.use)
        else:
            return None
        is_worth = self._prefixes.is_worth_keeping(slot, lost.tokens, lost.use)
        return (slot, lost) if is_worth else None

    def is_worth_keeping(self, slot: Slot) -> bool:
        """Whether RAM should keep what an idle slot holds."""
        is_whole = slot.n_trusted is None
        return is_whole and self._prefixes.is_worth_keeping(slot, slot.tokens, slot.use)

    def _youngest(self) -> Sequence:
        return max(self.running, key=lambda sequence: sequence.id)

    def make_room(self) -> tuple[Slot, Event | None]:
        """Give up something so that the next plan may fit; return the slot to forget.

        First what idle slots remember, then the youngest running sequence (it waits
        again and goes on from RAM later, or is computed anew), and when only one runs,
        that one fails.
        """
        slot = self.slots.evict()
        if slot is not None:
            return slot, None
        youngest = self._youngest()
        assert youngest.slot is not None
        slot = self.slots[youngest.slot]
        event = None
        if len(self.running) > 1:
            self._preempt(youngest)
            event = Event(youngest, youngest.take_delta(""))
        else:
            error = KVCacheFull(
                "Context size has been exceeded: the KV cache has no room left for "
                "this request; raise --ctx-size or send less",
                1,
            )
            event = self._finish(youngest, FinishReason.ERROR, "", error)
        slot.empty()
        return slot, event

    def _preempt(self, sequence: Sequence) -> None:
        assert sequence.slot is not None
        self.slots[sequence.slot].sequence = None
        self.running.remove(sequence)
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
        sequence.n_computed = max(0, min(n_computed, sequence.n_skippable))
        sequence.checkpoints = until(sequence.checkpoints, sequence.n_computed)
        return sequence.n_computed

    # -- looking in -----------------------------------------------------------------

    def slot_states(self) -> list[SlotState]:
        """Return one snapshot per slot. Any thread: reads a few integers."""
        return [self._slot_state(slot) for slot in self.slots.slots]

    def _slot_state(self, slot: Slot) -> SlotState:
        sequence, last = slot.sequence, slot.last_request
        if last is None:
            return SlotState(slot.id, self.n_ctx_slot, is_processing=False)
        live = sequence is not None
        return SlotState(
            id=slot.id,
            n_ctx=self.n_ctx_slot,
            is_processing=live,
            id_task=last.id,
            n_prompt_tokens=last.n_prompt,
            n_prompt_tokens_processed=last.n_prompt_computed,
            n_prompt_tokens_cache=last.n_cached,
            request=last.request,
            n_decoded=last.n_decoded if live else 0,
            n_remain=last.n_remaining if live else -1,
            has_next_token=live,
            has_new_line=last.text.has_new_line,
        )

    def check_integrity(self) -> None:
        """Raise AssertionError when bookkeeping contradicts itself: our bug."""
        owners = [slot.sequence for slot in self.slots.slots if slot.sequence]
        assert len(owners) == len(set(map(id, owners))) == len(self.running)
        for sequence in self.running:
            assert sequence.slot is not None, f"{sequence.id} runs without a slot"
            assert self.slots[sequence.slot].sequence is sequence
            assert 0 <= sequence.n_computed <= len(sequence.tokens) <= self.n_ctx_slot
        for waiting in self.waiting:
            assert waiting.state is SequenceState.WAITING
            assert waiting.slot is None


def _prompt_chunk(sequence: Sequence, budget: int, n_rows: int) -> Chunk:
    """Return the next part of a prompt: at most `budget` tokens, `n_rows` rows."""
    start = sequence.n_computed
    n_tokens = min(sequence.n_missing, sequence.n_until_cut, budget)
    rows = sequence.prompt_rows(start + n_tokens)
    if len(rows) > n_rows:
        rows = rows[:n_rows]
        n_tokens = rows.stop - start
    wants = n_tokens == sequence.n_missing and sequence.n_remaining != 0
    return Chunk(sequence, start, n_tokens, wants, rows)
