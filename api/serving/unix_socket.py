"""Listening on a UNIX socket: a file that must not be another server's."""

from __future__ import annotations

import contextlib
import os
import socket
import stat

from llamactypes.errors import LlamaError

__all__ = ("ListenError", "bind_unix", "is_unix", "remove_file")

_BACKLOG = 1024


class ListenError(LlamaError):
    """An address cannot be listened on."""


def is_unix(host: str) -> bool:
    """Whether `host` names a UNIX socket: llama-server's rule."""
    return host.endswith(".sock")


def bind_unix(path: str) -> socket.socket:
    """Return a listening socket at `path`; a file that a dead server left is replaced.

    Raises:
        ListenError: Somebody listens there, it is no socket, or the folder refuses.
    """
    _clear(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(path)
        listener.listen(_BACKLOG)
    except (OSError, ValueError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise ListenError(f"cannot listen on {path}: {reason}") from None
    return listener


def remove_file(listener: socket.socket) -> None:
    """Remove the file of a listening UNIX socket; nothing for others. Before closing.

    Somebody may have removed it, or put another in its place, meanwhile.
    """
    if listener.family != socket.AF_UNIX:
        return
    with contextlib.suppress(OSError):
        os.unlink(listener.getsockname())


def _clear(path: str) -> None:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(mode):
        raise ListenError(f"cannot listen on {path}: the file is no socket")
    if _is_served(path):
        raise ListenError(f"cannot listen on {path}: another server listens there")
    with contextlib.suppress(OSError):  # bind says what is wrong
        os.unlink(path)


def _is_served(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            return False
        except OSError:  # busy, or not ours to ask: nobody's to remove
            return True
        return True
