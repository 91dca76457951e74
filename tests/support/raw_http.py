"""Clients below HTTP: what they send, and when they read, is the test's."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SMALL_BUFFER = 4096


def address(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").rpartition(":")
    return host, int(port)


@contextmanager
def raw_connection(url: str, *, timeout_s: float = 10) -> Iterator[socket.socket]:
    """Open a connection whose kernel holds little for it."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        client.settimeout(timeout_s)
        client.connect(address(url))
        yield client


def request_bytes(path: str, body: Any, *headers: str) -> bytes:
    """Return a POST with a JSON body."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = (f"POST {path} HTTP/1.1", "Host: x", *headers)
    head = "\r\n".join((*lines, f"Content-Length: {len(text)}", "", ""))
    return head.encode() + text


@contextmanager
def raw_request(
    url: str, path: str, body: Any, *headers: str
) -> Iterator[socket.socket]:
    """A client that sent its request and has read nothing."""
    with raw_connection(url) as client:
        client.sendall(request_bytes(path, body, *headers))
        yield client


def receive_reply(client: socket.socket) -> tuple[bytes, bytes]:
    """Return head and body of one reply that carries its length."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = client.recv(65536)
        assert piece, f"closed after {data!r}"
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    (length,) = re.findall(rb"Content-Length: (\d+)", head)
    while len(body) < int(length):
        body += client.recv(65536)
    return head, body


def status_of(head: bytes) -> int:
    return int(head.split(b" ", 2)[1])


def read_to_end(client: socket.socket) -> bytes:
    """Return all that comes until the other side closes, or resets."""
    data = b""
    try:
        while piece := client.recv(65536):
            data += piece
    except ConnectionResetError:
        return data
    return data
