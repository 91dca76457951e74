"""What an earlier process made of a stream, for the one that goes on with it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from api.streams.recorder import recorded
from api.streams.stores.written import Written
from llamactypes.engine import Delta
from llamactypes.engine.request import GenerationRequest

__all__ = ("RESUMPTION", "Resumption", "request_record")

RESUMPTION = "llamactypes.resumption"
"""Where a request that this process sends itself carries one (``environ``)."""

_BREAK = b"\n\n"
_PROBS = ("n_probs", "logprobs", "top_logprobs")


def request_record(path: str, body: Mapping[str, Any], id: str, created: int) -> bytes:
    """Return what a request is written down as: its body, and none of its headers."""
    value = {"path": path, "body": body, "id": id, "created": created}
    return json.dumps(value).encode()


@dataclass(frozen=True, slots=True)
class Resumption:
    """An unfinished stream, read."""

    written: Written
    path: str
    body: dict[str, Any]
    id: str
    """Of the reply."""
    created: int
    """Of the reply."""
    n_events: int
    """Which are in the log."""
    deltas: dict[int, list[Delta]] = field(default_factory=dict)
    """What each generation has said."""
    is_deterministic: bool = False
    """The server computes the same for the same request, however it is cut."""

    @staticmethod
    def of(written: Written, *, is_deterministic: bool = False) -> Resumption | None:
        """Return how to go on; None: it cannot be gone on with, unnoticed by readers.

        A begun stream of ``/v1/responses`` has ids of its own in its events, and
        logprobs are not written down.
        """
        if not written.request:
            return None
        request = json.loads(written.request)
        made = Resumption(
            written,
            request["path"],
            request["body"],
            request["id"],
            request["created"],
            written.log.n_events,
            recorded(written.deltas),
            is_deterministic,
        )
        is_fixed = request["path"].rstrip("/").endswith("/responses")
        has_probs = any(request["body"].get(name) for name in _PROBS)
        return None if made.n_events and (is_fixed or has_probs) else made

    @property
    def is_exact(self) -> bool:
        """Whether what follows is surely what an uninterrupted run would have said.

        Chance must have no part in it, neither in drawing nor in rounding.
        """
        temperature = self.body.get("temperature")
        is_greedy = isinstance(temperature, int | float) and temperature <= 0
        return not self.deltas or (is_greedy and self.is_deterministic)

    def seam(self) -> bytes:
        """Return the comment that stands where one process went on for another."""
        return b": continued exact=%s\n" % (b"true" if self.is_exact else b"false")

    def requests(self, requests: list[GenerationRequest]) -> list[GenerationRequest]:
        """Return the generations to submit: each goes on where it was."""
        return [
            replace(each, generated=self._tokens(i)) for i, each in enumerate(requests)
        ]

    def rest_of(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield events that are not in the log; the others are made again first."""
        n_known = self.n_events
        for piece in pieces:
            blocks = piece.split(_BREAK)
            n_skipped = min(n_known, len(blocks) - 1)
            n_known -= n_skipped
            rest = _BREAK.join(blocks[n_skipped:])
            if rest and not n_known:
                yield rest

    def _tokens(self, index: int) -> tuple[int, ...]:
        deltas = self.deltas.get(index, ())
        return tuple(token for delta in deltas for token in delta.tokens)
