"""Which LoRA adapters a sequence is computed with, and whose turn it is. Pure.

One decode has one set of adapters, and what was computed with one set is of no use to
another. An activated LoRA (aLoRA) begins within the prompt, where its invocation tokens
stand; what comes before is computed without it, so that everyone can share it:

    prompt    p p p p p p p I I I p p p
    computed  without       with the adapter ...
    start                   ^
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from llamactypes.errors import AdapterError

__all__ = (
    "NO_ADAPTERS",
    "AdapterTurns",
    "AdapterUse",
    "Scales",
    "adapter_use",
    "scales_of",
)

Scales = tuple[float, ...]
"""One for each adapter of the server, in their order; empty: none is in use."""

_ALL = 1 << 62


@dataclass(frozen=True, slots=True)
class AdapterUse:
    """What a list of tokens is computed with."""

    scales: Scales = ()
    start: int = 0
    """Position from which on; before it no adapter is in use."""

    def at(self, position: int) -> Scales:
        """Return the scales for the token at a position."""
        return self.scales if position >= self.start else ()

    def shifted(self, keep: int, discard: int) -> AdapterUse:
        """Return the same after positions [keep, keep + discard) were dropped."""
        if self.start <= keep:
            return self
        return AdapterUse(self.scales, max(keep, self.start - discard))

    def n_alike(self, other: AdapterUse) -> int:
        """Return how many leading tokens both compute alike."""
        if self == other:
            return _ALL
        changes = sorted((0, self.start, other.start))
        differ = (i for i in changes if self.at(i) != other.at(i))
        return next(differ, _ALL)


NO_ADAPTERS = AdapterUse()


def scales_of(given: Mapping[int, float], n_adapters: int) -> Scales:
    """Return the scales of all adapters; those not given are off.

    Raises:
        AdapterError: There is no such adapter.
    """
    unknown = sorted(id for id in given if not 0 <= id < n_adapters)
    if unknown:
        there_are = (
            f"the last one is {n_adapters - 1}" if n_adapters else "there is none"
        )
        raise AdapterError(
            f"there is no LoRA adapter {unknown[0]}: {there_are}; GET /lora-adapters "
            "lists them"
        )
    return tuple(float(given.get(id, 0.0)) for id in range(n_adapters))


def adapter_use(
    tokens: Sequence[int], scales: Scales, invocations: Sequence[Sequence[int]]
) -> AdapterUse:
    """Return how a prompt is computed.

    Args:
        tokens: The prompt.
        scales: Of all adapters.
        invocations: What activates each; empty for an ordinary adapter.

    Raises:
        AdapterError: Several activated adapters are asked for.
    """
    on = [id for id, scale in enumerate(scales) if scale]
    if not on:
        return NO_ADAPTERS
    if not all(invocations[id] for id in on):
        return AdapterUse(scales)  # beside an ordinary one all are ordinary
    if len(on) > 1:
        raise AdapterError("Cannot run multiple aLoRAs in a single request")
    start = _last_place(tokens, invocations[on[0]])
    return NO_ADAPTERS if start is None else AdapterUse(scales, start)


def _last_place(tokens: Sequence[int], wanted: Sequence[int]) -> int | None:
    """Return where `wanted` stands last in `tokens`."""
    tokens, wanted = list(tokens), list(wanted)
    for start in range(len(tokens) - len(wanted), -1, -1):
        if tokens[start : start + len(wanted)] == wanted:
            return start
    return None


class _Computed(Protocol):
    @property
    def is_entered(self) -> bool: ...

    @property
    def scales(self) -> Scales: ...


S = TypeVar("S", bound=_Computed)


class AdapterTurns:
    """Lets the sets of adapters take turns, one in each decode. Engine thread only."""

    def __init__(self) -> None:
        self._last: Scales = ()

    def choose(self, running: list[S]) -> list[S]:
        """Return those of `running` whose turn it is: all when they have one set."""
        sets = list(dict.fromkeys(one.scales for one in running if one.is_entered))
        if len(sets) < 2:
            return running
        after = sets.index(self._last) + 1 if self._last in sets else 0
        self._last = sets[after % len(sets)]
        return [one for one in running if one.is_entered and one.scales == self._last]
