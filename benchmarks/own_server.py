"""Our server as a process of its own: started, watched and stopped by its number."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ("OwnServer",)

_START_S = 180.0


class OwnServer:
    """``llamactypes serve`` with some flags, for the length of a with block."""

    def __init__(
        self, flags: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port: int = probe.getsockname()[1]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 -- closed by __exit__
        self._command = [sys.executable, "-m", "api", "serve", *flags]
        self._command += ["--host", "127.0.0.1", "--port", str(self.port)]
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> OwnServer:
        self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        deadline = time.monotonic() + _START_S
        while self.get("/health")[0] != 200:
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the server did not start:\n{self.log[-2000:]}")
            time.sleep(0.1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()
        self._log.close()

    @property
    def process_id(self) -> int:
        """Number of the process."""
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """All that it wrote."""
        return os.pread(self._log.fileno(), 1 << 26, 0).decode(errors="replace")

    def get(self, path: str, timeout_s: float = 30.0) -> tuple[int, Any]:
        """Return (status, body); status 0 when nobody answers. JSON is read."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=timeout_s
        )
        try:
            connection.request("GET", path)
            reply = connection.getresponse()
            data = reply.read()
            is_json = "json" in (reply.getheader("Content-Type") or "")
            return reply.status, json.loads(data) if is_json else data.decode()
        except (OSError, http.client.HTTPException):
            return 0, None
        finally:
            connection.close()

    def terminate(self, within_s: float) -> tuple[int | None, float]:
        """Send SIGTERM; return (exit status, None if it lives on; seconds taken)."""
        assert self._process is not None
        started = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            return None, within_s
        return status, time.monotonic() - started

    def kill(self) -> None:
        """End it at once, if it still runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def usage(self) -> dict[str, float]:
        """Return ``rss_mib``, ``threads`` and ``descriptors`` of now."""
        folder = Path(f"/proc/{self.process_id}")
        lines = (folder / "status").read_text().splitlines()
        status = dict(line.split(":", 1) for line in lines if ":" in line)
        return {
            "rss_mib": int(status["VmRSS"].split()[0]) / 1024,
            "threads": int(status["Threads"]),
            "descriptors": len(os.listdir(folder / "fd")),
        }
