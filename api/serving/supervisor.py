"""What systemd is told, by its own protocol: datagrams of ``NAME=value`` lines.

sd_notify(3) and systemd.service(5), Type=notify and WatchdogSec=. Where nobody set
NOTIFY_SOCKET nothing happens, which is everywhere but under a supervisor.
"""

from __future__ import annotations

import logging
import math
import os
import socket
import time
from collections.abc import Callable, Mapping

__all__ = ("Supervisor",)

logger = logging.getLogger("llamactypes.server")

_PER_LIMIT = 3
"""Signs of life within the supervisor's limit: one may be late."""
_SLACK_S = 10.0
_LOADING_S = 30.0
"""While it loads the supervisor is asked for this much more, again and again."""
_STATUS_EVERY_S = 1.0


class Supervisor:
    """The supervisor's end of a socket, or nobody's. One thread at a time."""

    def __init__(self, address: str = "", watchdog_s: float = 0.0) -> None:
        """Say nothing yet.

        Args:
            address: A path, or ``@name`` in the abstract namespace; empty: nobody.
            watchdog_s: How long it waits for a sign of life; 0: for ever.
        """
        self._address = address
        self._turn_s = watchdog_s / _PER_LIMIT or math.inf
        self._alive_at = 0.0
        self._status_at = 0.0

    @staticmethod
    def from_environment(
        environment: Mapping[str, str] | None = None,
    ) -> Supervisor:
        """Return the one that started this process."""
        given = os.environ if environment is None else environment
        watched = given.get("WATCHDOG_USEC", "")
        is_ours = given.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        limit_s = int(watched) / 1e6 if watched.isdecimal() and is_ours else 0.0
        return Supervisor(given.get("NOTIFY_SOCKET", ""), limit_s)

    @property
    def turn_s(self) -> float:
        """Longest time between two calls of `note_alive`."""
        return self._turn_s

    def note_loading(self, part: float) -> None:
        """Say how much is loaded, and that it may take longer still."""
        now = time.monotonic()
        if now < self._status_at:
            return
        self._status_at = now + _STATUS_EVERY_S
        self._send(
            f"STATUS=loading the model: {part:.0%}",
            f"EXTEND_TIMEOUT_USEC={_microseconds(_LOADING_S)}",
        )

    def note_ready(self, where: str) -> None:
        """Say that requests are served at `where`."""
        self._send("READY=1", f"STATUS=ready on {where}")

    def note_alive(self, is_well: Callable[[], bool]) -> None:
        """Give a sign of life when it is due, but not where only a restart can help."""
        now = time.monotonic()
        if now - self._alive_at >= self._turn_s and is_well():
            self._alive_at = now
            self._send("WATCHDOG=1")

    def note_stopping(self, drain_s: float) -> None:
        """Say that it ends, in `drain_s` seconds at the latest."""
        self._send(
            "STOPPING=1",
            f"STATUS=stopping; requests may go on for {drain_s:g} s",
            f"EXTEND_TIMEOUT_USEC={_microseconds(drain_s + _SLACK_S)}",
        )

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        address = self._address
        if address.startswith("@"):
            address = "\0" + address[1:]
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
                out.setblocking(False)
                out.connect(address)
                out.send("\n".join(lines).encode())
        except BlockingIOError:  # it has much to read, and hears the next one
            logger.debug("the supervisor did not take what it was told")
        except OSError as error:
            logger.warning("the supervisor cannot be told: %s", error.strerror)
            self._address = ""  # once is enough


def _microseconds(seconds: float) -> int:
    return int(seconds * 1e6)
