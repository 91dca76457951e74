"""Our HTTP server over an app in this process: real sockets without a real engine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from api.app import create_app
from api.serving.http_server import HttpServer
from api.serving.listening import bind_all, urls
from tests.support.fake_engine import FakeEngine, make_settings


class AppServer:
    """A server on a free port, and on whatever `hosts` name besides."""

    def __init__(
        self, engine: FakeEngine | None = None, *hosts: str, **settings: Any
    ) -> None:
        self.engine = engine or FakeEngine()
        self._sockets = bind_all(["127.0.0.1", *hosts], 0)
        chosen = make_settings(**{"threads_http": 9, **settings})
        self.urls = urls(self._sockets)
        self._http = HttpServer(
            create_app(chosen, self.engine),  # type: ignore[arg-type]
            self._sockets,
            chosen,
        )
        self._is_ending = False
        self._loop = threading.Thread(target=self._run)
        self._loop.start()

    @property
    def url(self) -> str:
        return self.urls[0]

    def _run(self) -> None:
        while not self._is_ending:
            self._http.turn(0.02)

    def n_connections(self) -> int:
        return len(self._http._channels())

    @contextmanager
    def connection(self) -> Iterator[socket.socket]:
        """Open a connection that carries nothing yet."""
        host, port = self.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), 20) as client:
            yield client

    def __enter__(self) -> AppServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_ending = True
        self._http.wake()
        self._loop.join(5)
        self._http.stop_accepting()
        assert self._http.close(5)
