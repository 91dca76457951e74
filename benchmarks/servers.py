"""Starts the servers that are compared, on loopback, and stops what it started."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.client import Request

__all__ = ("Server", "Shape", "llama_cpp_python", "llama_server", "ours", "xllamacpp")

_START_S = 120.0
_STOP_S = 15.0
_LOG_TAIL = 1500
_RUNNER = Path(__file__).with_name("xllamacpp_runner.py")
_SAMPLING = {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}


@dataclass(frozen=True, slots=True)
class Shape:
    """What every server gets the same."""

    model: Path
    threads: int
    n_slots: int
    n_ctx: int
    """Tokens of all slots together."""
    keeps_prompts: bool = True
    """Prompts whose slot is taken go to RAM, as by default: not where memory is
    weighed, for they are a KV cache, too."""

    def flags(self) -> list[str]:
        """Return llama-server's flags."""
        flags = f"-c {self.n_ctx} -np {self.n_slots} -t {self.threads}"
        flags += "" if self.keeps_prompts else " --cache-ram 0"
        return ["-m", str(self.model), *flags.split(), "-tb", str(self.threads)]


class Server:
    """A server of this run: its name, port and process."""

    def __init__(
        self,
        name: str,
        command: list[str],
        env: Mapping[str, str] | None = None,
        ready_path: str = "/health",
    ) -> None:
        self.name = name
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port: int = probe.getsockname()[1]
        self.process_id = 0
        """0 while it does not run."""
        self.command = [*command, "--host", "127.0.0.1", "--port", str(self.port)]
        self._env = {**os.environ, **(env or {})}
        self._url = f"http://127.0.0.1:{self.port}{ready_path}"

    def adapt(self, request: Request) -> Request:
        """Say `request` in this server's words."""
        return request

    @contextmanager
    def running(self) -> Iterator[Server]:
        """Run it for the length of a with block.

        Raises:
            RuntimeError: It ended at its start; the message has the end of its log.
            TimeoutError: It did not become ready.
        """
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(
                self.command,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            self.process_id = process.pid
            try:
                self._wait(process, log)
                yield self
            finally:
                self.process_id = 0
                _stop(process)

    def _wait(self, process: subprocess.Popen[bytes], log: Any) -> None:
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise RuntimeError(
                    f"{self.name} ended at its start with status {process.returncode}: "
                    f"{' '.join(self.command)}\n{_tail(log)}"
                )
            if _answers(self._url):
                return
            time.sleep(0.1)
        raise TimeoutError(
            f"{self.name} did not become ready in {_START_S} s\n{_tail(log)}"
        )


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as reply:
            return bool(reply.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def _tail(log: Any) -> str:
    log.seek(0)
    text: str = log.read().decode(errors="replace")
    return text[-_LOG_TAIL:]


class _LlamaCppPythonServer(Server):
    """It reports usage only for replies that are no stream, so it streams nothing.

    That is less work for it. It answers one request at a time and may stop at an
    end-of-generation token: forbidding one would run a Python function per token.
    """

    def adapt(self, request: Request) -> Request:
        path, body = request
        kept = ("prompt", "messages", "max_tokens", "seed")
        same = {key: body[key] for key in kept if key in body}
        return path, {**same, **_SAMPLING, "repeat_penalty": 1.0, "stream": False}


def ours(shape: Shape, library: Path | None) -> Server:
    """Return our server on `library`; None: the one it finds itself."""
    command = [sys.executable, "-m", "api", "serve", *shape.flags()]
    env = {"LLAMACTYPES_LIB": str(library)} if library else {}
    return Server("llamactypes", command, env)


def llama_server(shape: Shape, binary: Path) -> Server:
    """Return llama-server; its folder holds the library it runs on."""
    return Server("llama-server", [str(binary), *shape.flags()])


def xllamacpp(shape: Shape, python: Path) -> Server:
    """Return llama-server inside the Python package xllamacpp."""
    command = [str(python), str(_RUNNER), *shape.flags()]
    return Server("xllamacpp", command)


def llama_cpp_python(shape: Shape, python: Path) -> Server:
    """Return the server of llama-cpp-python, which has one sequence: one slot's share.

    A new request would interrupt the running one by default; that is switched off.
    """
    flags = {
        "--model": shape.model,
        "--n_ctx": shape.n_ctx // shape.n_slots,
        "--n_threads": shape.threads,
        "--n_threads_batch": shape.threads,
        "--interrupt_requests": False,
    }
    words = [str(word) for pair in flags.items() for word in pair]
    command = [str(python), "-m", "llama_cpp.server", *words]
    return _LlamaCppPythonServer("llama-cpp-python", command, {}, "/v1/models")
