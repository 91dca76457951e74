"""waitress, driven one turn at a time so that it can be watched and stopped."""

from __future__ import annotations

import logging
import resource
import socket
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from waitress import wasyncore
from waitress.server import BaseWSGIServer, create_server

from api.http.cors import CorsPolicy
from api.serving.dispatcher import LaneDispatcher, control_test
from api.serving.pressure import Pressure
from api.serving.refusals import BODY_SLACK_BYTES, Channel
from api.serving.unix_socket import remove_file
from api.settings import Settings

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

__all__ = ("HttpServer",)

logger = logging.getLogger("llamactypes.server")

_SWEEP_S = 1.0
_PRESSED_TURN_S = 0.05
"""While there may be no more connections: somebody may wait for the oldest to go."""
_CONNECTION_LIMIT = 4096
_OTHER_FILES = 256
_IDLE_SLACK_S = 3
"""Idle connections live this much longer than a request may take to arrive, so that a
late one is told why its connection ends."""
_SOCKET_OPTIONS = [
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_SNDBUF, 128 << 10),
]
"""The system lets what a client does not read grow to megabytes, and until then nobody
sees that it does not: at the pace of a large model it kept its slot for ten minutes."""
_HIGH_WATERMARK_BYTES = 1 << 20
_CONTROL_THREADS = 4


class HttpServer:
    """The sockets, the I/O loop and the worker threads. Main thread, but for `wake`."""

    def __init__(
        self,
        app: WSGIApplication,
        sockets: Sequence[socket.socket],
        settings: Settings,
    ) -> None:
        self._sockets = list(sockets)
        self._stall_s = settings.write_stall_s
        self._arrival_s = float(settings.timeout_s)
        self._sweep_at = 0.0
        self._map: dict[int, Any] = {}
        others = _workers()
        self._dispatcher = _dispatcher(settings)
        self._workers = [each for each in _workers() if each not in others]
        for group in _by_family(self._sockets):
            create_server(
                app,
                map=self._map,
                sockets=group,
                _dispatcher=self._dispatcher,
                **_adjustments(settings),
            )
        self._listeners = [
            entry for entry in self._map.values() if isinstance(entry, BaseWSGIServer)
        ]
        self._kind = Channel.kind(CorsPolicy.of(settings))
        self._pressure = Pressure(_connection_limit(), self._map)
        for listener in self._listeners:
            listener.channel_class = self._kind
            listener.adj.socket_options = _SOCKET_OPTIONS
            self._pressure.guard(listener)
        self._shares_port = settings.reuse_port

    def turn(self, timeout_s: float) -> None:
        """Wait for sockets at most `timeout_s` and serve what is ready."""
        if not self._pressure.relieve():
            timeout_s = min(timeout_s, _PRESSED_TURN_S)
        wasyncore.loop(timeout=timeout_s, use_poll=True, map=self._map, count=1)
        now = time.time()
        if now >= self._sweep_at:
            self._sweep_at = now + _SWEEP_S
            self._drop_stalled(now)
            for channel in self._channels():
                channel.refuse_late(now, self._arrival_s)

    def wake(self) -> None:
        """End the current wait. Any thread, and signal handlers: it writes one byte."""
        self._listeners[0].pull_trigger()

    def begin_ending(self) -> None:
        """Let each answer end its connection; new ones are still let in, to be told.

        Not where others share the port (--reuse-port): they take the new ones.
        """
        self._kind.is_ending = True
        if self._shares_port:
            for listener in self._listeners:
                if listener.family != socket.AF_UNIX:
                    _close_listener(listener)

    def stop_accepting(self) -> None:
        """Close the listening sockets and the connections that carry no request."""
        for listener in self._listeners:
            _close_listener(listener)
        for channel in self._channels():
            if not _is_busy(channel):
                channel.handle_close()

    def is_busy(self) -> bool:
        """Whether a request is being served or an answer waits to be sent."""
        return any(map(_is_busy, self._channels()))

    def close(self, timeout_s: int) -> bool:
        """Cut what is left, end the workers; return whether all ended in time."""
        for channel in self._channels():
            channel.handle_close()
        dispatcher = self._dispatcher
        dispatcher.shutdown(timeout=timeout_s)
        for worker in self._workers:
            worker.join(0.0 if dispatcher.threads else timeout_s)
        for listener in self._listeners:
            listener.close()
        return not any(worker.is_alive() for worker in self._workers)

    def _channels(self) -> list[Channel]:
        return [entry for entry in self._map.values() if isinstance(entry, Channel)]

    def _drop_stalled(self, now: float) -> None:
        """Close connections whose client has taken nothing for too long.

        waitress lets a worker wait for such a client without end. `last_activity` moves
        whenever bytes are sent or received.
        """
        for channel in self._channels():
            silent_s = now - channel.last_activity
            if channel.total_outbufs_len and silent_s > self._stall_s:
                logger.warning(
                    "dropped a client that read nothing for %d s", int(silent_s)
                )
                channel.handle_close()


def _close_listener(listener: BaseWSGIServer) -> None:
    """Take the address back; idempotent. Connections stay."""
    if not listener.accepting:
        return
    listener.accepting = False
    listener.del_channel()
    if listener.socket is not None:
        remove_file(listener.socket)
        listener.socket.close()


def _by_family(sockets: Sequence[socket.socket]) -> list[list[socket.socket]]:
    """Return addresses and UNIX sockets apart: waitress refuses them together."""
    unix = [each for each in sockets if each.family == socket.AF_UNIX]
    others = [each for each in sockets if each.family != socket.AF_UNIX]
    return [group for group in (others, unix) if group]


def _is_busy(channel: Channel) -> bool:
    return bool(channel.requests or channel.total_outbufs_len)


def _workers() -> list[threading.Thread]:
    """Return the workers of every server in this process."""
    return [
        thread for thread in threading.enumerate() if thread.name.startswith("waitress")
    ]


def _connection_limit() -> int:
    """Return how many connections the descriptors of this process allow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTION_LIMIT + _OTHER_FILES
    if 0 <= soft < wanted:
        soft = wanted if hard < 0 else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return _CONNECTION_LIMIT if soft < 0 else max(16, soft - _OTHER_FILES)


def _dispatcher(settings: Settings) -> LaneDispatcher:
    """Return the lanes; as many may wait for a worker as there are workers."""
    n_work = settings.n_http_threads
    vertex = settings.vertex
    more = (vertex.health_route,) if vertex and vertex.health_route else ()
    is_control = control_test(settings.api_prefix, more)
    return LaneDispatcher(
        is_control, n_control=_CONTROL_THREADS, n_work=n_work, n_line=n_work
    )


def _adjustments(settings: Settings) -> dict[str, Any]:
    """Return waitress's settings; each reason is in docs/serving.md."""
    return {
        "threads": settings.n_http_threads,
        "ident": "llamactypes",
        "channel_request_lookahead": 1,
        "connection_limit": _connection_limit(),
        "asyncore_use_poll": True,
        "backlog": 1024,
        "channel_timeout": settings.timeout_s + _IDLE_SLACK_S,
        "cleanup_interval": max(1, min(30, settings.timeout_s)),
        "max_request_body_size": settings.max_body_bytes + BODY_SLACK_BYTES,
        "outbuf_high_watermark": _HIGH_WATERMARK_BYTES,
        "expose_tracebacks": False,
        "clear_untrusted_proxy_headers": True,
        "log_socket_errors": False,
    }
