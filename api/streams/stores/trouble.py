"""What goes wrong with a store: counted, and said once in a while."""

from __future__ import annotations

import logging
import threading
import time

__all__ = ("Trouble",)

logger = logging.getLogger("llamactypes.api")

_SAY_EVERY_S = 60.0


class Trouble:
    """Counts errors of one store. Any thread."""

    def __init__(self, name: str) -> None:
        """Begin without any; `name` says in the log which store it is."""
        self.n_errors = 0
        self._name = name
        self._said_at: dict[str, float] = {}
        self._lock = threading.Lock()

    def note(self, error: Exception) -> None:
        """Count an error; the log gets one line a minute for each kind."""
        now, kind = time.monotonic(), f"{type(error).__name__} {_number(error)}"
        with self._lock:
            self.n_errors += 1
            if now - self._said_at.get(kind, -_SAY_EVERY_S) < _SAY_EVERY_S:
                return
            self._said_at[kind] = now
        logger.error(
            "%s: %s; generations go on, and their streams are kept in memory",
            self._name,
            error,
        )

    def over(self) -> None:
        """Say that it works again."""
        with self._lock:
            was_said, self._said_at = bool(self._said_at), {}
        if was_said:
            logger.warning("%s: works again, nothing is missing", self._name)


def _number(error: Exception) -> object:
    return getattr(error, "errno", "")
