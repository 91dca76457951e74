"""Responses that may be asked for later: bounded in number, bytes and age."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from api.json_loader import dumps_bytes
from api.protocol.responses.items import Item
from api.responses.run import ResponseRun

__all__ = ("ResponseStore", "StoredResponse", "StoreLimits", "Turn")


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """How much is kept."""

    n_responses: int
    n_bytes: int
    age_s: float
    """Seconds since a response was made; 0: no limit."""


@dataclass(slots=True, eq=False)
class Turn:
    """One question and its answer, linked to those before it.

    A turn lives as long as a response that continues it, also when its own response
    was deleted or evicted.
    """

    items: Sequence[Item]
    before: Turn | None = None
    output: Sequence[Item] = ()
    """Filled in when the answer is complete."""
    n_bytes: int = 0
    n_users: int = 0
    """Kept responses and kept later turns that hold it. The store's lock."""

    def __post_init__(self) -> None:
        self.n_bytes = len(dumps_bytes(list(self.items)))

    def context(self) -> list[Item]:
        """Return the items that this turn's answer was made from, oldest first."""
        turns = [self, *self._earlier()]
        turns.reverse()
        items: list[Item] = []
        for turn in turns:
            items += turn.items
            if turn is not self:
                items += turn.output
        return items

    def conversation(self) -> list[Item]:
        """Return the items that a next turn continues, oldest first."""
        return [*self.context(), *self.output]

    def _earlier(self) -> Iterator[Turn]:
        turn = self.before
        while turn is not None:
            yield turn
            turn = turn.before


@dataclass(slots=True, eq=False)
class StoredResponse:
    """A response with what it came from."""

    owner: int | None
    """Number of the API key that made it; None: the server asks for no key."""
    run: ResponseRun
    turn: Turn
    is_background: bool = False
    n_bytes: int = 0
    """Of the response and its events, the turn excluded."""
    made_at: float = field(default_factory=time.monotonic)

    def ended_turn(self) -> Turn:
        """Return the turn of a response that has ended, its answer included."""
        if not self.turn.output:  # `ResponseStore.settle` may be about to do it
            self.turn.output = self.run.output
        return self.turn


class ResponseStore:
    """All kept responses, in memory. Any thread.

    The oldest are evicted first. Those that are still being made are not: the engine's
    queue bounds their number, and its context their size. A response belongs to the API
    key that made it; to other keys it does not exist.
    """

    def __init__(self, limits: StoreLimits) -> None:
        self.limits = limits
        self._responses: dict[str, StoredResponse] = {}
        self._items: dict[tuple[int | None, str], tuple[str, Item]] = {}
        """From an owner and an item's id to the response's, and the item."""
        self._n_bytes = 0
        self._lock = threading.Lock()

    @property
    def is_off(self) -> bool:
        """Whether nothing is ever kept."""
        return self.limits.n_responses == 0

    @property
    def n_bytes(self) -> int:
        """JSON bytes of what is kept."""
        with self._lock:
            return self._n_bytes

    def __len__(self) -> int:
        with self._lock:
            return len(self._responses)

    def add(self, stored: StoredResponse) -> None:
        """Keep a response, usually one that is still being made."""
        with self._lock:
            self._responses[stored.run.id] = stored
            self._hold(stored.turn)
            self._index(stored, stored.turn.items)
            self._evict()

    def get(self, owner: int | None, id: str) -> StoredResponse | None:
        """Return a response, if it is kept and `owner` made it."""
        with self._lock:
            self._evict()
            stored = self._responses.get(id)
        return stored if stored is not None and stored.owner == owner else None

    def find_item(self, owner: int | None, id: str) -> Item | None:
        """Return an item of a kept response that `owner` made."""
        with self._lock:
            _, item = self._items.get((owner, id), ("", None))
        return item

    def remove(self, stored: StoredResponse) -> None:
        """Forget a response; one that is still being made is ended."""
        stored.run.cancel()
        with self._lock:
            self._drop(stored)

    def settle(self, run: ResponseRun) -> None:
        """Weigh a response that has ended, and keep its items."""
        with self._lock:
            stored = self._responses.get(run.id)
        if stored is None:
            return
        output = run.output
        n_bytes = len(dumps_bytes(run.response())) + run.n_event_bytes
        n_output = len(dumps_bytes(output))
        with self._lock:
            if self._responses.get(run.id) is not stored:
                return
            stored.turn.output = output
            stored.turn.n_bytes += n_output
            stored.n_bytes = n_bytes
            self._n_bytes += n_output + n_bytes
            self._index(stored, output)
            self._evict()

    # -- with the lock held -----------------------------------------------------------

    def _hold(self, turn: Turn) -> None:
        """Count a new user of `turn`; the first one makes it count for the store."""
        next_turn: Turn | None = turn
        while next_turn is not None:
            next_turn.n_users += 1
            if next_turn.n_users > 1:
                return
            self._n_bytes += next_turn.n_bytes
            next_turn = next_turn.before

    def _release(self, turn: Turn) -> None:
        """Undo `_hold`."""
        next_turn: Turn | None = turn
        while next_turn is not None:
            next_turn.n_users -= 1
            if next_turn.n_users:
                return
            self._n_bytes -= next_turn.n_bytes
            next_turn = next_turn.before

    def _index(self, stored: StoredResponse, items: Sequence[Item]) -> None:
        for item in items:
            self._items[stored.owner, item["id"]] = (stored.run.id, item)

    def _drop(self, stored: StoredResponse) -> None:
        if self._responses.pop(stored.run.id, None) is None:
            return
        for item in (*stored.turn.items, *stored.turn.output):
            key = stored.owner, item["id"]
            if self._items.get(key, ("",))[0] == stored.run.id:
                del self._items[key]
        self._n_bytes -= stored.n_bytes
        self._release(stored.turn)

    def _evict(self) -> None:
        """Drop the oldest until the rest is within the limits."""
        limits = self.limits
        made_before = time.monotonic() - limits.age_s if limits.age_s else 0.0
        for stored in tuple(self._responses.values()):
            is_old = stored.made_at < made_before
            is_full = (
                len(self._responses) > limits.n_responses
                or self._n_bytes > limits.n_bytes
            )
            if not is_old and not is_full:
                return
            if not stored.run.is_live:
                self._drop(stored)
