"""How far generations are that have said nothing yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakSet

from llamactypes.engine import Generation, SlotState

__all__ = ("PromptProgress",)


class PromptProgress:
    """Knows every generation that was submitted, as long as somebody has it.

    Any thread. The engine takes them in their order, so a place in its queue is the
    number of earlier ones that have not begun.
    """

    def __init__(self, slots: Callable[[], list[SlotState]]) -> None:
        """Begin without any; `slots` is `Engine.slots`."""
        self._slots = slots
        self._generations: WeakSet[Generation] = WeakSet()

    def watch(self, submitted: Sequence[object]) -> None:
        """Take what was submitted into account, if it is a generation."""
        self._generations.update(
            each for each in submitted if isinstance(each, Generation)
        )

    def of(self, generations: Sequence[Generation]) -> dict[str, Any]:
        """Return how far the first of a request's generations is; empty: unknown."""
        generation = generations[0] if generations else None
        if generation is None or generation.result is not None:
            return {}
        if not generation.is_started:
            return _value("queued", ahead=self._n_ahead(generation))
        for slot in self._slots():
            if slot.is_processing and slot.request is generation.request:
                n_total, n_done = slot.n_prompt_tokens, slot.n_prompt_tokens_processed
                return _value(
                    "prompt",
                    processed=n_done,
                    total=n_total,
                    percent=100 * n_done // max(1, n_total),
                )
        return {}

    def _n_ahead(self, generation: Generation) -> int:
        return sum(
            each.id < generation.id and not each.is_started
            for each in tuple(self._generations)
        )


def _value(state: str, **facts: int) -> dict[str, Any]:
    return {"object": "stream.progress", "state": state, **facts}
