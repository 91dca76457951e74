"""A real redis-server on loopback, started and ended by a test."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path
from types import TracebackType

import pytest

from tests.support.waiting import eventually

_PROGRAM = shutil.which("redis-server")


def require_redis() -> None:
    """Skip a test where there is no Redis."""
    if _PROGRAM is None:
        pytest.skip("no redis-server here: apt-get install redis-server")
    if importlib.util.find_spec("redis") is None:
        pytest.skip("the package redis is not installed: llamactypes[redis]")


class RedisServer:
    """One server on a free port, without any file."""

    def __init__(self, folder: Path) -> None:
        require_redis()
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it with nothing in it."""
        assert _PROGRAM is not None
        options = ("--port", str(self.port), "--bind", "127.0.0.1", "--save", "")
        more = ("--appendonly", "no", "--dir", str(self._folder))
        self._process = subprocess.Popen(
            [_PROGRAM, *options, *more], stdout=subprocess.DEVNULL
        )
        eventually(self._answers, 10)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as client:
                client.sendall(b"PING\r\n")
                return client.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def freeze(self) -> None:
        """Let it answer nothing until `thaw`."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it answer again."""
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        """End it; what it held is gone."""
        process, self._process = self._process, None
        if process is not None:
            os.kill(process.pid, signal.SIGCONT)
            process.terminate()
            process.wait(10)

    def _signal(self, number: int) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def __enter__(self) -> RedisServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
