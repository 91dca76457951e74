"""Whose stream it is, in files and on other servers. Pure."""

from __future__ import annotations

import hashlib

__all__ = ("owner_digest",)


def owner_digest(api_key: str) -> str:
    """Return what stands for the owner of an API key, from which it cannot be read.

    Keys that could be guessed could be found by trying: they should be random.
    """
    return hashlib.blake2b(
        api_key.encode("utf-8", "replace"), digest_size=16, person=b"llamactypes-own"
    ).hexdigest()
