"""What is asked of a slot between two requests: hand out its state, take one, forget.

Any thread leaves an order in the engine's mailbox and waits for its `done`; the engine
thread carries it out as soon as nobody lives in the slot, between two decodes. Only
memory is copied here: files are read and written by whoever asked.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from llamactypes.engine.compute.runner import Runner
from llamactypes.engine.planning.adapters import AdapterUse
from llamactypes.engine.planning.scheduler import Scheduler
from llamactypes.engine.prefixes.checkpoints import until
from llamactypes.engine.prefixes.slots import Slot
from llamactypes.engine.prefixes.state_cache import SavedState
from llamactypes.engine.slot_files import SlotFile, unpack_checkpoints
from llamactypes.errors import AdapterError, LlamaError, StateError

__all__ = ("SlotOrder", "SlotOrders", "erase_slot", "restore_slot", "save_slot")

logger = logging.getLogger("llamactypes.engine")

T = TypeVar("T")


class SlotOrder(Generic[T]):
    """Something to be done with an idle slot. Cancel `done` to take it back."""

    def __init__(self, slot: int, work: Callable[[SlotOrders, Slot], T]) -> None:
        self.slot = slot
        self.work = work
        self.done: Future[T] = Future()
        """Gets what came of it, or a `LlamaError`."""


def save_slot(slot: int) -> SlotOrder[SavedState]:
    """Hand out the tokens of a slot, their state and its checkpoints."""
    return SlotOrder(slot, SlotOrders.save)


def restore_slot(slot: int, file: SlotFile) -> SlotOrder[int]:
    """Put a file's state into a slot; answers how many of its bytes were used."""
    return SlotOrder(slot, lambda slots, idle: slots.restore(idle, file))


def erase_slot(slot: int) -> SlotOrder[int]:
    """Forget what a slot holds; answers how many tokens that were."""
    return SlotOrder(slot, SlotOrders.erase)


class SlotOrders:
    """Orders that wait, and how each is carried out. Engine thread only."""

    def __init__(
        self,
        scheduler: Scheduler,
        runner: Runner,
        n_vocab: int,
        use: Callable[[], AdapterUse],
        make_room: Callable[[], None],
        keep: Callable[[Slot], None],
    ) -> None:
        """Begin without orders.

        Args:
            scheduler: Has the slots.
            runner: Has their memory.
            n_vocab: Tokens of a file must be below.
            use: The LoRA adapters that files belong to: those of the engine now.
            make_room: Lets an idle slot give up its cells.
            keep: Puts what a slot holds into RAM, if that is worth it.
        """
        self._scheduler = scheduler
        self._runner = runner
        self._n_vocab = n_vocab
        self._use = use
        self._make_room = make_room
        self._keep = keep
        self._orders: list[SlotOrder[Any]] = []

    def add(self, order: SlotOrder[Any]) -> None:
        """Take an order."""
        self._orders.append(order)

    def carry_out(self) -> None:
        """Do what can be done now; the orders of one slot in their order."""
        busy: set[int] = set()
        for order in tuple(self._orders):
            slot = self._scheduler.slots[order.slot]
            if slot.sequence is not None or self._must_wait or order.slot in busy:
                busy.add(order.slot)
                continue
            self._orders.remove(order)
            if order.done.set_running_or_notify_cancel():
                self._do(order, slot)

    @property
    def _must_wait(self) -> bool:
        """Whether memory can be read and written after the next decode only."""
        return not self._runner.is_settled and self._scheduler.has_work

    def _do(self, order: SlotOrder[Any], slot: Slot) -> None:
        try:
            order.done.set_result(order.work(self, slot))
        except LlamaError as error:
            order.done.set_exception(error)

    def fail_all(self, error: LlamaError) -> None:
        """Answer every order with `error`."""
        for order in self._orders:
            if order.done.set_running_or_notify_cancel():
                order.done.set_exception(error)
        self._orders.clear()

    # -- the work ----------------------------------------------------------------------

    def save(self, slot: Slot) -> SavedState:
        """Return what a slot holds.

        Only tokens that stand for themselves: no request would be given the others,
        which were computed with what a context shift has dropped.

        Raises:
            StateError: The library cannot copy it.
            AdapterError: It was computed with other adapters than the engine's, which
                a file does not say.
        """
        self._cut(slot)
        data = self._runner.save(slot.id)
        if data is None:
            raise StateError(
                f"slot {slot.id} cannot be copied now: send a request that computes "
                "something, then try again"
            )
        return SavedState(slot.tokens, data, slot.checkpoints)

    def _cut(self, slot: Slot) -> None:
        """Drop what a file must not hold."""
        use, n_held = self._use(), len(slot.tokens)
        n_alike = min(n_held, slot.use.n_alike(use))
        if n_held and not n_alike:
            raise AdapterError(
                f"slot {slot.id} was computed with other LoRA adapters than the "
                "server's: send it a request without lora, or POST /lora-adapters"
            )
        n_kept = n_alike if slot.n_trusted is None else min(n_alike, slot.n_trusted)
        if n_kept < n_held:
            n_kept = self._runner.forget(slot.id, n_kept)
            checkpoints = until(slot.checkpoints, n_kept)
            self._scheduler.slots.hold(slot, slot.tokens[:n_kept], checkpoints, use)

    def restore(self, slot: Slot, file: SlotFile) -> int:
        """Replace what a slot holds; return the bytes used of the file.

        Raises:
            StateError: It does not fit, or is damaged; the slot is then empty.
        """
        self._check_tokens(file.tokens)
        self._keep(slot)
        slot.empty()
        n_state = self._load(slot, file)
        found = self._runner.n_computed(slot.id)
        if found != len(file.tokens):
            self._runner.forget(slot.id, 0)
            raise StateError(
                f"its state holds {found} tokens, its list {len(file.tokens)}"
            )
        end = file.start + n_state
        checkpoints, n_more = unpack_checkpoints(file.data, end)
        checkpoints = until(checkpoints, len(file.tokens))
        self._scheduler.slots.hold(slot, list(file.tokens), checkpoints, self._use())
        return end + n_more

    def _check_tokens(self, tokens: list[int]) -> None:
        n_most = self._scheduler.n_ctx_slot
        if len(tokens) > n_most:
            raise StateError(
                f"Restored prompt does not fit in the slot context: it has "
                f"{len(tokens)} tokens, of at most {n_most}; raise --ctx-size"
            )
        if tokens and not (min(tokens) >= 0 and max(tokens) < self._n_vocab):
            raise StateError("Invalid tokens in slot save file: it is of another model")

    def _load(self, slot: Slot, file: SlotFile) -> int:
        """Load a state; idle slots give way where it finds no room."""
        while True:
            try:
                return self._runner.restore(slot.id, file.data, file.start)
            except StateError:
                if not self._scheduler.room.lacks(len(file.tokens)):
                    raise
                self._make_room()

    def erase(self, slot: Slot) -> int:
        """Forget what a slot holds; return how many tokens that were."""
        n_tokens = len(slot.tokens)
        slot.empty()
        self._runner.forget(slot.id, 0)
        return n_tokens
