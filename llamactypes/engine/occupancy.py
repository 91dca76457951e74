"""How many requests an engine has taken, and when it will have room again."""

from __future__ import annotations

import threading
from collections.abc import Callable

from llamactypes.errors import EngineOverloaded

__all__ = ("Occupancy",)

_RETRY_MIN_S = 1.0
_RETRY_MAX_S = 60.0


class Occupancy:
    """Counts the requests that run or wait, up to a limit. Any thread."""

    def __init__(
        self, n_slots: int, queue_size: int, mean_slot_s: Callable[[], float]
    ) -> None:
        """Begin with none.

        Args:
            n_slots: How many run at a time.
            queue_size: How many more may wait.
            mean_slot_s: Tells how long recent requests held their slot, in seconds.
        """
        self.limit = n_slots + queue_size
        """Most requests that may run and wait at one time."""
        self.n_live = 0
        self.n_refused = 0
        self._n_slots = n_slots
        self._mean_slot_s = mean_slot_s
        self._lock = threading.Lock()

    def reserve(self, n: int) -> None:
        """Take places for `n` requests, all or none.

        Raises:
            EngineOverloaded: There are not so many, and when there may be.
        """
        with self._lock:
            if self.n_live + n > self.limit:
                self.n_refused += n
                n_waiting = self.n_live + n - self._n_slots
                raise EngineOverloaded(
                    f"the server is busy: {self.n_live} requests are running or "
                    f"waiting, of at most {self.limit}; try again later",
                    self.retry_after_s(n_waiting, self._n_slots),
                )
            self.n_live += n

    def release(self, n: int) -> None:
        """Give places back."""
        with self._lock:
            self.n_live -= n

    def retry_after_s(self, n_ahead: int, n_at_once: int) -> float:
        """Estimate when `n_ahead` requests will have ended, `n_at_once` at a time.

        From how long recent requests held their slot; within 1 … 60 seconds.
        """
        estimate = self._mean_slot_s() * n_ahead / n_at_once
        return min(max(estimate, _RETRY_MIN_S), _RETRY_MAX_S)
