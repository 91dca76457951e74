"""How many streams an API key may have, and how many bytes in them."""

from __future__ import annotations

from collections import Counter

from api.errors import KeyBusy
from api.streams.limits import StreamLimits
from api.streams.log import StreamLog
from api.streams.stores.store import StreamKey

__all__ = ("RETRY_AFTER_S", "Room")

RETRY_AFTER_S = 5.0
_LOG_BYTES = 4096
"""What a log counts for besides its bytes."""


class Room:
    """What ended streams weigh, by their owners. With the lock of `StreamSessions`.

    A live stream counts for its whole ring.
    """

    def __init__(self, limits: StreamLimits) -> None:
        self._limits = limits
        self._weights: dict[StreamLog, int] = {}
        self._n_bytes: Counter[str | None] = Counter()
        """The sum of them, by owner."""

    def knows(self, log: StreamLog) -> bool:
        """Whether `log` was weighed."""
        return log in self._weights

    def weigh(self, key: StreamKey, log: StreamLog) -> None:
        """Count a stream that has ended."""
        self._weights[log] = log.n_held + _LOG_BYTES
        self._n_bytes[key.owner] += self._weights[log]

    def forget(self, key: StreamKey, log: StreamLog) -> None:
        """Count it no more."""
        self._n_bytes[key.owner] -= self._weights.pop(log, 0)

    def check_number(self, n_live: int) -> None:
        """Refuse one more session of a key that has `n_live` others.

        Raises:
            KeyBusy: It has too many.
        """
        if n_live >= self._limits.n_live:
            raise KeyBusy(
                f"this API key has {n_live} resumable streams running, of at most "
                f"{self._limits.n_live} (--stream-sessions); wait until some have "
                "ended, or stop some by DELETE /v1/stream/<id>",
                RETRY_AFTER_S,
            )

    def is_full(self, key: StreamKey, n_live: int, kept: StreamLog | None) -> bool:
        """Whether one more stream, in the place of `kept`, would be too much."""
        return self._n_bytes_with(key, n_live, kept) > self._limits.n_bytes

    def check_bytes(self, key: StreamKey, n_live: int, kept: StreamLog | None) -> None:
        """Refuse one more stream of a key that has too much in them.

        Raises:
            KeyBusy: It would be too much.
        """
        limits, n_bytes = self._limits, self._n_bytes_with(key, n_live, kept)
        if n_bytes > limits.n_bytes:
            raise KeyBusy(
                f"one more stream would make {n_bytes >> 10} KiB of this API key, of "
                f"at most {limits.n_bytes >> 10} (--stream-memory-mib); forget those "
                "you have read by DELETE /v1/stream/<id>, or wait "
                f"{limits.keep_s:g} s after they ended",
                RETRY_AFTER_S,
            )

    def _n_bytes_with(self, key: StreamKey, n_live: int, kept: StreamLog | None) -> int:
        """Return what the key's streams may come to with one more, `n_live` others."""
        replaced = 0 if kept is None else self._weights.get(kept, 0)
        rings = (n_live + 1) * (self._limits.ring_bytes + _LOG_BYTES)
        return self._n_bytes[key.owner] - replaced + rings
