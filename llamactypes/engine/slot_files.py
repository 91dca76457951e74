"""A folder of saved slots: safe names, whole files. Any thread.

llama-server's files, both ways: the head with the tokens (`llamactypes.state_file`),
the library's state, and after it the checkpoints of memory that cannot be cut.
"""

from __future__ import annotations

import os
import stat
import struct
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from llamactypes.engine.prefixes.checkpoints import Checkpoint, Checkpoints
from llamactypes.engine.prefixes.state_cache import SavedState
from llamactypes.errors import StateError
from llamactypes.state import BUFFER_HEAD_BYTES
from llamactypes.state_file import pack_head, unpack_head

__all__ = ("SlotFile", "SlotFiles", "pack_checkpoints", "unpack_checkpoints")

_MOST_NAME_BYTES = 255
_FORBIDDEN = frozenset('/\\:*?"<>|\u2215\u2216\uff0e\ufffd\ufeff')
_DEVICES = frozenset(["con", "prn", "aux", "nul"]) | {
    f"{name}{number}" for name in ("com", "lpt") for number in range(1, 10)
}
_CHECKPOINTS = struct.Struct("=III")
_CHECKPOINT = struct.Struct("=qiiQ")
_SIZE = struct.Struct("=Q")
_CHECKPOINTS_MAGIC = 0x504B4353  # server-context.cpp, SLOT_CKPT_MAGIC
_CHECKPOINTS_VERSION = 1


class SlotFile(NamedTuple):
    """A file that was read."""

    tokens: list[int]
    data: bytearray
    """The whole file."""
    start: int
    """Where the library's state begins in it."""


class SlotFiles:
    """Reads and writes files of one folder, and of no other place."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)

    @staticmethod
    def check(name: str) -> None:
        """Refuse what could name something outside of a folder, on any system.

        Raises:
            ValueError: With the reason.
        """
        _check_name(name)

    def write(self, name: str, saved: SavedState) -> int:
        """Write a slot's state under `name`, whole or not at all; return its bytes.

        A file of that name is replaced in one step.

        Raises:
            ValueError: `name` is not allowed.
            StateError: It cannot be written.
        """
        path = self._path(name)
        tail = pack_checkpoints(saved.checkpoints)
        body = memoryview(saved.data)[BUFFER_HEAD_BYTES:]
        parts = (pack_head(saved.tokens), body, tail)
        try:
            return _write(path, parts)
        except OSError as error:
            raise StateError(f"{name} cannot be written: {error.strerror}") from None

    def read(self, name: str) -> SlotFile:
        """Read a file.

        Raises:
            ValueError: `name` is not allowed.
            StateError: It is not there, or it is no slot's file.
        """
        path = self._path(name)
        try:
            data = _read(path)
        except OSError as error:
            raise StateError(f"{name} cannot be read: {error.strerror}") from None
        try:
            tokens, start = unpack_head(data)
        except StateError as error:
            raise StateError(f"{name} cannot be used: {error}") from None
        return SlotFile(tokens, data, start)

    def _path(self, name: str) -> Path:
        self.check(name)
        path = self._folder / name
        if path.is_symlink():
            raise ValueError(
                "Invalid filename: it is a symbolic link, which may lead out of the "
                "folder of --slot-save-path"
            )
        return path


def _check_name(name: str) -> None:
    if not name or len(name.encode("utf-8", "surrogatepass")) > _MOST_NAME_BYTES:
        raise ValueError(
            f"Invalid filename: it must have 1 to {_MOST_NAME_BYTES} bytes"
        )
    bad = [char for char in name if char in _FORBIDDEN or not _is_text(ord(char))]
    if bad:
        raise ValueError(f"Invalid filename: it contains {bad[0]!a}")
    if name[0] == " " or name[-1] in " ." or ".." in name:
        raise ValueError(
            "Invalid filename: no space at either end, no dot at the end, no two dots"
        )
    if name.partition(".")[0].strip().lower() in _DEVICES:
        raise ValueError("Invalid filename: some systems give this name to a device")


def _is_text(code: int) -> bool:
    is_control = code < 0x20 or 0x7F <= code < 0xA0
    return not is_control and not 0xD800 <= code < 0xE000


def _write(path: Path, parts: Iterable[bytes | bytearray | memoryview]) -> int:
    """Write beside `path` and put it in its place."""
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            for data in parts:
                file.write(data)
            file.flush()
            os.fsync(handle)
            size = file.tell()
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise
    return size


def _read(path: Path) -> bytearray:
    """Read an ordinary file: a pipe would let us wait, a device has no end."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb", buffering=0) as file:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(0, "it is no ordinary file")
        data = bytearray(facts.st_size)
        view, n_read = memoryview(data), 0
        while n_read < len(data):
            n = file.readinto(view[n_read:])
            if not n:
                break
            n_read += n
        view.release()
        del data[n_read:]
    return data


def pack_checkpoints(checkpoints: Checkpoints) -> bytes:
    """Return what llama-server appends to a file for memory that cannot be cut."""
    if not checkpoints:
        return b""
    head = (_CHECKPOINTS_MAGIC, _CHECKPOINTS_VERSION, len(checkpoints))
    parts: list[bytes | bytearray] = [_CHECKPOINTS.pack(*head)]
    for one in checkpoints:
        # llama-server goes back to it when its smallest position is low enough; what
        # counts there is the last, for a recurrent state has no other.
        last = one.n_tokens - 1
        parts.append(_CHECKPOINT.pack(one.n_tokens, last, last, len(one.data)))
        # No draft model's state, and no speculation's.
        parts += (one.data, _SIZE.pack(0), _SIZE.pack(0))
    return b"".join(parts)


def unpack_checkpoints(data: bytearray, start: int) -> tuple[Checkpoints, int]:
    """Return the checkpoints that begin at `start`, and their bytes.

    None where there are none, or they are damaged: everything works without them.
    """
    try:
        found, end = _unpack_checkpoints(data, start)
    except struct.error:
        return (), 0
    return found, end - start


def _unpack_checkpoints(data: bytearray, start: int) -> tuple[Checkpoints, int]:
    magic, version, count = _CHECKPOINTS.unpack_from(data, start)
    if (magic, version) != (_CHECKPOINTS_MAGIC, _CHECKPOINTS_VERSION):
        return (), start
    found: list[Checkpoint] = []
    position = start + _CHECKPOINTS.size
    for _ in range(count):
        n_tokens, _, _, size = _CHECKPOINT.unpack_from(data, position)
        position += _CHECKPOINT.size
        state = bytes(memoryview(data)[position : position + size])
        position += size
        for _ in range(2):
            (more,) = _SIZE.unpack_from(data, position)
            position += _SIZE.size + more
        found.append(Checkpoint(n_tokens, state))
    return tuple(found), position
