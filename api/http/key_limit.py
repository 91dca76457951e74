"""How many generations one API key may have at a time."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar
from weakref import WeakSet

from api.errors import KeyBusy
from api.protocol.invalid import InvalidRequest

__all__ = ("KeyLimit", "Live")


class Live(Protocol):
    """What the engine works at: a generation, or an embedding job."""

    @property
    def result(self) -> object | None:
        """None until it ended."""


_Request = TypeVar("_Request")
_Live = TypeVar("_Live", bound=Live)


class KeyLimit:
    """Counts each key's generations that have no result yet, waiting ones included.

    Any thread. Nothing has to be given back: a generation stops counting when the
    engine ends it, whatever the reason, so the count cannot drift. Keys are known by
    their number in `Settings.api_keys` alone.
    """

    def __init__(
        self,
        limit: int,
        retry_after_s: Callable[[int, int], float],
        on_submit: Callable[[Sequence[Live]], object] | None = None,
    ) -> None:
        """Create the counts.

        Args:
            limit: Most generations of one key; 0: no limit.
            retry_after_s: `Engine.retry_after_s`.
            on_submit: Called with all that were submitted, of any key.
        """
        self._limit = limit
        self._on_submit = on_submit
        self._retry_after_s = retry_after_s
        self._lock = threading.Lock()
        self._generations: defaultdict[int, WeakSet[Live]] = defaultdict(WeakSet)
        self._promised: Counter[int] = Counter()
        """Generations that are being submitted just now."""

    def submit(
        self,
        key: int | None,
        requests: Sequence[_Request],
        submit: Callable[[Sequence[_Request]], list[_Live]],
    ) -> list[_Live]:
        """Return ``submit(requests)`` if `key` may have so many more.

        Raises:
            KeyBusy: It has too many already; some time later it will not.
            InvalidRequest: These alone are more than any key may have.
        """
        generations = self._submit(key, requests, submit)
        if self._on_submit is not None:
            self._on_submit(generations)
        return generations

    def _submit(
        self,
        key: int | None,
        requests: Sequence[_Request],
        submit: Callable[[Sequence[_Request]], list[_Live]],
    ) -> list[_Live]:
        if key is None or not self._limit:
            return submit(requests)
        n = len(requests)
        self._promise(key, n)
        generations: list[_Live] = []
        try:
            generations = submit(requests)
        finally:
            with self._lock:
                self._promised[key] -= n
                self._generations[key].update(generations)
        return generations

    def n_live(self, key: int) -> int:
        """Return how many generations of `key` count now."""
        with self._lock:
            return self._count(key)

    def _promise(self, key: int, n: int) -> None:
        if n > self._limit:
            raise InvalidRequest(
                f"{n} completions in one request; one API key may have {self._limit} "
                f"at a time (--key-concurrency): ask for fewer",
                "n",
            )
        with self._lock:
            n_live = self._count(key)
            if n_live + n <= self._limit:
                self._promised[key] += n
                return
        raise KeyBusy(
            f"this API key has {n_live} completions running or waiting, of at most "
            f"{self._limit} (--key-concurrency); wait until some have ended",
            self._retry_after_s(n_live + n - self._limit, n_live),
        )

    def _count(self, key: int) -> int:
        generations = self._generations[key]
        for generation in tuple(generations):
            if generation.result is not None:
                generations.discard(generation)
        return len(generations) + self._promised[key]
