"""Where ``--stream-store`` says that streams are kept. Pure."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

__all__ = ("MEMORY", "directory_of", "is_redis", "read_place")

MEMORY = "memory"
_FILE = "file:"
_REDIS = ("redis", "rediss", "unix")


def read_place(text: str) -> str:
    """Return the text of a flag if it names a place.

    Raises:
        ValueError: It does not.
    """
    if text == MEMORY or is_redis(text) or (directory_of(text) or Path()).name:
        return text
    raise ValueError(text)


def directory_of(place: str) -> Path | None:
    """Return the directory of files; None: they are not kept in files."""
    return Path(place.removeprefix(_FILE)) if place.startswith(_FILE) else None


def is_redis(place: str) -> bool:
    """Whether a Redis server keeps them."""
    url = urlsplit(place)
    return url.scheme in _REDIS and bool(url.netloc or url.path)
