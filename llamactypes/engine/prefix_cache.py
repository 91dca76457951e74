"""Slots and what each holds in the KV cache; choosing one for a prompt. Pure."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf

from llamactypes.engine.sequence import Sequence

__all__ = ("Slot", "SlotTable", "common_prefix_length")


def common_prefix_length(a: SequenceOf[int], b: SequenceOf[int]) -> int:
    """Return how many leading tokens `a` and `b` share.

    PERF: compares slices, doubling then halving, so that the work is in C: 20 µs for
    4,000 equal tokens against 150 µs token by token.
    """
    limit = min(len(a), len(b))
    low, step = 0, 32
    while step and low < limit:
        high = min(low + step, limit)
        if a[low:high] == b[low:high]:
            low, step = high, step * 2
        elif high - low == 1:
            break
        else:
            step = (high - low) // 2
    return low


class Slot:
    """A reusable place for one live sequence; between two it keeps its KV cache."""

    __slots__ = ("id", "last_request", "last_used", "sequence", "tokens")

    def __init__(self, id: int) -> None:
        self.id = id
        self.sequence: Sequence | None = None
        self.tokens: list[int] = []
        """Tokens in the KV cache while idle; stale while a sequence lives here."""
        self.last_used = -1
        self.last_request: Sequence | None = None


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

        As llama-server: the one asked for; else the one that holds the longest prefix,
        when that is more than `similarity` of the prompt; else the least recently used.
        """
        wanted = sequence.request.id_slot
        if wanted >= 0:
            slot = self.slots[wanted % len(self.slots)]
            return slot if slot.sequence is None else None
        idle = self.idle()
        if not idle:
            return None
        # Of equals the last one, as llama-server does.
        return self._most_similar(idle, sequence.tokens) or min(
            reversed(idle), key=lambda slot: slot.last_used
        )

    def _most_similar(self, idle: list[Slot], tokens: list[int]) -> Slot | None:
        if not self._similarity or not tokens:
            return None
        best, best_length = None, 0
        for slot in idle:
            length = common_prefix_length(slot.tokens, tokens)
            if length > best_length and length / len(tokens) > self._similarity:
                best, best_length = slot, length
        return best

    def occupy(self, slot: Slot, sequence: Sequence) -> int:
        """Give `slot` to `sequence`; return how many of its tokens are computed there.

        At least one token stays to be computed: its logits are needed.
        """
        slot.sequence = slot.last_request = sequence
        if not sequence.request.cache_prompt or not sequence.tokens:
            return 0
        shared = common_prefix_length(slot.tokens, sequence.tokens)
        return min(shared, len(sequence.tokens) - 1)

    def release(self, slot: Slot) -> None:
        """Take the slot back from its sequence; what was computed stays as cache."""
        sequence = slot.sequence
        if sequence is None:
            return
        slot.tokens = sequence.tokens[: sequence.n_computed]
        slot.sequence = None
        self._clock += 1
        slot.last_used = self._clock

    def evict(self) -> Slot | None:
        """Forget the least recently used idle slot that holds something; None: none."""
        holding = [slot for slot in self.idle() if slot.tokens]
        if not holding:
            return None
        slot = min(holding, key=lambda slot: slot.last_used)
        slot.tokens = []
        return slot

    def n_tokens_cached(self) -> int:
        """Return the tokens in the KV cache, live and idle slots together."""
        return sum(
            len(slot.tokens) if slot.sequence is None else slot.sequence.n_computed
            for slot in self.slots
        )
