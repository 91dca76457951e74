"""The resumable streams of a server: opened, found, replaced, ended, forgotten."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import replace

from api.errors import (
    GenerationCancelled,
    StreamInterrupted,
    StreamSuspended,
)
from api.streams.claims import same_request
from api.streams.counts import StreamCounts
from api.streams.followers import Followers
from api.streams.limits import StreamLimits
from api.streams.log import StreamLog
from api.streams.room import Room
from api.streams.session import Session, StreamStopped
from api.streams.stores.memory import MemoryStore
from api.streams.stores.reading import ReadableLog
from api.streams.stores.store import (
    Claim,
    Claimed,
    LogFacts,
    StreamKey,
    StreamStore,
    asked_names,
)
from api.streams.stores.written import Written

__all__ = ("StreamSessions",)

logger = logging.getLogger("llamactypes.api")

_REPLACED_S = 1.0
"""How long a new session waits for the one that it replaces to end."""
_LEAST_STEP_S = 0.05
_ORPHAN_STEPS = 4


class StreamSessions:
    """All of them. Any thread.

    A session belongs to the API key that made it; for other keys it does not exist.
    A thread looks after them while there are any.
    """

    def __init__(
        self,
        limits: StreamLimits,
        store: StreamStore | None = None,
        *,
        continues: bool = False,
    ) -> None:
        """Begin with what the store has from an earlier process.

        Args:
            limits: How much is kept.
            store: Where; None: in memory.
            continues: Leave what is unfinished there to `take_unfinished`.
        """
        self.limits = limits
        self._continues = continues
        self._unfinished: list[Written] = []
        self.store: StreamStore = store or MemoryStore()
        self._live: dict[StreamKey, Session] = {}
        self._ending: set[Session] = set()
        """Replaced or deleted ones whose threads still run."""
        self._room = Room(limits)
        self.followers = Followers(limits.n_followers)
        self._counts = StreamCounts()
        self._sweeper: threading.Thread | None = None
        self._closed: str | None = None
        self._changed = threading.Condition(threading.Lock())
        self.store.listen(self._end_elsewhere)
        self._take_over(is_first=True)

    # -- the client that asks ----------------------------------------------------------

    def open(
        self,
        owner: str | None,
        conversation_id: str,
        content_type: str,
        whole: bool,
        claim: Claim | None = None,
    ) -> Session:
        """Return a new session; a live one of this conversation is ended.

        Args:
            owner: Who asks: a digest of the API key.
            conversation_id: As the client calls it.
            content_type: Of what will be read.
            whole: Whether it is one piece, of which nothing may be dropped.
            claim: The request's idempotency key.

        Raises:
            Claimed: The same request was sent before, with this key.
            ClaimConflict: Another request was sent before, with this key.
            KeyBusy: The API key has too many.
            StreamStopped: The server is stopping.
        """
        key = StreamKey(owner, conversation_id)
        capacity = None if whole else self.limits.ring_bytes
        facts = LogFacts(key, capacity, content_type, claim)
        with self._changed:
            if self._closed is not None:
                raise StreamStopped(self._closed)
            self._check_claim(facts)
            self._check_room(key)
            replaced = self._live.pop(key, None)
            if replaced is not None:
                self._ending.add(replaced)
            self._drop(key)
            log = self.store.create(facts)
            session = self._live[key] = Session(key, log, self._on_end)
            self._counts.opened += 1
            self._look_after()
        if replaced is not None:
            replaced.abort("another request took its place")
            # Its slot, and its place among the key's completions, shall be free.
            replaced.log.wait_done(_REPLACED_S)
        try:
            self.store.announce(log)
        except Exception as error:
            # Who has attached meanwhile is told the same.
            self.give_up(session, error)
            raise
        self._take_over()
        return session

    def give_up(self, session: Session, error: Exception) -> None:
        """Forget a session that was never started."""
        if session.earlier is not None:
            self._let_go(session)
            self.interrupt(session.earlier.written)
            return
        session.give_up(error)
        with self._changed:
            self._drop(session.key, session.log)

    # -- clients that come back --------------------------------------------------------

    def find(self, owner: str | None, conversation_id: str) -> ReadableLog | None:
        """Return the log of a conversation; None when there is none any more."""
        log = self.store.find(StreamKey(owner, conversation_id))
        if isinstance(log, StreamLog) and self._is_old(log):
            return None
        return log

    def lookup(
        self, owner: str | None, ids: Iterable[str]
    ) -> list[tuple[str, ReadableLog]]:
        """Return the streams with these ids, or with one of them before a ``::``."""
        wanted = set(ids)
        found = self.store.lookup(
            owner, lambda id: not wanted.isdisjoint(asked_names(id))
        )
        return [
            (id, log)
            for id, log in found
            if not (isinstance(log, StreamLog) and self._is_old(log))
        ]

    def stop(self, owner: str | None, conversation_id: str) -> None:
        """End a conversation's generation and forget its stream, wherever it is."""
        key = StreamKey(owner, conversation_id)
        with self._changed:
            self._drop(key)
            session = self._live.pop(key, None)
            if session is not None:
                self._ending.add(session)
        if session is not None:
            session.abort("the conversation was stopped")
        self.store.stop(key)

    def counts(self) -> StreamCounts:
        """Return the numbers as they are now."""
        live, followers = self.n_live, self.followers
        with self._changed:
            return replace(
                self._counts,
                live=live,
                resumed=followers.n_resumed,
                bytes_replayed=followers.n_bytes,
                offsets_lost=followers.n_lost,
                store_errors=self.store.n_errors,
            )

    @property
    def n_live(self) -> int:
        """Sessions whose generations go on."""
        with self._changed:
            return len(self._live) + len(self._ending)

    @property
    def has_sweeper(self) -> bool:
        """Whether a thread looks after sessions."""
        return self._sweeper is not None

    # -- what an earlier process left --------------------------------------------------

    def take_unfinished(self) -> list[Written]:
        """Return the streams to go on with, once; whoever takes them ends them."""
        with self._changed:
            unfinished, self._unfinished = self._unfinished, []
        return unfinished

    def interrupt(self, written: Written) -> None:
        """End a stream that nobody goes on with: its readers get an error event."""
        log = written.log
        if log.is_done:
            return
        log.is_broken = True
        if not log.keeps_errors:
            log.append_events(written.last_event or b"")
        log.finish(StreamInterrupted())
        with self._changed:
            self._counts.interrupted += 1
            if self.store.local(written.facts.key) is log:
                self._room.weigh(written.facts.key, log)

    def resume(self, written: Written) -> Session:
        """Return a session that goes on with an unfinished stream.

        Raises:
            StreamStopped: It was forgotten meanwhile, or another took its place.
        """
        key, log = written.facts.key, written.log
        with self._changed:
            if self._closed is not None or self.store.local(key) is not log:
                raise StreamStopped(self._closed or "the stream was forgotten")
            session = self._live[key] = Session(key, log, self._on_end)
            log.is_continued = True
            self._counts.continued += 1
        return session

    def _let_go(self, session: Session) -> None:
        with self._changed:
            if self._live.get(session.key) is session:
                del self._live[session.key]

    def _take_over(self, *, is_first: bool = False) -> None:
        """Count what the store has found, and end what nobody goes on with."""
        unfinished = self.store.take_unfinished()
        if not unfinished and not is_first:
            return
        with self._changed:
            for key, log in self.store.entries():
                if log.is_done and not self._room.knows(log):
                    self._room.weigh(key, log)
                self._look_after()
            if self._continues:
                self._unfinished += unfinished
        for written in () if self._continues else unfinished:
            self.interrupt(written)

    # -- the end -----------------------------------------------------------------------

    def close(self, timeout_s: float) -> bool:
        """End all sessions; return whether their threads ended within `timeout_s`.

        What no thread ends in time is finished here, so that no reader hangs.
        """
        reason = "the server is shutting down"
        with self._changed:
            self._closed = reason
            sessions = [*self._live.values(), *self._ending]
            self._changed.notify_all()
        for session in sessions:
            if self._continues:
                session.log.suspend(StreamSuspended())
            session.abort(reason)
        deadline = time.monotonic() + timeout_s
        for session in sessions:
            session.log.wait_done(max(0.0, deadline - time.monotonic()))
        stuck = [session for session in sessions if not session.log.is_done]
        for session in stuck:
            session.give_up(GenerationCancelled(reason))
        self.store.close()
        return not stuck

    # -- the store's thread ------------------------------------------------------------

    def _end_elsewhere(self, log: StreamLog, reason: str) -> None:
        """End a session, because another server says so."""
        with self._changed:
            found = [each for each in self._live.values() if each.log is log]
            for session in found:
                del self._live[session.key]
                self._ending.add(session)
            for key in [key for key, each in self.store.entries() if each is log]:
                self._drop(key, log)
        for session in found:
            session.abort(reason)

    # -- threads of sessions -----------------------------------------------------------

    def _on_end(self, session: Session) -> None:
        with self._changed:
            self._ending.discard(session)
            if self._live.get(session.key) is session:
                del self._live[session.key]
            log = session.log
            if log.is_suspended:
                return
            if log.error is not None and not log.is_begun and not log.keeps_errors:
                self._drop(session.key, log)
            elif self.store.local(session.key) is log:
                self._room.weigh(session.key, log)

    # -- the sweeper -------------------------------------------------------------------

    def _look_after(self) -> None:
        """Start the sweeper unless it runs; with the lock held."""
        if self._sweeper is None:
            name = "llamactypes-streams"
            self._sweeper = threading.Thread(target=self._sweep, name=name, daemon=True)
            self._sweeper.start()

    def _sweep(self) -> None:
        with self._changed:
            while self._closed is None:
                self._forget_old()
                orphans = self._orphans()
                self._changed.release()
                try:
                    self._end_orphans(orphans)
                    self.store.tidy()
                finally:
                    self._changed.acquire()
                if not self._live and not self.store.entries():
                    break
                self._changed.wait(self._step_s())
            self._sweeper = None

    def _step_s(self) -> float:
        step_s = self.limits.sweep_s
        if self.limits.orphan_s:
            step_s = min(step_s, self.limits.orphan_s / _ORPHAN_STEPS)
        return max(step_s, _LEAST_STEP_S)

    def _end_orphans(self, orphans: list[Session]) -> None:
        if not orphans:
            return
        limit_s = self.limits.orphan_s
        with self._changed:
            self._counts.orphaned += len(orphans)
        for session in orphans:
            logger.info("ended a stream that nobody had read for %g s", limit_s)
            session.abort(f"nobody had read it for {limit_s:g} s")

    # -- helpers, with the lock held ---------------------------------------------------

    def _check_claim(self, facts: LogFacts) -> None:
        """Refuse to begin what is being answered already, in this process."""
        if facts.claim is None:
            return
        earlier = self.store.find_claimed(facts.key.owner, facts.claim.key)
        log = None if earlier is None else self.store.local(earlier.key)
        if earlier is None or log is None or self._is_old(log):
            return
        same_request(earlier.claim, facts.claim)
        raise Claimed(log, earlier.key.conversation_id)

    def _orphans(self) -> list[Session]:
        now, limit_s = time.monotonic(), self.limits.orphan_s
        return [
            session
            for session in self._live.values()
            if 0 < limit_s < session.log.unread_s(now) and session.stopped is None
        ]

    def _is_old(self, log: StreamLog) -> bool:
        return log.done_s(time.monotonic()) >= self.limits.keep_s

    def _forget_old(self) -> None:
        for key, log in self.store.entries():
            if self._is_old(log):
                self._drop(key, log)

    def _drop(self, key: StreamKey, log: StreamLog | None = None) -> None:
        """Forget what is kept for `key`, unless it is not `log`."""
        kept = self.store.local(key)
        if kept is not None and log in (None, kept):
            self.store.remove(key, kept)
            self._room.forget(key, kept)

    def _check_room(self, key: StreamKey) -> None:
        """Refuse one more session of a key that has too many, or too much in them."""
        n_live = sum(each.owner == key.owner for each in self._live if each != key)
        self._room.check_number(n_live)
        if self._room.is_full(key, n_live, self.store.local(key)):
            self._forget_old()
        self._room.check_bytes(key, n_live, self.store.local(key))
