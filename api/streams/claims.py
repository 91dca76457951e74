"""Idempotency keys: which request each of them was first sent with. Pure."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from api.protocol.invalid import InvalidRequest
from api.streams.stores.store import Claim

__all__ = ("ClaimConflict", "claim_of", "same_request")


class ClaimConflict(InvalidRequest):
    """An idempotency key came again with another request."""

    def __init__(self) -> None:
        # Not 409, which official clients try again.
        super().__init__(
            "this Idempotency-Key was sent with another request before: send the same "
            "path and body to get its answer, or a new key for a new one",
            "Idempotency-Key",
            code="idempotency_key_reused",
            status=422,
        )


def claim_of(key: str, path: str, body: Any) -> Claim:
    """Return the claim of a request: white space and the order of keys do not count."""
    text = json.dumps(body, sort_keys=True, ensure_ascii=True, default=str)
    fingerprint = hashlib.sha256(f"{path}\n{text}".encode()).hexdigest()
    return Claim(hashlib.sha256(key.encode()).hexdigest(), fingerprint)


def same_request(earlier: Claim | None, claim: Claim) -> None:
    """Raise ClaimConflict unless both are of one request."""
    if earlier is None or earlier.fingerprint != claim.fingerprint:
        raise ClaimConflict
