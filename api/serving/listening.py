"""Listening sockets, bound before anything slow: a taken port is said at once."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from api.serving.unix_socket import ListenError, bind_unix, is_unix, remove_file

__all__ = ("ListenError", "bind_all", "close_all", "remove_files", "urls")


def bind_all(
    hosts: Sequence[str], port: int, *, reuse_port: bool = False
) -> list[socket.socket]:
    """Return one bound socket for each host; `port` 0 takes a free one.

    A host that ends in ``.sock`` is the path of a UNIX socket.

    With `reuse_port` other processes that ask for it, too, may have the same port.

    Raises:
        ListenError: An address is unknown, taken or not ours; nothing stays open.
    """
    if port == 0 and sum(not is_unix(host) for host in hosts) > 1:
        raise ListenError("--port 0 needs a single --host: each would get its own port")
    if not hosts:
        raise ListenError("--host names no address")
    bound: list[socket.socket] = []
    try:
        bound.extend(_bind(host, port, reuse_port) for host in hosts)
    except ListenError:
        close_all(bound)
        raise
    return bound


def remove_files(sockets: Sequence[socket.socket]) -> None:
    """Remove the files of UNIX sockets, and nothing else."""
    for each in sockets:
        remove_file(each)


def close_all(sockets: Sequence[socket.socket]) -> None:
    """Give the addresses back."""
    remove_files(sockets)
    for each in sockets:
        each.close()


def _bind(host: str, port: int, reuse_port: bool) -> socket.socket:
    if is_unix(host):
        return bind_unix(host)
    family, address = _resolve(host, port)
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse_port:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise ListenError(
            f"cannot listen on {host} port {port}: {error.strerror}; "
            "choose another with --port or --host"
        ) from None
    return listener


def _resolve(host: str, port: int) -> tuple[int, tuple[object, ...]]:
    """Return family and address; of several the first, IPv4 before IPv6."""
    try:
        found = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        raise ListenError(f"--host {host} is not an address: {error}") from None
    found.sort(key=lambda entry: entry[0] != socket.AF_INET)
    return found[0][0], found[0][4]


def urls(sockets: Sequence[socket.socket], prefix: str = "") -> list[str]:
    """Return the address of each socket as a person would open it."""
    return [_url(listener.getsockname(), prefix) for listener in sockets]


def _url(address: tuple[str, int] | str, prefix: str) -> str:
    if isinstance(address, str):
        return f"unix:{address}"
    host, port = address[:2]
    return (
        f"http://[{host}]:{port}{prefix}"
        if ":" in host
        else f"http://{host}:{port}{prefix}"
    )
