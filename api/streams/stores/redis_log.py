"""A log that another server fills, read from Redis."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from api.errors import StreamInterrupted
from api.streams.event_ids import with_ids
from api.streams.ring import OffsetLost
from api.streams.stores.redis_client import RedisClient
from api.streams.stores.redis_keys import RemoteState, names_of
from api.streams.stores.trouble import Trouble
from api.streams.stores.written import error_from
from api.streams.tally import Tally

__all__ = ("RemoteLog",)

_POLL_S = 0.05
_TOUCH_S = 0.5
_READ_MS = 2000
_GONE_S = 15.0
"""Redis may be gone for so long before a reader hears of it."""
_GRACE_S = 2.0
"""A server whose lease is over may be about to renew it: Redis was gone, not it."""
_FORGOTTEN_S = 8.0
"""The same where Redis has lost everything, and is about to be told it again."""
_PIECES = 64


class RemoteLog:
    """A `ReadableLog`. Any thread.

    What it knows is as old as its last look. When the server that fills it is gone, its
    readers get what that server left, and the event that it left for this case.
    """

    keeps_errors: bool
    content_type: str
    started_at: int

    def __init__(
        self,
        client: RedisClient,
        token: str,
        state: RemoteState,
        errors: tuple[type[Exception], ...],
        trouble: Trouble,
    ) -> None:
        self._client = client
        self._names = names_of(token)
        self._state = state
        self._errors = errors
        self._trouble = trouble
        self._lost_at: float | None = None
        self._unleased_at: float | None = None
        self._touched_at = 0.0
        self._is_interrupted = False
        self._tail = b""
        self._lock = threading.Lock()
        self.keeps_errors = state.facts.capacity is None
        self.content_type = state.facts.content_type
        self.started_at = state.started_at

    # -- what is known -----------------------------------------------------------------

    @property
    def completed_at(self) -> int:
        """Unix time; 0 while it goes on."""
        return self._state.completed_at

    @property
    def error(self) -> Exception | None:
        """Why it ended, when not by itself."""
        if self._is_interrupted:
            return StreamInterrupted()
        return error_from(self._state.error)

    @property
    def is_begun(self) -> bool:
        """Whether a slot began with the prompt."""
        return self._state.is_begun

    @property
    def is_done(self) -> bool:
        """Whether nothing follows what is there."""
        return self._state.is_done or self._is_interrupted

    @property
    def is_broken(self) -> bool:
        """Whether its events end with an error."""
        return self._state.is_broken or self._is_interrupted

    @property
    def n_total(self) -> int:
        """Bytes so far."""
        return self._state.n_total

    @property
    def n_events(self) -> int:
        """Events so far."""
        return self._state.n_events

    @property
    def crc(self) -> int:
        """CRC-32 of all bytes so far."""
        return self._state.crc

    @property
    def first(self) -> int:
        """The offset of the oldest byte that is held."""
        return self._state.first

    @property
    def progress(self) -> dict[str, Any]:
        """How far it is while nothing was generated."""
        return self._state.progress

    # -- readers -----------------------------------------------------------------------

    def read(self, offset: int, timeout_s: float) -> tuple[bytes, bool]:
        """See `ReadableLog.read`."""
        deadline = time.monotonic() + timeout_s
        while True:
            self._look()
            data = self._bytes(offset)
            if data or self._is_over(offset):
                return data, self._is_over(offset + len(data))
            if time.monotonic() >= deadline:
                return b"", False
            time.sleep(_POLL_S)

    def snapshot(self) -> tuple[bytes, int]:
        """See `ReadableLog.snapshot`."""
        found = self._ask(lambda: self._client.hgetall(self._names.snapshot)) or {}
        if not found:
            raise OffsetLost(0, self.first)
        return found[b"event"], int(found[b"offset"])

    def read_all(self) -> bytes:
        """See `ReadableLog.read_all`."""
        data = bytearray()
        while piece := self._bytes(len(data)):
            data += piece
        return bytes(data)

    def wait_begun(self, timeout_s: float) -> bool:
        """See `ReadableLog.wait_begun`."""
        return self._wait(lambda: self.is_begun or self.is_done, timeout_s)

    def wait_done(self, timeout_s: float) -> bool:
        """See `ReadableLog.wait_done`."""
        return self._wait(lambda: self.is_done, timeout_s)

    def attach(self) -> None:
        """Tell its server that somebody reads."""
        self._touched_at = 0.0
        self._touch()

    def detach(self) -> None:
        """Nothing: a reader that says nothing more is gone soon."""

    def greet(self) -> None:
        """Nothing: its server does, once it hears of a reader."""

    # -- helpers -----------------------------------------------------------------------

    def _wait(self, is_so: Callable[[], bool], timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        while True:
            self._look()
            if is_so():
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)

    def _look(self) -> None:
        """Learn what is new."""
        if self.is_done:
            return
        self._touch()
        names = (self._names.state, self._names.lease)
        found = self._ask(lambda: self._client.mget(names))
        if found is None:
            return
        text, lease = found
        if text is not None:
            self._state = RemoteState.decode(text)
        self._check_lease(lease is not None, is_there=text is not None)

    def _check_lease(self, is_leased: bool, *, is_there: bool) -> None:
        """End what has had no server for so long that there is none."""
        now = time.monotonic()
        if is_leased or self._state.is_done:
            self._unleased_at = None
            return
        if self._unleased_at is None:
            self._unleased_at = now
        if now - self._unleased_at > (_GRACE_S if is_there else _FORGOTTEN_S):
            self._interrupt()

    def _interrupt(self) -> None:
        """End it here: nobody fills it any more."""
        with self._lock:
            if self._is_interrupted:
                return
            state = self._state
            if not self.keeps_errors:
                event = state.last_event.encode()
                self._tail = with_ids(event, state.n_total)
                tally = Tally(state.n_total, state.n_events, state.crc)
                tally.add(self._tail)
                self._tail += tally.end_line()
            self._is_interrupted = True

    def _is_over(self, offset: int) -> bool:
        return self.is_done and offset >= self._state.n_total + len(self._tail)

    def _bytes(self, offset: int) -> bytes:
        """Return some bytes from `offset` on, if they are there.

        Raises:
            OffsetLost: They were dropped.
        """
        state = self._state
        if self._is_interrupted and offset >= state.n_total:
            return self._tail[offset - state.n_total :]
        if offset >= state.n_total:
            return b""
        after = f"({offset}-0"
        found = self._ask(
            lambda: self._client.xrange(self._names.data, after, "+", count=_PIECES)
        )
        return b"" if not found else _joined(found, offset, state.n_total)

    def _touch(self) -> None:
        now = time.monotonic()
        if now - self._touched_at >= _TOUCH_S:
            self._touched_at = now
            self._ask(lambda: self._client.set(self._names.read, 1, px=_READ_MS))

    def _ask(self, call: Callable[[], Any]) -> Any:
        """Return what Redis says; None while it is gone, but not for ever.

        Raises:
            StreamInterrupted: It has been gone for too long.
        """
        try:
            found = call()
        except self._errors as error:
            self._trouble.note(error)
            now = time.monotonic()
            self._lost_at = self._lost_at or now
            if now - self._lost_at > _GONE_S:
                self._interrupt()
            return None
        if self._lost_at is not None:
            self._lost_at = None
            self._trouble.over()
        return found


def _joined(
    found: list[tuple[bytes, dict[bytes, bytes]]], offset: int, n: int
) -> bytes:
    """Return the bytes from `offset` to at most `n` of pieces named by their ends.

    Raises:
        OffsetLost: The first of them is gone.
    """
    data = bytearray()
    for id, fields in found:
        piece = fields[b"d"]
        begin = int(id.split(b"-")[0]) - len(piece)
        at = offset + len(data)
        if begin > at:
            if not data:
                raise OffsetLost(offset, begin)
            break
        data += piece[at - begin :]
    return bytes(data[: n - offset])
