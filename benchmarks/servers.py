"""Starts the servers that are compared, on loopback, and stops what it started."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ("Server", "llama_server", "ours")

_START_S = 120.0


class Server:
    """A running server: its name and port."""

    def __init__(self, name: str, command: list[str], env: dict[str, str]) -> None:
        self.name = name
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.process_id = 0
        self._command = [*command, "--host", "127.0.0.1", "--port", str(self.port)]
        self._env = {**os.environ, **env}

    @contextmanager
    def running(self) -> Iterator[Server]:
        """Run it for the length of a with block."""
        process = subprocess.Popen(
            self._command,
            env=self._env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.process_id = process.pid
        try:
            self._wait(process)
            yield self
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _START_S
        url = f"http://127.0.0.1:{self.port}/health"
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise RuntimeError(f"{self.name} ended at start: {self._command}")
            try:
                with urllib.request.urlopen(url, timeout=1) as reply:
                    if reply.status == 200:
                        return
            except OSError:
                time.sleep(0.1)
        raise TimeoutError(f"{self.name} did not become ready in {_START_S} s")


def _flags(model: Path, threads: int, n_slots: int, n_ctx: int) -> list[str]:
    flags = f"-c {n_ctx} -np {n_slots} -t {threads} -tb {threads}".split()
    return ["-m", str(model), *flags]


def ours(model: Path, threads: int, n_slots: int, n_ctx: int, library: Path) -> Server:
    """Return our server, on the given library."""
    flags = _flags(model, threads, n_slots, n_ctx)
    command = [sys.executable, "-m", "api", "serve", *flags]
    return Server("llamactypes", command, {"LLAMACTYPES_LIB": str(library)})


def llama_server(
    model: Path, threads: int, n_slots: int, n_ctx: int, binary: Path
) -> Server:
    """Return llama-server; its folder holds the library it runs on."""
    command = [str(binary), *_flags(model, threads, n_slots, n_ctx)]
    return Server("llama-server", command, {})
