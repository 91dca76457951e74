"""Control requests and work in lanes of their own: waitress over an app that hangs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import requests

from api.app import _ROUTES
from api.serving.dispatcher import CONTROL_ACTIONS, CONTROL_PATHS, control_test
from api.serving.http_server import HttpServer
from api.serving.listening import bind_all, urls
from tests.api.conftest import Api
from tests.support.fake_engine import FakeEngine, make_settings
from tests.support.waiting import eventually

SETTINGS = make_settings(threads_http=9, api_prefix="/llm")
N_WORKERS = SETTINGS.n_http_threads


class HangingServer:
    """Looks are answered at once, everything else when `release` is set."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.n_hanging = 0
        sockets = bind_all(["127.0.0.1"], 0)
        (self.url,) = urls(sockets, "/llm")
        self._http = HttpServer(self._app, sockets, SETTINGS)
        self._is_ending = False
        self._loop = threading.Thread(target=self._run)
        self._loop.start()

    def _app(self, environ, start_response):
        if environ["REQUEST_METHOD"] == "POST":
            self.n_hanging += 1
            self.release.wait(20)
        start_response("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    def _run(self) -> None:
        while not self._is_ending:
            self._http.turn(0.05)

    @property
    def n_waiting(self) -> int:
        return len(self._http._dispatcher.queue)

    def post_unread(self, path: str) -> socket.socket:
        host, port = self.url.split("/")[2].split(":")
        client = socket.create_connection((host, int(port)), 20)
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
        client.sendall(head.encode())
        return client

    def close(self) -> None:
        self.release.set()
        self._is_ending = True
        self._loop.join(5)
        self._http.stop_accepting()
        assert self._http.close(5)


@pytest.fixture
def server() -> Iterator[HangingServer]:
    server = HangingServer()
    yield server
    server.close()


def test_looks_are_answered_while_every_worker_hangs_and_the_line_is_full(
    server: HangingServer, caplog: pytest.LogCaptureFixture
) -> None:
    with ExitStack() as stack:
        clients = [
            stack.enter_context(server.post_unread("/llm/completion"))
            for _ in range(2 * N_WORKERS)
        ]
        eventually(lambda: server.n_hanging == N_WORKERS)
        eventually(lambda: server.n_waiting == N_WORKERS)
        error = requests.post(server.url + "/completion", timeout=2)
        assert error.status_code == 429
        assert requests.post(server.url, timeout=2).status_code == 429
        assert caplog.text.count(f"and {N_WORKERS} requests wait for one") == 1
        assert error.headers["Retry-After"] == "1"
        assert error.json()["error"]["type"] == "rate_limit_error"
        busy = requests.post(server.url + "/v1/messages", timeout=2)
        assert (busy.status_code, busy.headers["Retry-After"]) == (529, "1")
        assert busy.json()["error"]["type"] == "overloaded_error"
        for path in ("/health", "/v1/models/", "/slots?x=1"):
            assert requests.get(server.url + path, timeout=2).status_code == 200
        assert requests.options(server.url + "/completion", timeout=2).ok
        assert server.n_hanging == N_WORKERS
        server.release.set()
        assert all(b" 200 OK" in client.recv(100) for client in clients)


def test_what_is_no_request_is_refused_while_every_worker_hangs(
    server: HangingServer,
) -> None:
    with ExitStack() as stack:
        for _ in range(N_WORKERS):
            stack.enter_context(server.post_unread("/llm/completion"))
        eventually(lambda: server.n_hanging == N_WORKERS)
        client = stack.enter_context(server.post_unread("/ HTTP/9 x"))
        assert b" 400 " in client.recv(100)


class Parsed:
    """A request as waitress parsed it."""

    error = None

    def __init__(self, command: str, path: str) -> None:
        self.command = command
        self.path, _, self.query = path.partition("?")


@pytest.mark.parametrize(
    ("command", "path", "expected"),
    [
        ("GET", "/p/health", True),
        ("HEAD", "/p/health", True),
        ("GET", "/p/metrics/", True),
        ("GET", "/p", True),
        ("OPTIONS", "/p/v1/chat/completions", True),
        ("POST", "/p/props", False),
        ("GET", "/health", False),
        ("POST", "/p/v1/chat/completions", False),
        ("GET", "/p/unknown", False),
        ("GET", "/p/v1/responses/resp_1", True),
        ("GET", "/p/responses/resp_1/input_items", True),
        ("DELETE", "/p/v1/responses/resp_1", True),
        ("POST", "/p/v1/responses/resp_1/cancel/", True),
        ("POST", "/p/v1/responses", False),
        ("POST", "/p/v1/responses/input_tokens", False),
        ("GET", "/p/v1/responses/a/b", False),
        ("GET", "/p/v1/models/user/model", True),
        ("GET", "/p/v1/models/", True),
        ("GET", "/p/v1/modelsx", False),
        ("GET", "/p/alive", True),
        ("DELETE", "/v1/responses/resp_1", False),
        ("DELETE", "/p/v1/stream", True),
        ("DELETE", "/p/v1/stream/a::b/c", True),
        ("POST", "/p/v1/streams/lookup", True),
        ("POST", "/p/v1/chat/completions/control", True),
        ("GET", "/p/v1/stream/a", False),
        ("GET", "/p/v1/responses/a?stream=false", True),
        ("GET", "/p/v1/responses/a?starting_after=3&stream=true", False),
        ("GET", "/p/v1/responses/a?stream=tru%65", False),
    ],
)
def test_control_is_what_only_looks(command: str, path: str, expected: bool) -> None:
    assert control_test("/p", ("/alive",))(Parsed(command, path)) is expected


def test_every_route_that_can_be_looked_at_is_control() -> None:
    looks = {path for kind, paths in _ROUTES for path in paths if _can_get(kind)}
    assert looks == set(CONTROL_PATHS)


def _can_get(resource: type) -> bool:
    # A GET that follows a stream is work: the few control workers must stay free.
    return hasattr(resource, "on_get") and not getattr(resource, "follows", False)


@pytest.mark.parametrize("path", CONTROL_PATHS)
def test_every_control_path_is_a_route(path: str) -> None:
    reply = Api(FakeEngine(), metrics=True).get(path)
    assert reply.status_code == 200 or "File Not Found" not in reply.text


def test_every_control_action_is_a_route() -> None:
    routes = {path: kind for kind, paths in _ROUTES for path in paths}
    for method, path in CONTROL_ACTIONS:
        assert hasattr(routes[path], f"on_{method.lower()}")
