"""A directory of files that belongs to one server at a time."""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from api.streams.stores.store import StreamKey

__all__ = ("DirectoryTaken", "StreamDirectory")

_SUFFIX = ".log"


class DirectoryTaken(OSError):  # noqa: N818 - what happened to it
    """Another server keeps its streams there."""


class StreamDirectory:
    """Names of files, and the lock that makes them ours. One thread at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    @property
    def is_ours(self) -> bool:
        """Whether this process may write there."""
        return self._lock is not None

    def take(self) -> None:
        """Create the directory unless it is there, and make it ours.

        Raises:
            DirectoryTaken: Another server has it.
            OSError: It cannot be created or written.
        """
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.chmod(0o700)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        lock = os.open(self.path / "lock", flags, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(lock)
            raise DirectoryTaken(f"another server keeps streams in {self.path}") from (
                error
            )
        except OSError:
            os.close(lock)
            raise
        self._lock = lock

    def release(self) -> None:
        """Let another server have it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def new_file(self, key: StreamKey) -> Path:
        """Return a name for a log of `key`, of which the name tells nothing."""
        text = f"{key.owner or ''}\0{key.conversation_id}"
        name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:40]
        return self.path / f"{name}.{secrets.token_hex(8)}{_SUFFIX}"

    def files(self) -> Iterator[Path]:
        """Yield what lies there; what a rewrite left behind is removed."""
        for path in sorted(self.path.iterdir()):
            if path.suffix == ".new":
                path.unlink(missing_ok=True)
            elif path.suffix == _SUFFIX and path.is_file() and not path.is_symlink():
                yield path
