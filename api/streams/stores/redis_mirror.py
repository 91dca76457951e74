"""What this server tells Redis of its logs, and what it hears there of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from api.streams.log import StreamLog
from api.streams.ring import OffsetLost
from api.streams.stores.redis_client import RedisClient, is_old_piece
from api.streams.stores.redis_keys import Names, RemoteState, names_of, stream_names
from api.streams.stores.store import LogFacts
from api.streams.stores.trouble import Trouble
from api.streams.stores.written import error_value
from api.streams.tally import Tally

__all__ = ("Mirror", "Mirrored", "MirrorJournal")

_STEP_S = 0.2
"""Between two looks for orders: a DELETE elsewhere takes effect within a second."""
_BATCH_S = 0.01
"""What comes in so short a time is told at once."""
_LEASE_MS = 5000
_LEAST_TTL_S = 3600
_LATE_S = 5.0
"""What Redis forgets so shortly before we do is not told again."""
_PIECES_AT_ONCE = 256


class MirrorJournal:
    """Wakes the mirror when there is something new. A `Journal`; never blocks."""

    keeps_requests = False

    def __init__(self, mirrored: Mirrored, wake: Callable[[], object]) -> None:
        self._mirrored = mirrored
        self._wake = wake

    def accept(self, last_event: bytes, request: bytes) -> None:
        """Note what readers elsewhere get when this server is gone."""
        self._mirrored.last_event = last_event.decode("utf-8", "replace")
        self._wake()

    def begin(self) -> None:
        """Tell it."""
        self._wake()

    def tokens(self, deltas: bytes) -> None:
        """Nobody there goes on with it."""

    def append(self, data: bytes) -> None:
        """Nothing: it is told once it is in the log."""

    def after(self, log: StreamLog) -> None:
        """Tell it."""
        self._wake()

    def finish(self, log: StreamLog) -> None:
        """Tell it."""
        self._wake()

    def close(self) -> None:
        """Nothing: no process goes on with it."""


@dataclass(eq=False, slots=True)
class Mirrored:
    """One of our logs, and how much of it Redis has. The mirror's thread."""

    token: str
    facts: LogFacts
    log: StreamLog
    names: Names
    last_event: str = ""
    n_told: int = 0
    tally: Tally = field(default_factory=Tally)
    """Of what was told."""
    told_state: str = ""
    is_over: bool = False
    """All of it is told."""
    is_stopped: bool = False
    """Its conversation has no such stream any more: only its readers hear of it."""
    is_leaving: bool = False
    """It is followed until it is over, and then no more."""
    renewed_at: float = 0.0


class Mirror:
    """Tells Redis what its logs hold, as one more reader of each. One thread.

    While Redis is gone nothing waits but this thread: logs grow in memory, and it goes
    on where it was. After a restart of Redis everything that is held is told again.
    """

    def __init__(
        self,
        client: RedisClient,
        keep_s: float,
        errors: tuple[type[Exception], ...],
        trouble: Trouble,
        on_stop: Callable[[StreamLog, str], object],
    ) -> None:
        self._client = client
        self._keep_s = keep_s
        self._errors = errors
        self._trouble = trouble
        self._on_stop = on_stop
        self._mirrored: dict[StreamLog, Mirrored] = {}
        self._gone: list[Mirrored] = []
        """Forgotten, but for the list of their owner's ids."""
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._is_closed = False
        self._is_answered = True
        """Whether Redis answered the last time."""
        self._thread: threading.Thread | None = None

    # -- any thread --------------------------------------------------------------------

    def add(self, token: str, facts: LogFacts, log: StreamLog) -> None:
        """Follow a new log."""
        mirrored = Mirrored(token, facts, log, names_of(token))
        log.journal = MirrorJournal(mirrored, self._news.set)
        with self._lock:
            self._mirrored[log] = mirrored
            if self._thread is None:
                name = "llamactypes-redis"
                self._thread = threading.Thread(
                    target=self._run, name=name, daemon=True
                )
                self._thread.start()
        self._news.set()

    def token_of(self, log: StreamLog) -> str | None:
        """Return the token of one of our logs."""
        with self._lock:
            found = self._mirrored.get(log)
        return None if found is None else found.token

    def forget(self, log: StreamLog) -> None:
        """Follow a log until it is over, and then no more."""
        with self._lock:
            found = self._mirrored.get(log)
            if found is not None:
                found.is_leaving = found.is_stopped = True

    def close(self, timeout_s: float) -> None:
        """Tell what is left, for at most so long."""
        self._is_closed = True
        self._news.set()
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)

    # -- its thread --------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            self._news.wait(_STEP_S)
            self._news.clear()
            work = self._work()
            if work is None:
                return
            is_told = self._step(work)
            if self._is_closed and (is_told or not self._is_answered):
                return
            time.sleep(_BATCH_S)

    def _work(self) -> list[Mirrored] | None:
        """Return what to look after; None: there is nothing, and the thread ends."""
        with self._lock:
            for log, each in tuple(self._mirrored.items()):
                if each.is_leaving and each.is_over:
                    del self._mirrored[log]
                    self._gone.append(each)
            if not self._mirrored and not self._gone:
                self._thread = None
                return None
            return list(self._mirrored.values())

    def _step(self, work: list[Mirrored]) -> bool:
        """Tell and hear; return whether Redis has everything."""
        try:
            self._hear(work)
            for each in work:
                if not each.is_over:
                    self._tell(each)
            self._unlist()
        except self._errors as error:
            self._is_answered = False
            self._trouble.note(error)
            time.sleep(_STEP_S)
            return False
        if not self._is_answered:
            self._is_answered = True
            self._trouble.over()
        return all(each.is_over for each in work)

    def _unlist(self) -> None:
        """Take ids off the lists of their owners, unless another log has them."""
        with self._lock:
            gone, self._gone = self._gone, []
        for each in gone:
            stream, owner = stream_names(each.facts.key)
            token = self._client.get(stream)
            if token is None or token.decode() == each.token:
                self._client.delete(stream)
                self._client.zrem(owner, each.facts.key.conversation_id)

    def _hear(self, work: Iterable[Mirrored]) -> None:
        now = time.monotonic()
        kept = [each for each in work if each.log.done_s(now) < self._keep_s - _LATE_S]
        if not kept:
            return
        names = [name for each in kept for name in _watched(each.names)]
        found = self._client.mget(names)
        for i, each in enumerate(kept):
            self._hear_of(each, *found[3 * i : 3 * i + 3])

    def _hear_of(
        self,
        each: Mirrored,
        stop: bytes | None,
        read: bytes | None,
        state: bytes | None,
    ) -> None:
        if stop is not None and not each.is_stopped:
            each.is_stopped = True
            self._on_stop(each.log, stop.decode("utf-8", "replace"))
        if read is not None and not each.log.is_done:
            each.log.touch()
            each.log.greet()
        if state is None and each.told_state:
            # Redis has lost what it had: everything is told again.
            each.n_told, each.told_state, each.renewed_at = 0, "", 0.0
            each.tally, each.is_over = Tally(), False

    def _tell(self, each: Mirrored) -> None:
        log, now = each.log, time.monotonic()
        is_done = log.is_done  # before the bytes: nothing comes after it
        is_cut = self._tell_bytes(each)
        state = self._state(each, is_done=is_done and not is_cut)
        text = state.encode()
        is_renewal = now - each.renewed_at > _LEASE_MS / 4000
        if text == each.told_state and not is_renewal:
            return
        pipe = self._client.pipeline(transaction=False)
        ttl_s = max(1, int(self._keep_s)) if state.is_done else _ttl(self._keep_s)
        names = each.names
        stream, owner = stream_names(each.facts.key)
        pipe.set(names.state, text, ex=ttl_s)
        pipe.set(names.lease, 1, px=_LEASE_MS)
        if not each.told_state and not each.is_stopped:
            pipe.set(stream, each.token, ex=ttl_s, nx=True)
            pipe.zadd(owner, {each.facts.key.conversation_id: log.started_at}, nx=True)
        for name in (names.data, names.snapshot, stream):
            pipe.expire(name, ttl_s)
        pipe.expire(owner, _ttl(self._keep_s))
        pipe.execute()
        each.told_state, each.renewed_at = text, now
        each.is_over = state.is_done

    def _state(self, each: Mirrored, *, is_done: bool) -> RemoteState:
        log, tally = each.log, each.tally
        return RemoteState(
            each.facts,
            log.started_at,
            each.last_event,
            log.completed_at if is_done else 0,
            log.is_begun,
            is_done,
            log.is_broken,
            error_value(log.error) if is_done else None,
            min(log.first, each.n_told),
            each.n_told,
            tally.n_events,
            tally.crc,
            log.progress,
        )

    def _tell_bytes(self, each: Mirrored) -> bool:
        """Append what Redis does not have; return whether there is still more."""
        pipe, tally = self._client.pipeline(transaction=False), _copy(each.tally)
        n_told, n_pieces, is_gap = each.n_told, 0, False
        while n_pieces < _PIECES_AT_ONCE:
            try:
                data, _ = each.log.read(n_told, 0.0)
            except OffsetLost as error:
                # More was generated without Redis than the buffer holds, or it is told
                # again: what is lost is in the snapshot.
                is_gap, n_told = True, error.first
                tally = Tally(n_told, each.log.n_events, each.log.crc)
                continue
            if not data:
                break
            n_told += len(data)
            n_pieces += 1
            tally.add(data)
            pipe.xadd(each.names.data, {"d": data}, id=f"{n_told}-0")
        if n_pieces or is_gap:
            self._trim(pipe, each)
            self._execute(pipe)
            each.n_told, each.tally = n_told, tally
        return n_pieces >= _PIECES_AT_ONCE

    def _trim(self, pipe: Any, each: Mirrored) -> None:
        """Drop what the log has dropped, and tell its snapshot instead."""
        if each.log.first:
            event, offset = each.log.snapshot()
            value = {"event": event, "offset": offset}
            pipe.hset(each.names.snapshot, mapping=value)
            pipe.xtrim(each.names.data, minid=f"{offset + 1}-0", approximate=False)

    def _execute(self, pipe: Any) -> None:
        """Carry out; a piece that Redis took although we never heard is no error."""
        for answer in pipe.execute(raise_on_error=False):
            if isinstance(answer, Exception) and not is_old_piece(answer):
                raise answer


def _copy(tally: Tally) -> Tally:
    return Tally(tally.n_bytes, tally.n_events, tally.crc)


def _watched(names: Names) -> tuple[str, str, str]:
    return (names.stop, names.read, names.state)


def _ttl(keep_s: float) -> int:
    """Return how long Redis keeps what nobody renews, in seconds."""
    return max(_LEAST_TTL_S, 2 * int(keep_s))
