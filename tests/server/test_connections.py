"""What a connection lives through: errors, pipelines, late requests, UNIX sockets."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import random
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.app_server import AppServer
from tests.support.fake_engine import FakeEngine, delta, result
from tests.support.waiting import eventually

COMPLETION = b'{"prompt": "a", "n_predict": 2}'


@pytest.fixture(scope="module")
def server() -> Iterator[AppServer]:
    with AppServer(api_keys=("secret",), cors_origins="https://page.example") as server:
        yield server


def request(
    method: str, path: str, body: bytes = b"", *headers: str, key: str = "secret"
) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"X-Api-Key: {key}", *headers]
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join((*lines, "", "")).encode() + body


class Replies:
    """Reads replies that carry their length, one after another."""

    def __init__(self, client: socket.socket) -> None:
        self._client = client
        self._data = b""

    def next(self, *, is_head: bool = False) -> tuple[int, dict[str, str], bytes]:
        while b"\r\n\r\n" not in self._data:
            self._receive()
        head, _, self._data = self._data.partition(b"\r\n\r\n")
        first, *rest = head.decode("latin-1").split("\r\n")
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in rest)}
        length = 0 if is_head else int(headers["content-length"])
        while len(self._data) < length:
            self._receive()
        body, self._data = self._data[:length], self._data[length:]
        return int(first.split()[1]), headers, body

    def is_closed(self) -> bool:
        return self._data == b"" and self._client.recv(100) == b""

    def _receive(self) -> None:
        piece = self._client.recv(65536)
        assert piece, f"closed after {self._data!r}"
        self._data += piece


def test_a_connection_outlives_every_error_of_the_app(server: AppServer) -> None:
    cases = [
        (request("GET", "/nope"), 404),
        (request("DELETE", "/health"), 405),
        (request("POST", "/completion", b"{"), 400),
        (request("POST", "/completion", COMPLETION, key="wrong"), 401),
        (request("POST", "/tokenize", b"{}", "Content-Encoding: br"), 415),
        (request("POST", "/completion", COMPLETION), 200),
    ]
    with server.connection() as client:
        replies = Replies(client)
        for data, status in cases:
            client.sendall(data)
            assert replies.next()[0] == status


def test_pipelined_requests_are_answered_in_order(server: AppServer) -> None:
    with server.connection() as client:
        client.sendall(
            request("POST", "/completion", COMPLETION)
            + request("GET", "/nope")
            + request("HEAD", "/health")
            + request("GET", "/health")
        )
        replies = Replies(client)
        status, _, body = replies.next()
        assert (status, json.loads(body)["content"]) == (200, "ab")
        assert replies.next()[0] == 404
        assert replies.next(is_head=True)[0] == 200
        assert json.loads(replies.next()[2]) == {"status": "ok"}


def test_a_head_request_has_an_errors_headers_and_no_body(server: AppServer) -> None:
    with server.connection() as client:
        replies = Replies(client)
        for path, status in (("/nope", 404), ("/completion", 405), ("/health", 200)):
            client.sendall(request("HEAD", path))
            found, headers, _ = replies.next(is_head=True)
            assert found == status
            assert int(headers["content-length"]) > 0


ORIGIN = "Origin: https://page.example"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (request("POST", "/x", b"", ORIGIN, "Transfer-Encoding: gzip"), 501),
        (request("GET", "/x", b"", ORIGIN, "Content-Length: 99999999999"), 413),
        (request("GET", "/x", b"", ORIGIN, "Content-Length: 1x"), 400),
    ],
)
def test_a_refusal_by_the_server_has_cors_headers_and_an_id(
    server: AppServer, data: bytes, status: int
) -> None:
    data = data.replace(b"Host: x", b"Host: x\r\nX-Request-Id: r-9")
    with server.connection() as client:
        client.sendall(data)
        replies = Replies(client)
        found, headers, body = replies.next()
        assert replies.is_closed()
    assert found == status
    assert headers["access-control-allow-origin"] == "https://page.example"
    assert headers["vary"] == "Origin"
    assert headers["x-request-id"] == "r-9"
    assert json.loads(body)["error"]["code"] == status


def test_anthropics_refusals_carry_their_id_in_the_body(server: AppServer) -> None:
    data = request("POST", "/v1/messages", b"", "Transfer-Encoding: gzip")
    with server.connection() as client:
        client.sendall(data)
        _, headers, body = Replies(client).next()
    assert json.loads(body)["request_id"] == headers["request-id"]


def test_refusals_are_in_the_access_log(
    server: AppServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="llamactypes.access")
    with server.connection() as client:
        client.sendall(request("POST", "/llm/x", b"", "Transfer-Encoding: gzip"))
        Replies(client).next()
    eventually(lambda: "POST /llm/x 501 client=127.0.0.1" in caplog.text)


@pytest.mark.parametrize(
    "part",
    [
        b"POST /completion HTTP/1.1\r\nContent-",
        request("POST", "/tokenize", b"{}")[:-1],
    ],
)
def test_a_request_that_does_not_come_to_its_end_is_408(part: bytes) -> None:
    with AppServer(timeout_s=1) as server, server.connection() as client:
        client.sendall(part)
        replies = Replies(client)
        status, headers, body = replies.next()
        assert status == 408
        assert headers["connection"] == "close"
        assert "--timeout" in json.loads(body)["error"]["message"]
        assert replies.is_closed()


def test_a_unix_socket_serves_beside_an_address(tmp_path: Path) -> None:
    path = tmp_path / "llm.sock"
    with AppServer(None, str(path)) as server:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(20)
            client.connect(str(path))
            replies = Replies(client)
            for data in (request("GET", "/health"), request("GET", "/nope")):
                client.sendall(data)
                assert replies.next()[0] in (200, 404)
        with server.connection() as client:
            client.sendall(request("GET", "/health"))
            assert Replies(client).next()[0] == 200
    assert not path.exists()


def test_a_client_of_a_unix_socket_that_leaves_cancels(tmp_path: Path) -> None:
    path = tmp_path / "llm.sock"
    engine = FakeEngine(script=lambda request: ([delta("a", [1])], None))
    with AppServer(engine, str(path)):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(request("POST", "/completion", COMPLETION))
            eventually(lambda: engine.generations)
        eventually(lambda: engine.cancelled)


def test_the_server_names_itself_and_never_shows_a_traceback() -> None:
    engine = FakeEngine()
    engine.refusal = RuntimeError("secret detail")
    with AppServer(engine) as server, server.connection() as client:
        client.sendall(request("POST", "/completion", COMPLETION))
        status, headers, body = Replies(client).next()
    assert status == 500
    assert headers["server"] == "llamactypes"
    assert not re.search(rb"Traceback|secret|\.py", body)


def test_connections_of_clients_that_send_nonsense_and_leave_are_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with AppServer() as server:
        for _ in range(30):
            with server.connection() as client:
                client.sendall(b"nonsense\r\n\r\n")
        eventually(lambda: server.n_connections() == 0)
    assert not [record for record in caplog.records if record.exc_info], caplog.text


def test_idle_connections_give_way_where_there_may_be_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("api.serving.http_server._connection_limit", lambda: 24)
    engine = FakeEngine(is_manual=True)
    with AppServer(engine) as server, contextlib.ExitStack() as stack:
        busy = stack.enter_context(server.connection())
        busy.sendall(request("POST", "/completion", COMPLETION))
        eventually(lambda: engine.generations)
        idle = [stack.enter_context(server.connection()) for _ in range(60)]
        idle[-1].sendall(request("GET", "/health"))
        assert Replies(idle[-1]).next()[0] == 200
        assert idle[0].recv(1) == b""  # the oldest went first
        engine.generations[0].append(delta("a"), result())
        assert Replies(busy).next()[0] == 200


BYTES = (b"", b"\0", b"\xff", b"\r", b"\n", b"\r\n", b" ", b":", b"\t", b"%", b"-1")
LINES = (
    b"Content-Length: 3", b"Transfer-Encoding: chunked", b"Expect: 100-continue",
    b"Content-Length: -5", b"Content-Length: 1, 2", b"Connection: close", b" folded",
    b"X-Forwarded-For: \xff", b"Host:", b"Transfer-Encoding: chunked, gzip", b"A" * 99,
)  # fmt: skip
STATUSES = {*(200, 400, 401, 404, 405, 408, 413, 415, 429, 431, 501, 503)}


def changed_bytes(chance: random.Random) -> bytes:
    data = chance.choice(
        (
            request("POST", "/completion", COMPLETION),
            request("GET", "/health?a=b", b""),
            b"POST /tokenize HTTP/1.1\r\nX-Api-Key: secret\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        )
    )
    for _ in range(chance.choice((1, 1, 2, 4))):
        at = chance.randrange(len(data) + 1)
        if chance.random() < 0.4:
            head, end, rest = data.partition(b"\r\n")
            data = head + end + chance.choice(LINES) + b"\r\n" + rest
        else:
            data = data[:at] + chance.choice(BYTES) + data[at + chance.choice((0, 1)) :]
    return data


def test_changed_bytes_on_connections_do_no_harm(
    server: AppServer, caplog: pytest.LogCaptureFixture
) -> None:
    statuses = set()
    for n in range(int(os.environ.get("LLAMACTYPES_MUTANTS", "200"))):
        data = changed_bytes(random.Random(n))
        with server.connection() as client:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: client.recv(65536), b""))
        found = re.findall(rb"^HTTP/1\.[01] (\d+) ", answer, re.MULTILINE)
        statuses |= {int(status) for status in found} - {100}
        assert b"Traceback" not in answer, data
        assert statuses <= STATUSES, data
    assert {200, 400} <= statuses
    assert not [record for record in caplog.records if record.exc_info], caplog.text
    with server.connection() as client:
        client.sendall(request("POST", "/completion", COMPLETION))
        assert Replies(client).next()[0] == 200
