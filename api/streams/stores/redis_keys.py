"""What streams are called in Redis, and the values there. Pure."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from api.streams.stores.store import LogFacts, StreamKey
from api.streams.stores.written import facts_from, facts_value

__all__ = ("Names", "RemoteState", "claim_name", "names_of", "stream_names")

_PREFIX = "llamactypes:"


@dataclass(frozen=True, slots=True)
class Names:
    """Redis keys of one log; each log of a conversation has a token of its own."""

    state: str
    """JSON: a `RemoteState`."""
    data: str
    """Stream: pieces of the log, their ids are the offsets behind them."""
    lease: str
    """There as long as the server that fills it lives."""
    stop: str
    """There when it shall end: the reason."""
    read: str
    """There as long as somebody reads on another server."""
    snapshot: str
    """Hash: the snapshot, and the offset where to read on after it."""


def names_of(token: str) -> Names:
    """Return the names of the log with this token."""
    return Names(
        *(
            f"{_PREFIX}{token}:{kind}"
            for kind in ("state", "data", "lease", "stop", "read", "snapshot")
        )
    )


def stream_names(key: StreamKey) -> tuple[str, str]:
    """Return where the token of a conversation is, and the owner's set of ids."""
    text = f"{key.owner or ''}\0{key.conversation_id}"
    name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]
    return f"{_PREFIX}stream:{name}", f"{_PREFIX}owner:{key.owner or ''}"


def claim_name(owner: str | None, claim_key: str) -> str:
    """Return where an idempotency key leads to its conversation."""
    return f"{_PREFIX}claim:{owner or ''}:{claim_key}"


@dataclass(slots=True)
class RemoteState:
    """What other servers know of a log besides its bytes."""

    facts: LogFacts
    started_at: int
    last_event: str = ""
    """What readers get when its server is gone."""
    completed_at: int = 0
    is_begun: bool = False
    is_done: bool = False
    is_broken: bool = False
    error: dict[str, Any] | None = None
    first: int = 0
    n_total: int = 0
    n_events: int = 0
    crc: int = 0
    progress: dict[str, Any] = field(default_factory=dict)

    def encode(self) -> str:
        """Return it as JSON."""
        value = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps({**value, "facts": facts_value(self.facts)})

    @staticmethod
    def decode(text: str | bytes) -> RemoteState:
        """Return what `encode` was called on."""
        value = json.loads(text)
        return RemoteState(**{**value, "facts": facts_from(value["facts"])})
