"""What the engine does in one step, and whom it tells. Engine thread only.

admit ─► plan ─► decode and sample ─► apply
                 └ meanwhile: deliver what the step before has given
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from dataclasses import replace

from llamactypes.engine.compute.loader import LoadedModel
from llamactypes.engine.config import EngineConfig, SlotState
from llamactypes.engine.delivery import Delivery
from llamactypes.engine.generation import Generation
from llamactypes.engine.measures.metrics import Meter
from llamactypes.engine.planning.adapters import NO_ADAPTERS, AdapterUse
from llamactypes.engine.planning.deterministic import Turns
from llamactypes.engine.planning.pace import Pace
from llamactypes.engine.planning.plan import Admission, Plan, Sampled
from llamactypes.engine.planning.planner import Planner
from llamactypes.engine.planning.reaction import Reaction
from llamactypes.engine.planning.scheduler import Scheduler
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.prefixes.checkpoints import (
    Checkpoint,
    CheckpointPolicy,
    newest,
)
from llamactypes.engine.prefixes.slots import Slot
from llamactypes.engine.prefixes.state_cache import SavedState
from llamactypes.engine.request import FinishReason
from llamactypes.engine.slot_orders import SlotOrders
from llamactypes.errors import DecodeAborted, KVCacheFull, LlamaError
from llamactypes.sampling import SamplerChain

__all__ = ("Core",)

logger = logging.getLogger("llamactypes.engine")

_INTERRUPTIBLE_TOKENS = 32

# The library's output buffer grows to the most rows of any decode, and never shrinks.
_ROW_BYTES = 64 << 20
_MOST_ROWS = 256
_LEAST_ROWS = 16


class Core:
    """Scheduler, runner and the live generations, driven step by step.

    `interruptible` and `scheduler`'s counters may be read from any thread.
    """

    def __init__(
        self,
        config: EngineConfig,
        loaded: LoadedModel,
        meter: Meter,
        on_end: Callable[[], None],
        use: Callable[[], AdapterUse] = lambda: NO_ADAPTERS,
    ) -> None:
        """Start without work.

        Args:
            config: Of the engine.
            loaded: What is driven.
            meter: Counts.
            on_end: Called after each generation's end.
            use: The LoRA adapters of requests that name none, at this moment.
        """
        info = loaded.info
        self._planner = Planner(
            loaded.n_batch,
            n_rows=_most_rows(info.n_vocab),
            is_unified=config.is_unified,
            turns=_turns(config, loaded.n_batch, info.n_vocab),
            has_adapters=bool(config.lora),
            pace=Pace(config.prefill_gap_ms / 1e3),
            reaction=Reaction(info.n_layer, config.n_ubatch or loaded.n_batch),
        )
        self.scheduler = Scheduler(
            info.n_slots,
            info.n_ctx_slot,
            self._planner,
            loaded.vocab,
            n_kv=info.n_ctx if config.is_unified else None,
            similarity=config.slot_prompt_similarity,
            context_shift=config.context_shift and loaded.memory.can_shift,
            n_keep_extra=int(loaded.vocab.add_bos),
            cache_bytes=_mib(config.cache_ram_mib),
            memory=loaded.memory,
            keep_idle=config.cache_idle_slots,
            checkpoints=CheckpointPolicy(
                config.n_ctx_checkpoints, config.checkpoint_min_step, config.n_ubatch
            ),
        )
        if config.context_shift and not loaded.memory.can_shift:
            logger.warning("this model's memory cannot be shifted: no context shift")
        self.interruptible: frozenset[int] = frozenset()
        """Ids of those for whose end the running decode is worth losing."""
        self.orders = SlotOrders(
            self.scheduler,
            loaded.runner,
            info.n_vocab,
            use,
            self._make_room,
            self._keep_whole,
        )
        """What is asked of slots between two requests."""
        self._memory = loaded.memory
        self._runner = loaded.runner
        self._meter = meter
        self._on_end = on_end
        self._live: dict[int, tuple[Sequence, Generation]] = {}
        self._delivery = Delivery(self._live, self._farewell)
        self._checks_books = os.environ.get("LLAMACTYPES_CHECK") == "1"

    # -- any thread -----------------------------------------------------------------

    @property
    def n_running(self) -> int:
        """Generations that have a slot."""
        return len(self.scheduler.running)

    @property
    def n_preemptions(self) -> int:
        """How often a sequence had to give its slot's cells to older ones."""
        return self.scheduler.n_preemptions

    def slot_states(self) -> list[SlotState]:
        """Return one snapshot per slot."""
        return self.scheduler.slot_states()

    def interrupt(self) -> None:
        """End the running decode early."""
        self._runner.interrupt()

    def abandon(self, error: LlamaError) -> None:
        """Tell every reader that the engine thread does not come back.

        Should it do so later, what it then says of these generations is ignored.
        """
        for sequence, generation in tuple(self._live.values()):
            generation.append(None, sequence.lost(error))
        self.orders.fail_all(error)

    # -- engine thread --------------------------------------------------------------

    @property
    def has_work(self) -> bool:
        """Whether `step` has anything to do."""
        return self.scheduler.has_work

    def add(
        self, sequence: Sequence, generation: Generation, sampler: SamplerChain
    ) -> None:
        """Take over a new request and its sampler."""
        sequence.t_submit = generation.created_at
        self._live[sequence.id] = (sequence, generation)
        self._runner.attach(sequence, sampler)
        self.scheduler.submit(sequence)

    def cancel(self, generation: Generation) -> None:
        """End a generation; nothing happens when it has ended."""
        found = self._live.get(generation.id)
        if found is not None:
            self._delivery.post(self.scheduler.cancel(found[0]))
            self._delivery.deliver()

    def cancel_orphans(self, limit_s: float) -> None:
        """End generations that nobody has looked at for `limit_s` seconds."""
        now = time.monotonic()
        for _, generation in tuple(self._live.values()):
            if now - generation.last_read_at > limit_s:
                logger.warning("request %d: nobody reads it, ended", generation.id)
                self.cancel(generation)

    def end_all(self, error: LlamaError) -> None:
        """End every generation with `error`, every order, and the helping thread."""
        for sequence, _ in tuple(self._live.values()):
            self._delivery.post(self.scheduler.end(sequence, FinishReason.ERROR, error))
        self._delivery.close()
        self.orders.fail_all(error)

    def step(self) -> None:
        """Admit, plan, decode, apply.

        Raises:
            DecodeError: Fatal; nothing more can be computed.
        """
        if self._checks_books:
            self._check_books()
        self._admit()
        for shift in self.scheduler.shifts():
            self._runner.shift(shift)
        plan = self.scheduler.plan()
        if not plan.n_sequences:
            self._delivery.deliver()
            return
        self.interruptible = self._interruptible(plan)
        started = time.perf_counter()
        try:
            # Whoever cancels sets its mark first and looks at `interruptible` then; we
            # do it the other way round, so that one of us sees the other.
            if self._has_cancelled():
                return
            sampled = self._run(plan)
            prompt_probs = self._runner.prompt_probs()
        except KVCacheFull:
            self._make_room()
            return
        except DecodeAborted:
            self._resync(plan)
            return
        finally:
            self.interruptible = frozenset()
        now = time.perf_counter()
        self._meter.count_gaps(plan, now)
        events = self.scheduler.apply_prompt_probs(prompt_probs)
        events += self.scheduler.apply(plan, sampled, now)
        self._make_checkpoints(plan)
        self._meter.count(plan, len(sampled), now - started, now)
        self._planner.note(plan, now - started)
        for event in events:
            self._delivery.post(event)

    def _run(self, plan: Plan) -> Sampled:
        """Decode and sample; meanwhile readers get what the step before has given."""
        self._delivery.begin()
        try:
            return self._runner.run(plan)
        finally:
            self._delivery.end()

    def _interruptible(self, plan: Plan) -> frozenset[int]:
        """Return the sequences for whose end a decode is worth losing: long prompts.

        A recurrent state is lost with the decode: then only those that are alone in it.
        """
        if self._memory.is_recurrent and plan.n_sequences > 1:
            return frozenset()
        return frozenset(
            chunk.sequence.id
            for chunk in plan.prompts
            if chunk.n_tokens >= _INTERRUPTIBLE_TOKENS
        )

    def _has_cancelled(self) -> bool:
        return any(self._live[id][1].is_cancel_requested for id in self.interruptible)

    def _admit(self) -> None:
        """Let waiting sequences into slots, and begin with those that need not wait."""
        for sequence in self.scheduler.admit():
            generation = self._live[sequence.id][1]
            if not generation.is_started:  # a preempted one comes here again
                self._meter.count_admitted(sequence, time.perf_counter())
            generation.mark_started()
        admissions = self.scheduler.begin()
        for admission in admissions:
            if admission.replaced is not None:
                slot = admission.slot
                self._keep(slot, _state(slot, admission.replaced))
        # Copies last: until the next decode the runner cannot save or load beside them.
        for admission in sorted(admissions, key=lambda one: one.source is not None):
            self._begin(admission)

    def _begin(self, admission: Admission) -> None:
        """Put the prefix into the slot, wherever it comes from."""
        slot, n_cached = admission.slot.id, admission.n_cached
        back = admission.checkpoint
        if admission.saved is not None:
            kept = self._load(slot, admission.saved, n_cached, back)
            self.scheduler.state_cache.drop(admission.saved)
        elif admission.source is not None:
            kept = self._runner.share(admission.source.id, slot, n_cached, back)
        elif admission.moves:
            kept = self._runner.move(slot, admission.moves)
        else:
            kept = self._runner.forget(slot, n_cached, back)
        self._delivery.post(self.scheduler.start(admission, kept, time.perf_counter()))
        self._meter.count_cached(kept)

    def _load(
        self, slot: int, saved: SavedState, n_tokens: int, back: Checkpoint | None
    ) -> int:
        """Load a state; idle slots give way where it finds no room."""
        while True:
            kept = self._runner.load(slot, saved.data, n_tokens, back)
            if kept or not self.scheduler.room.may_lack:
                return kept
            self._make_room()

    def _keep(self, slot: Slot, lost: SavedState) -> None:
        """Put `lost`, whose data the runner has, into RAM."""
        data = self._runner.save(slot.id)
        if data is not None:
            self.scheduler.state_cache.put(replace(lost, data=data))

    def _keep_whole(self, slot: Slot) -> None:
        """Keep what an idle slot is about to lose, if that is worth it."""
        if self.scheduler.room.is_worth_keeping(slot):
            self._keep(slot, _state(slot, slot.tokens))

    def _make_checkpoints(self, plan: Plan) -> None:
        for sequence in self.scheduler.due_checkpoints(plan):
            assert sequence.slot is not None
            data = self._runner.save_partial(sequence.slot)
            if data is not None:
                self.scheduler.add_checkpoint(sequence, data)

    def _make_room(self) -> None:
        lost = self.scheduler.room.worth_keeping()
        if lost is not None:
            self._keep(*lost)
        slot, event = self.scheduler.make_room()
        self._runner.forget(slot.id, 0)
        self._delivery.post(event)

    def _resync(self, plan: Plan) -> None:
        """After an interrupted decode, believe the library about what is computed.

        But not about recurrent states, whose positions run ahead of an aborted decode.
        """
        for chunk in plan.chunks:
            sequence, slot = chunk.sequence, chunk.sequence.slot
            assert slot is not None
            found = self._runner.n_computed(slot)
            if self._memory.is_recurrent:
                found = min(found, chunk.start)
            keep = self.scheduler.resync(sequence, found)
            back = newest(sequence.checkpoints, keep)
            self.scheduler.resync(sequence, self._runner.forget(slot, keep, back))

    def rest(self) -> None:
        """Deliver what is left, and compare the books with the library's.

        To be called when there is no more work; a difference is mended and reported.
        """
        self._delivery.close()
        self.scheduler.check_integrity()
        for slot in self.scheduler.slots.slots:
            found = self._runner.n_computed(slot.id)
            if found != len(slot.tokens):
                logger.error(
                    "slot %d holds %d tokens in the KV cache, not %d: emptied",
                    slot.id,
                    found,
                    len(slot.tokens),
                )
                self._meter.cache_repairs += 1
                self._runner.forget(slot.id, 0)
                slot.empty()

    def _check_books(self) -> None:
        """Raise AssertionError when scheduler and library disagree: our bug.

        At every step only where the environment has LLAMACTYPES_CHECK=1, as the soak
        test does (benchmarks/soak.py).
        """
        self.scheduler.check_integrity()
        for slot in self.scheduler.slots.slots:
            sequence = slot.sequence
            if sequence is not None and not sequence.is_entered:
                continue  # what lies there is neither's: it is replaced when it begins
            expected = len(slot.tokens) if sequence is None else sequence.n_computed
            found = self._runner.n_computed(slot.id)
            assert found == expected, f"slot {slot.id}: {found} tokens, not {expected}"

    def _farewell(self, sequence: Sequence) -> None:
        """Let a finished sequence go."""
        del self._live[sequence.id]
        self._runner.detach(sequence)
        self._meter.count_result(sequence, time.perf_counter())
        self._on_end()


def _state(slot: Slot, tokens: list[int]) -> SavedState:
    """Return what an idle slot holds, without the data."""
    return SavedState(tokens, b"", slot.checkpoints, slot.use)


def _turns(config: EngineConfig, n_batch: int, n_vocab: int) -> Turns | None:
    """Return deterministic mode's planner; a piece of a prompt is one ubatch."""
    if not config.deterministic:
        return None
    return Turns(min(config.n_ubatch or n_batch, n_batch), _most_rows(n_vocab))


def _most_rows(n_vocab: int) -> int:
    """Return how many rows of logits fit the memory that prompts' logprobs may take."""
    return max(_LEAST_ROWS, min(_MOST_ROWS, _ROW_BYTES // (4 * n_vocab)))


def _mib(limit: int) -> int:
    return limit << 20 if limit > 0 else limit
