from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from benchmarks.servers import Server

SERVE = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass

HTTPServer(("127.0.0.1", int(sys.argv[-1])), Handler).serve_forever()
"""


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_server_runs_inside_its_block_and_not_after_it():
    server = Server("tiny", [sys.executable, "-c", SERVE])
    with server.running() as running:
        assert is_open(running.port)
        assert Path(f"/proc/{running.process_id}").exists()
    assert server.process_id == 0
    assert not is_open(server.port)


def test_a_server_that_ends_at_its_start_shows_its_log():
    command = [sys.executable, "-c", "raise SystemExit('no such model')"]
    with (
        pytest.raises(RuntimeError, match="no such model"),
        Server("broken", command).running(),
    ):
        pass
