"""Slots and what each holds in the KV cache; choosing one for a prompt. Pure."""

from __future__ import annotations

from llamactypes.engine.config import SlotState
from llamactypes.engine.planning.adapters import NO_ADAPTERS, AdapterUse
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.prefixes.checkpoints import Checkpoints
from llamactypes.engine.prefixes.length import common_prefix_length

__all__ = ("Slot", "SlotTable")


class Slot:
    """A reusable place for one live sequence; between two it keeps its KV cache."""

    __slots__ = (
        "checkpoints",
        "id",
        "last_request",
        "last_used",
        "n_trusted",
        "sequence",
        "tokens",
        "use",
    )

    def __init__(self, id: int) -> None:
        self.id = id
        self.sequence: Sequence | None = None
        self.tokens: list[int] = []
        """Tokens in the KV cache while idle; stale while a sequence lives here."""
        self.n_trusted: int | None = None
        """While idle: how many of them may be reused; None: all."""
        self.checkpoints: Checkpoints = ()
        """While idle: see `Checkpoint`."""
        self.use = NO_ADAPTERS
        """While idle: the LoRA adapters that computed the tokens."""
        self.last_used = -1
        self.last_request: Sequence | None = None

    def prefix(self, tokens: list[int], use: AdapterUse) -> int:
        """Return how many leading `tokens` are computed here, live or idle.

        Computed as `use` says.
        """
        sequence = self.sequence
        if sequence is not None:
            shared = common_prefix_length(sequence.tokens, tokens)
            return min(shared, sequence.n_reusable, sequence.use.n_alike(use))
        return self.own_prefix(tokens, use)

    @property
    def computed(self) -> tuple[int, Checkpoints]:
        """How many tokens are computed here, live or idle, and their checkpoints."""
        if self.sequence is not None:
            return self.sequence.n_computed, self.sequence.checkpoints
        return len(self.tokens), self.checkpoints

    def own_prefix(self, tokens: list[int], use: AdapterUse) -> int:
        """Return the same for what lay here before its present sequence begins."""
        shared = min(common_prefix_length(self.tokens, tokens), self.use.n_alike(use))
        return shared if self.n_trusted is None else min(shared, self.n_trusted)

    def snapshot(self, n_ctx: int) -> SlotState:
        """Return how it is now. Any thread: reads a few integers.

        Args:
            n_ctx: Most tokens a slot may hold.
        """
        last, is_live = self.last_request, self.sequence is not None
        if last is None:
            return SlotState(self.id, n_ctx, is_processing=False)
        return SlotState(
            id=self.id,
            n_ctx=n_ctx,
            is_processing=is_live,
            id_task=last.id,
            n_prompt_tokens=last.n_prompt,
            n_prompt_tokens_processed=last.n_prompt_computed,
            n_prompt_tokens_cache=last.n_cached,
            request=last.request,
            n_decoded=last.n_decoded if is_live else 0,
            n_remain=last.n_remaining if is_live else -1,
            has_next_token=is_live,
            has_new_line=last.has_new_line,
        )

    def empty(self) -> None:
        """Note that nothing is in the KV cache here any more."""
        self.tokens = []
        self.n_trusted = None
        self.checkpoints = ()
        self.use = NO_ADAPTERS


class SlotTable:
    """Which slot serves whom. Engine thread only."""

    def __init__(self, n_slots: int, similarity: float = 0.1) -> None:
        self.slots = tuple(Slot(i) for i in range(n_slots))
        self._similarity = similarity
        self._clock = 0

    def __getitem__(self, id: int) -> Slot:
        return self.slots[id]

    def __len__(self) -> int:
        return len(self.slots)

    def idle(self) -> list[Slot]:
        """Return the slots nobody lives in."""
        return [slot for slot in self.slots if slot.sequence is None]

    def choose(self, sequence: Sequence) -> Slot | None:
        """Return the idle slot that fits best, or None when it must wait.

        The one asked for; else the one whose conversation goes on: it holds more than
        `similarity` of the prompt, and the prompt at least half of it (or what is moved
        may make good for the rest); else the least recently used, for a shared prefix
        can be had from anywhere.
        """
        wanted = sequence.request.id_slot
        if wanted >= 0:
            slot = self.slots[wanted % len(self.slots)]
            return slot if slot.sequence is None else None
        idle = self.idle()
        if not idle:
            return None
        # Of equals the last one, as llama-server does.
        return self._continued(idle, sequence) or min(
            reversed(idle), key=lambda slot: slot.last_used
        )

    def _continued(self, idle: list[Slot], sequence: Sequence) -> Slot | None:
        tokens = sequence.tokens
        if not self._similarity or not tokens:
            return None
        best, best_length = None, 0
        for slot in idle:
            length = slot.prefix(tokens, sequence.use)
            is_similar = length / len(tokens) > self._similarity
            goes_on = 2 * length >= len(slot.tokens) or sequence.request.n_cache_reuse
            if length > best_length and is_similar and goes_on:
                best, best_length = slot, length
        return best

    def release(self, slot: Slot) -> None:
        """Take the slot back from its sequence; what was computed stays as cache."""
        sequence = slot.sequence
        if sequence is None:
            return
        if sequence.is_entered:
            slot.tokens = sequence.tokens[: sequence.n_computed]
            slot.n_trusted = sequence.n_trusted
            slot.checkpoints = sequence.checkpoints
            slot.use = sequence.use
        slot.sequence = None
        self._clock += 1
        slot.last_used = self._clock

    def hold(
        self,
        slot: Slot,
        tokens: list[int],
        checkpoints: Checkpoints,
        use: AdapterUse = NO_ADAPTERS,
    ) -> None:
        """Note what was put into an idle slot from outside."""
        slot.empty()
        slot.tokens = tokens
        slot.checkpoints = checkpoints
        slot.use = use
        self._clock += 1
        slot.last_used = self._clock

    def least_used(self) -> Slot | None:
        """Return the least recently used idle slot that holds something; None: none."""
        holding = (slot for slot in self.idle() if slot.tokens)
        return min(holding, key=lambda slot: slot.last_used, default=None)

    def evict(self) -> Slot | None:
        """Forget what `least_used` holds."""
        slot = self.least_used()
        if slot is not None:
            slot.empty()
        return slot
