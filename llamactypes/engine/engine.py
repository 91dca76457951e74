"""The engine: one thread that owns the context, and doors for all the others.

    any thread      submit ──► mailbox ─┐                    ┌─► Generation log ──► read
    engine thread                       └─► core: one step ────┘

The engine thread alone touches the core (scheduler and runner). Everyone else leaves
messages in the mailbox and reads logs.
"""

from __future__ import annotations

import enum
import logging
import math
import threading
import time
from collections.abc import Mapping
from collections.abc import Sequence as SequenceOf
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import count
from typing import Any

from llamactypes import runtime
from llamactypes.constraints.constraint import CompiledConstraint, Constraint
from llamactypes.engine.adapter_choice import AdapterChoice
from llamactypes.engine.checks import check_inputs, checked
from llamactypes.engine.compute.loader import LoadedModel, Loader, load_model
from llamactypes.engine.config import (
    AdapterInfo,
    EngineConfig,
    EngineMetrics,
    ModelInfo,
    SlotState,
)
from llamactypes.engine.constraints import Constraints
from llamactypes.engine.core import Core
from llamactypes.engine.embedding.core import EmbeddingCore
from llamactypes.engine.embedding.job import EmbeddingJob
from llamactypes.engine.embedding.request import EmbeddingRequest
from llamactypes.engine.generation import Generation
from llamactypes.engine.mailbox import Mailbox
from llamactypes.engine.measures.metrics import Meter
from llamactypes.engine.occupancy import Occupancy
from llamactypes.engine.planning.adapters import AdapterUse
from llamactypes.engine.planning.deterministic import without_chance
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.request import GenerationRequest
from llamactypes.engine.sleep import Sleep
from llamactypes.engine.slot_orders import SlotOrder
from llamactypes.engine.watchdog import Watchdog
from llamactypes.errors import (
    EngineError,
    EngineFailed,
    EngineLoading,
    EngineStopped,
    LlamaError,
    ModelLoadCancelled,
    NotServed,
)
from llamactypes.gate import Gate
from llamactypes.sampling import SamplerChain
from llamactypes.vocab import Vocab

__all__ = ("Engine", "EngineState")

logger = logging.getLogger("llamactypes.engine")

_HOUSEKEEPING_S = 1.0
_JOIN_TURN_S = 0.05
_JOIN_TURNS_S = 1.0
"""Shortest and longest wait for the engine thread between two looks at it."""
_STUCK_JOIN_S = 0.2
_EXIT_PATIENCE_S = 5.0
"""For a thread that lives when the interpreter ends."""


class EngineState(enum.Enum):
    """Where the engine is in its life."""

    CREATED = "created"
    LOADING = "loading"
    READY = "ready"
    SLEEPING = "sleeping"
    """Unloaded for want of work, or on the way back; `Engine.awake` brings it back."""
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


_STOPPABLE = (EngineState.LOADING, EngineState.READY, EngineState.SLEEPING)


class Engine:
    """Continuous batching over one model.

    Public methods may be called from any thread. ``start`` returns at once; the model
    loads on the engine thread, which owns the context until ``stop``.
    """

    def __init__(self, config: EngineConfig, *, load: Loader = load_model) -> None:
        self.config = config = config.resolved()
        self.state = EngineState.CREATED
        self.failure: BaseException | None = None
        """Why the state is FAILED."""
        self.load_progress = 0.0
        """Part of the model that is loaded, 0 … 1."""
        self._load = load
        self._loaded: LoadedModel | None = None
        self._vocab: Vocab | None = None
        self._info: ModelInfo | None = None
        self._core: Core | EmbeddingCore | None = None
        self._thread = threading.Thread(
            target=self._main, name="llamactypes-engine", daemon=True
        )
        self._gate = Gate(self._refusal, is_open=False)
        self._state_lock = threading.Lock()
        self._ready = threading.Event()
        self._wake = threading.Event()
        self._mailbox = Mailbox(self._wake.set)
        self._ids = count()
        self._stop_at: float | None = None
        self._sleep = Sleep(config.sleep_idle_s, self._wake.set)
        self._watchdog = Watchdog(config.watchdog_s, self._on_stuck)
        self._is_stuck = False
        """A step did not return: the engine thread is given up."""
        self._asleep_slots: list[SlotState] = []
        self._n_preemptions = 0
        self._constraints = Constraints()
        self._meter = Meter()
        self._occupancy = Occupancy(
            config.n_slots, config.queue_size, lambda: self._meter.mean_slot_s
        )
        self._adapters = AdapterChoice(
            tuple(scale for _, scale in config.lora), lambda: self.info.adapters
        )
        self._housekeeping_at = 0.0

    # == any thread =================================================================

    def start(self) -> None:
        """Start the engine thread, which loads the model; returns at once."""
        with self._state_lock:
            if self.state is not EngineState.CREATED:
                return
            self.state = EngineState.LOADING
        runtime.stop_at_exit(self._stop_at_exit)
        self._thread.start()
        self._watchdog.start()

    def wait_ready(self, timeout_s: float | None = None) -> None:
        """Wait until the model is loaded.

        Raises:
            LlamaError: Loading failed, with its reason.
            EngineLoading: It takes longer than `timeout_s`.
        """
        if not self._ready.wait(timeout_s):
            raise EngineLoading("the model is still loading")
        if self.failure is not None:
            raise self.failure
        if self.state in (EngineState.STOPPING, EngineState.STOPPED):
            raise EngineStopped("the engine was stopped")

    @property
    def is_ready(self) -> bool:
        """Whether `submit` may succeed."""
        return self.state in (EngineState.READY, EngineState.SLEEPING)

    def awake(self) -> AbstractContextManager[None]:
        """Keep the model loaded inside a ``with``; wait until it is.

        Needed around `vocab` where `EngineConfig.sleep_idle_s` is set; `submit` and
        its like wait by themselves.

        Raises:
            EngineAsleep: It cannot be loaded again now.
        """
        return self._sleep.awake()

    @property
    def info(self) -> ModelInfo:
        """Facts about the model; raises like `submit` before it is loaded."""
        if self._info is None:
            raise self._refusal()
        loaded = self._loaded
        return self._info if loaded is None else loaded.info

    @property
    def vocab(self) -> Vocab:
        """The model's vocabulary; raises like `submit` before it is loaded.

        Its methods raise `ClosedError` once the engine has freed the model; `awake`
        keeps it from that.
        """
        if self._vocab is None:
            raise self._refusal()
        return self._vocab

    def render_legacy(
        self,
        template: str,
        messages: SequenceOf[tuple[str, str]],
        *,
        add_generation_prompt: bool = True,
    ) -> str:
        """Render a chat by libllama's built-in renderer (llama-server's --no-jinja).

        Raises:
            TemplateError: The library does not know this template.
        """
        with self._sleep.awake(), self._gate:
            assert self._loaded is not None
            return self._loaded.render_legacy(template, messages, add_generation_prompt)

    def compile_constraint(self, constraint: Constraint) -> CompiledConstraint:
        """Check a constraint and prepare it for `GenerationRequest.constraint`.

        The first one of an engine takes longer: 0.3 s at 49k tokens.

        Raises:
            ConstraintError: It cannot be honoured, and why.
            ConstraintUnavailable: No constraint can, with this installation or model.
            EngineError: The engine is not ready, as `submit` says it.
            NotServed: The engine is for embeddings.
        """
        with self._sleep.awake(), self._gate:
            if self.config.embeddings:
                raise NotServed("a server for embeddings writes no text to constrain")
            assert self._vocab is not None
            return self._constraints.compile(constraint, self._vocab)

    def submit(self, request: GenerationRequest) -> Generation:
        """Queue one request; see `submit_many`."""
        return self.submit_many([request])[0]

    def submit_many(self, requests: SequenceOf[GenerationRequest]) -> list[Generation]:
        """Queue several requests, all or none, in this order.

        Raises:
            EngineLoading: Before the model is loaded.
            EngineStopped: The engine is stopping, or has stopped.
            EngineFailed: The engine met a fatal error.
            PromptTooLong: A prompt leaves no room in a slot's context.
            SamplingError: Sampling parameters the library refuses.
            AdapterError: LoRA adapters that do not exist or cannot go together.
            EngineOverloaded: The queue is full.
            ValueError: A prompt token is not in the vocabulary.
            NotServed: The engine is for embeddings.
        """
        with self._sleep.awake(), self._gate:
            assert self._loaded is not None
            if self.config.embeddings:
                raise NotServed(
                    "This server does not support completions. Start it without "
                    "`--embeddings`"
                )
            self._check_ready()
            ends = self.vocab.eog_tokens
            requests = [checked(request, self.info, ends) for request in requests]
            if self.config.deterministic:
                requests = without_chance(requests)
            uses = [self._adapters.use(request) for request in requests]
            self._occupancy.reserve(len(requests))
            samplers: list[SamplerChain] = []
            try:
                for request in requests:
                    self._check_ready()  # many samplers may take a while
                    samplers.append(self._loaded.make_sampler(request))
            except BaseException:
                for sampler in samplers:
                    sampler.close()
                self._occupancy.release(len(requests))
                raise
            return self._post(requests, samplers, uses)

    @property
    def adapters(self) -> list[tuple[AdapterInfo, float]]:
        """The LoRA adapters, with the scales of requests that name none."""
        return self._adapters.pairs()

    def set_adapters(self, scales: Mapping[int, float]) -> None:
        """Choose the scales of requests that name none, submitted from now on.

        Args:
            scales: Number of an adapter to its scale; the others are off.

        Raises:
            AdapterError: There is no such adapter, or these cannot go together.
            NotServed: The engine is for embeddings.
        """
        if self.config.embeddings:
            raise NotServed("a server for embeddings keeps the adapters of its start")
        self._adapters.choose(scales)

    def order(self, order: SlotOrder[Any]) -> None:
        """Have something done with a slot as soon as it is idle; never blocks.

        Raises:
            EngineError: The engine is not ready, as `submit` says it.
            ValueError: There is no such slot.
            NotServed: The engine is for embeddings.
        """
        with self._sleep.awake(), self._gate:
            self._check_ready()
            if self.config.embeddings:
                raise NotServed("a server for embeddings keeps nothing in its slots")
            if not 0 <= order.slot < self.config.n_slots:
                raise ValueError(
                    f"Invalid slot ID: the slots are 0 to {self.config.n_slots - 1}"
                )
            self._mailbox.order(order)

    def embed(self, request: EmbeddingRequest) -> EmbeddingJob:
        """Queue an embedding request.

        Raises:
            NotServed: The engine is not for embeddings.
            PromptTooLong: An input does not fit the context.
            InputTooLarge: An input is longer than what is computed at once.
            ValueError: There are no inputs, one is empty, or has an unknown token.
            EngineError: As for `submit_many`.
        """
        with self._sleep.awake(), self._gate:
            self._check_ready()
            check_inputs(request, self.info, self.config.n_ubatch)
            self._occupancy.reserve(1)
            job = EmbeddingJob(next(self._ids), request, self._on_cancel_job)
            self._mailbox.embed(job)
            return job

    @property
    def request_limit(self) -> int:
        """Most requests that may run and wait at one time, and be submitted at once."""
        return self._occupancy.limit

    def retry_after_s(self, n_ahead: int, n_at_once: int) -> float:
        """Estimate when `n_ahead` requests will have ended, `n_at_once` at a time.

        From how long recent requests held their slot; within 1 … 60 seconds.
        """
        return self._occupancy.retry_after_s(n_ahead, n_at_once)

    def slots(self) -> list[SlotState]:
        """Return one snapshot per slot; never waits for inference."""
        core = self._core
        return self._asleep_slots if core is None else core.slot_states()

    def metrics(self) -> EngineMetrics:
        """Return the counters; never waits for inference."""
        core = self._core
        n_running = core.n_running if core else 0
        return self._meter.snapshot(
            requests_processing=n_running,
            requests_waiting=max(0, self._occupancy.n_live - n_running),
            requests_refused=self._occupancy.n_refused,
            preemptions=self._n_preemptions + (core.n_preemptions if core else 0),
            n_slots=self.config.n_slots,
        )

    def stop(self, deadline_s: float = 30.0, patience_s: float = math.inf) -> bool:
        """Refuse new work, let generations end until the deadline, free everything.

        What still runs then ends with `EngineStopped`. Returns when the thread is
        joined and context, model and backend are freed. Idempotent; a second call may
        only make the deadline earlier.

        Args:
            deadline_s: How long generations may go on.
            patience_s: How long after that the thread may take to come back.

        Returns:
            False: the thread is stuck inside the library. Whoever read was told, the
            thread lives on, nothing was freed: the process should ``os._exit``.
        """
        with self._state_lock:
            stop_at = time.monotonic() + deadline_s
            self._stop_at = min(stop_at, self._stop_at or stop_at)
            if self.state is EngineState.CREATED:
                self.state = EngineState.STOPPED
                self._ready.set()
                return True
            if self.state in _STOPPABLE:
                self.state = EngineState.STOPPING
        self._wake.set()
        if self._thread is threading.current_thread():
            return True
        while self._thread.is_alive() and not self._is_stuck:
            left_s = self._stop_at - time.monotonic()
            if left_s <= 0:
                self._interrupt()
            if left_s <= -patience_s:
                self._give_up("a decode does not return, and the engine has to stop")
                break
            self._thread.join(min(max(left_s, _JOIN_TURN_S), _JOIN_TURNS_S))
        self._thread.join(_STUCK_JOIN_S)
        if self._thread.is_alive():
            logger.error("the engine thread is stuck, and left alone")
            return False
        logger.info("engine thread joined")
        return True

    def _stop_at_exit(self) -> bool:
        return self.stop(0.0, _EXIT_PATIENCE_S)

    # -- helpers of the above ---------------------------------------------------------

    def _refusal(self) -> LlamaError:
        """Return why work is refused now."""
        if self.state is EngineState.FAILED:
            return EngineFailed(f"the engine failed: {self.failure}")
        if self.state in (EngineState.CREATED, EngineState.LOADING):
            return EngineLoading("Loading model")
        return EngineStopped("the server is shutting down")

    def _check_ready(self) -> None:
        if self.state is not EngineState.READY:
            raise self._refusal()

    def _post(
        self,
        requests: SequenceOf[GenerationRequest],
        samplers: list[SamplerChain],
        uses: list[AdapterUse],
    ) -> list[Generation]:
        work: list[tuple[Sequence, Generation, SamplerChain]] = []
        for request, sampler, use in zip(requests, samplers, uses, strict=True):
            id = next(self._ids)
            generation = Generation(id, request, self._on_cancel)
            work.append((Sequence(id, request, sampler.seed, use), generation, sampler))
        self._mailbox.submit(work)
        return [generation for _, generation, _ in work]

    def _on_cancel(self, generation: Generation) -> None:
        self._mailbox.cancel(generation)
        self._interrupt_if_alone(generation.id)

    def _on_cancel_job(self, job: EmbeddingJob) -> None:
        self._mailbox.cancel_job(job)
        self._interrupt_if_alone(job.id)

    def _interrupt_if_alone(self, id: int) -> None:
        """End the running decode early when it is for what was cancelled."""
        core = self._core
        if core is not None and id in core.interruptible:
            self._interrupt()

    def _interrupt(self) -> None:
        """End the running decode early; harmless when none runs."""
        try:
            with self._gate:
                if self._core is not None:
                    self._core.interrupt()
        except EngineError:
            return

    # == engine thread ==============================================================

    def _main(self) -> None:
        try:
            self._open()
            while self._core is not None and self._serve():
                self._rest_unloaded()
        except ModelLoadCancelled:
            logger.info("loading was cancelled")
        except (
            BaseException
        ) as error:  # a thread that ends unsaid leaves readers behind
            self._fail(error)
        finally:
            self._close()

    def _open(self) -> None:
        """Load the model and declare the engine ready."""
        config = self.config
        if self._info is not None:  # where it was found the first time
            config = replace(config, model_path=self._info.path)
        loaded = self._loaded = self._load(config, self._on_progress)
        self._core = self._make_core(loaded)
        self._vocab = loaded.vocab
        self._info = loaded.info
        self.load_progress = 1.0
        with self._state_lock:
            if self.state in (EngineState.LOADING, EngineState.SLEEPING):
                self.state = EngineState.READY
        self._sleep.note_work()
        self._gate.open()
        self._ready.set()

    def _make_core(self, loaded: LoadedModel) -> Core | EmbeddingCore:
        def on_end() -> None:
            self._occupancy.release(1)

        if loaded.embedder is None:
            return Core(
                self.config, loaded, self._meter, on_end, self._adapters.own_use
            )
        return EmbeddingCore(
            self.config, loaded.info, loaded.embedder, self._meter, on_end
        )

    def _on_progress(self, part: float) -> bool:
        """Note how much is loaded; False stops loading."""
        self.load_progress = part
        return self.state in (EngineState.LOADING, EngineState.SLEEPING)

    def _serve(self) -> bool:
        """Step while there is work, wait while there is none.

        Returns:
            True when it is time to sleep, False when it is time to stop.
        """
        assert self._core is not None
        core = self._core
        while True:
            self._wake.clear()
            self._read_mailbox(core)
            if self._stop_at is not None and (
                not core.has_work or time.monotonic() >= self._stop_at
            ):
                return False
            if self._is_stuck:
                return False  # it came back, too late: everybody was told
            if core.has_work:
                self._watchdog.begin()
                core.step()
                self._watchdog.end()
                self._sleep.note_work()
                continue
            core.rest()
            if self._falls_asleep():
                return True
            self._wake.wait(self._sleep.left_s)

    # -- asleep -----------------------------------------------------------------------

    def _falls_asleep(self) -> bool:
        with self._state_lock:
            is_tired = self.state is EngineState.READY and self._sleep.fall_asleep()
            if is_tired:
                self.state = EngineState.SLEEPING
        return is_tired

    def _rest_unloaded(self) -> None:
        """Free everything, and load it again when somebody needs it.

        Without the model when the engine is to stop.
        """
        logger.info("idle for %g s: the model is unloaded", self.config.sleep_idle_s)
        self._unload()
        while self._core is None and self._sleep_until_wanted():
            logger.info("the model is needed: loading it again")
            try:
                self._open()
            except ModelLoadCancelled:
                raise
            except LlamaError as error:
                logger.error("the model cannot be loaded again: %s", error)
                self._sleep.fail(error)
        self._sleep.wake_up()

    def _unload(self) -> None:
        """Give the memory back; what is counted and known stays."""
        assert self._core is not None
        assert self._loaded is not None
        self._gate.close()
        self._info = self._loaded.info
        idle = (SlotState(one.id, one.n_ctx, False) for one in self._core.slot_states())
        self._asleep_slots = list(idle)
        self._n_preemptions += self._core.n_preemptions
        self._core = None
        self._loaded.close()
        self._loaded = None

    def _sleep_until_wanted(self) -> bool:
        """Return whether somebody needs the model; False: the engine stops."""
        while True:
            self._wake.clear()
            if self._stop_at is not None:
                return False
            if self._sleep.is_wanted:
                return True
            self._wake.wait()

    def _read_mailbox(self, core: Core | EmbeddingCore) -> None:
        self._mailbox.deliver(core)
        now = time.monotonic()
        if core.has_work and now >= self._housekeeping_at:
            self._housekeeping_at = now + _HOUSEKEEPING_S
            if self.config.orphan_timeout_s > 0:
                core.cancel_orphans(self.config.orphan_timeout_s)

    # -- the end ----------------------------------------------------------------------

    def _fail(self, error: BaseException) -> None:
        """Note why the engine ends; live generations get it as their error."""
        is_expected = isinstance(error, LlamaError)
        if self._loaded is not None or not is_expected:
            logger.error("the engine failed", exc_info=error)  # else `wait_ready` tells
        if not is_expected:
            reason = f"unexpected {type(error).__name__}: {error}"
            error = EngineFailed(f"{reason}; the log has the traceback")
        with self._state_lock:
            if self.state is not EngineState.FAILED:
                self.failure = error
                self.state = EngineState.FAILED

    def _close(self) -> None:
        """End what lives, wait until nobody uses the model, free it, say so."""
        with self._state_lock:
            if self.state is not EngineState.FAILED:
                self.state = EngineState.STOPPING
        self._watchdog.stop()
        self._ready.set()
        self._sleep.wake_up()
        if self._loaded is not None:
            self._gate.close()
            if self._core is not None:
                self._end_all(self._core)
            self._loaded.close()
            self._loaded = None
        with self._state_lock:
            if self.state is not EngineState.FAILED:
                self.state = EngineState.STOPPED
        runtime.forget_at_exit(self._stop_at_exit)
        logger.info("engine stopped")

    def _end_all(self, core: Core | EmbeddingCore) -> None:
        """End what lives, also where the books are what is broken."""
        try:
            self._read_mailbox(core)
            core.end_all(self._refusal())
        except Exception:
            logger.exception("ending the generations failed")
            self._abandon(core)

    # == who finds the engine thread stuck ==========================================

    def _on_stuck(self, age_s: float) -> None:
        self._give_up(f"a decode did not return for {age_s:.1f} s (--watchdog-seconds)")

    def _give_up(self, reason: str) -> None:
        """Give the engine thread up: nobody shall wait for it."""
        with self._state_lock:
            if self.state in (EngineState.FAILED, EngineState.STOPPED):
                return
            self.failure = EngineFailed(reason)
            self.state = EngineState.FAILED
            self._is_stuck = True
        logger.error(
            "%s: everything that ran has failed, nothing more is served; only a new "
            "process can help",
            self.failure,
        )
        self._gate.close(0.0)
        self._sleep.wake_up()
        if self._core is not None:
            self._abandon(self._core)

    def _abandon(self, core: Core | EmbeddingCore) -> None:
        """Tell everybody who waits, without what only the engine thread may touch."""
        error = self._refusal()
        core.abandon(error)
        self._mailbox.abandon(error)
