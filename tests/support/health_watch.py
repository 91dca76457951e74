"""Somebody who asks for /health all the time, over a new connection each time."""

from __future__ import annotations

import threading
import time
from types import TracebackType

import requests

LIMIT_S = 2.0
"""The promise: /health answers within this, whatever else happens."""


class HealthWatch:
    """Asks in a thread while it is entered; at the end the slowest answer counts."""

    def __init__(self, url: str, *, every_s: float = 0.02) -> None:
        self._url = url + "/health"
        self._every_s = every_s
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.times_s: list[float] = []
        self.failures: list[str] = []

    def __enter__(self) -> HealthWatch:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._thread.join(3 * LIMIT_S)
        assert not self._thread.is_alive()
        if error is None:
            assert not self.failures
            assert self.times_s
            assert max(self.times_s) < LIMIT_S, sorted(self.times_s)[-5:]

    def _run(self) -> None:
        while not self._is_over.is_set():
            since = time.monotonic()
            try:
                status = requests.get(self._url, timeout=2 * LIMIT_S).status_code
                if status != 200:
                    self.failures.append(str(status))
            except requests.RequestException as error:
                self.failures.append(repr(error))
            self.times_s.append(time.monotonic() - since)
            self._is_over.wait(self._every_s)
