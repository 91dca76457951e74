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


def _flags(model: Path, threads: int, n_slots: int) -> list[str]:
    n_ctx = 1024 * n_slots
    flags = f"-c {n_ctx} -np {n_slots} -t {threads} -tb {threads}".split()
    return ["-m", str(model), *flags]


def ours(model: Path, threads: int, n_slots: int, library: Path) -> Server:
    """Return our server, on the given library."""
    command = [sys.executable, "-m", "api", "serve", *_flags(model, threads, n_slots)]
    return Server("llamactypes", command, {"LLAMACTYPES_LIB": str(library)})


def llama_server(model: Path, threads: int, n_slots: int, binary: Path) -> Server:
    """Return llama-server; its folder holds the library it runs on."""
    command = [str(binary), *_flags(model, threads, n_slots), "--cache-ram", "0"]
    return Server("llama-server", command, {})
