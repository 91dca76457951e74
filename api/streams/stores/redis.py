"""Logs in memory and in Redis: several servers behind one balancer read them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from functools import partial
from typing import Any

from api.streams.claims import same_request
from api.streams.log import StreamLog
from api.streams.stores.memory import MemoryStore
from api.streams.stores.reading import ReadableLog
from api.streams.stores.redis_client import connect, redis_errors
from api.streams.stores.redis_keys import (
    RemoteState,
    claim_name,
    names_of,
    stream_names,
)
from api.streams.stores.redis_log import RemoteLog
from api.streams.stores.redis_mirror import Mirror
from api.streams.stores.store import Claim, Claimed, LogFacts, StreamKey
from api.streams.stores.trouble import Trouble

__all__ = ("RedisStore",)

_LEASE_MS = 5000
_TTL_S = 3600
_STOP_S = 60
_CLOSE_S = 2.0


class RedisStore(MemoryStore):
    """Writes and reads its own logs in memory; a thread tells Redis of them.

    Logs of other servers are read from Redis. While it is gone every server has its own
    streams only; what was generated meanwhile is told when it is back.
    """

    def __init__(self, url: str, keep_s: float) -> None:
        """Create a client; it connects when there is something to tell or to ask.

        Args:
            url: ``redis://…``, ``rediss://…`` or ``unix://…``.
            keep_s: How long ended logs are kept.
        """
        super().__init__()
        self._client = connect(url)
        self._errors = redis_errors()
        self._keep_s = keep_s
        self.trouble = Trouble("--stream-store redis")
        self._mirror = Mirror(
            self._client, keep_s, self._errors, self.trouble, self._hear_stop
        )
        self._on_stop: Callable[[StreamLog, str], object] = _nobody

    def listen(self, on_stop: Callable[[StreamLog, str], object]) -> None:
        """Call `on_stop` with a log that another server wants to end, and why."""
        self._on_stop = on_stop

    def announce(self, log: StreamLog) -> None:
        """Make it the log of its conversation on all servers."""
        facts = self._facts_of(log)
        if facts is None:
            return
        token = secrets.token_hex(16)
        try:
            self._describe(token, facts, log)
            if facts.claim is not None:
                self._claim(token, facts, facts.claim)
            self._take_place(token, facts, log)
        except self._errors as error:
            self.trouble.note(error)
        self._mirror.add(token, facts, log)

    def find(self, key: StreamKey) -> ReadableLog | None:
        """Return the log of `key`: ours, or what another server has told."""
        local = self.local(key)
        try:
            token = self._client.get(stream_names(key)[0])
            own = None if local is None else self._mirror.token_of(local)
            if token is None:
                is_stopped = own and self._client.exists(names_of(own).stop)
                return None if is_stopped else local
            if own == token.decode():
                return local
            return self._remote(token.decode())
        except self._errors as error:
            self.trouble.note(error)
            return local

    def lookup(
        self, owner: str | None, is_wanted: Callable[[str], bool]
    ) -> list[tuple[str, ReadableLog]]:
        """Return an owner's logs whose ids are wanted, of all servers."""
        index = stream_names(StreamKey(owner, ""))[1]
        try:
            ids = [id.decode() for id in self._client.zrange(index, 0, -1)]
        except self._errors as error:
            self.trouble.note(error)
            return super().lookup(owner, is_wanted)
        found: list[tuple[str, ReadableLog]] = []
        for id in filter(is_wanted, ids):
            log = self.find(StreamKey(owner, id))
            if log is None:
                self._try(partial(self._client.zrem, index, id))
            else:
                found.append((id, log))
        return found

    def remove(self, key: StreamKey, log: StreamLog) -> None:
        """Forget `log`; its readers elsewhere still hear of its end."""
        super().remove(key, log)
        self._mirror.forget(log)

    def stop(self, key: StreamKey) -> None:
        """End the conversation's generation on the server that has it."""
        stream, owner = stream_names(key)
        token = self._try(lambda: self._client.get(stream))
        if token is not None:
            reason = "the conversation was stopped"
            self._try(lambda: self._order_stop(token.decode(), reason))
            self._try(lambda: self._client.delete(stream))
        self._try(lambda: self._client.zrem(owner, key.conversation_id))

    @property
    def n_errors(self) -> int:
        """How often Redis did not answer."""
        return self.trouble.n_errors

    def close(self) -> None:
        """Tell what is left, and disconnect."""
        self._mirror.close(_CLOSE_S)
        self._client.close()

    # -- helpers -----------------------------------------------------------------------

    def _take(self, key: StreamKey) -> StreamLog | None:
        log = super()._take(key)
        if log is not None:
            self._mirror.forget(log)
        return log

    def _hear_stop(self, log: StreamLog, reason: str) -> None:
        self._on_stop(log, reason)

    def _remote(self, token: str) -> RemoteLog | None:
        text = self._client.get(names_of(token).state)
        if text is None:
            return None
        state = RemoteState.decode(text)
        return RemoteLog(self._client, token, state, self._errors, self.trouble)

    def _claim(self, token: str, facts: LogFacts, claim: Claim) -> None:
        """Be the one that answers this request.

        Raises:
            Claimed: Another server is.
            ClaimConflict: The key belongs to another request.
        """
        name = claim_name(facts.key.owner, claim.key)
        value = json.dumps([claim.fingerprint, facts.key.conversation_id, token])
        if self._client.set(name, value, nx=True, ex=self._ttl_s):
            return
        earlier = self._client.get(name)
        if earlier is not None:
            fingerprint, conversation_id, other = json.loads(earlier)
            is_stopped = self._client.exists(names_of(other).stop)
            log = None if is_stopped else self._remote(other)
            if log is not None:
                same_request(Claim(claim.key, fingerprint), claim)
                raise Claimed(log, conversation_id)
        self._client.set(name, value, ex=self._ttl_s)

    def _describe(self, token: str, facts: LogFacts, log: StreamLog) -> None:
        """Let whoever knows the token read the log, of which there is nothing yet."""
        names = names_of(token)
        state = RemoteState(facts, log.started_at)
        pipe = self._client.pipeline(transaction=True)
        pipe.set(names.state, state.encode(), ex=self._ttl_s)
        pipe.set(names.lease, 1, px=_LEASE_MS)
        pipe.execute()

    def _take_place(self, token: str, facts: LogFacts, log: StreamLog) -> None:
        """Be the log of the conversation on all servers; the one before ends."""
        stream, owner = stream_names(facts.key)
        pipe = self._client.pipeline(transaction=True)
        pipe.zadd(owner, {facts.key.conversation_id: log.started_at})
        pipe.expire(owner, self._ttl_s)
        pipe.set(stream, token, ex=self._ttl_s, get=True)
        earlier = pipe.execute()[-1]
        if earlier is not None:
            self._order_stop(earlier.decode(), "another request took its place")

    def _order_stop(self, token: str, reason: str) -> None:
        self._client.set(names_of(token).stop, reason, ex=_STOP_S)

    def _try(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except self._errors as error:
            self.trouble.note(error)
            return None

    @property
    def _ttl_s(self) -> int:
        return max(_TTL_S, 2 * int(self._keep_s))


def _nobody(log: StreamLog, reason: str) -> None:
    """Nobody listens."""
