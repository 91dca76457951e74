"""A real server in a process of its own, always ended by its process id."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

import requests

from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
_URL = re.compile(r"(?:listening on|Serving on) (http://\S+)")
_SIGTERM_BIT = 1 << (signal.SIGTERM - 1)


def free_port() -> int:
    """Return a port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this process's environment without server settings; one thread."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("LLAMA_ARG_")}
    return {**kept, "LLAMA_ARG_THREADS": "1", **(extra or {})}


class ServerProcess:
    """One server. Use as a context manager, or through the `start_server` fixture."""

    def __init__(
        self,
        folder: Path,
        flags: Sequence[str],
        *,
        module: Sequence[str] = ("api", "serve"),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._stdout = folder / "stdout.txt"
        self._stderr = folder / "stderr.txt"
        with self._stdout.open("wb") as out, self._stderr.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *module, *flags],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=ROOT,
                env=clean_environment(environment),
            )

    # -- what it says -------------------------------------------------------------

    @property
    def out(self) -> str:
        return self._stdout.read_text("utf-8", "replace")

    @property
    def err(self) -> str:
        return self._stderr.read_text("utf-8", "replace")

    @property
    def url(self) -> str:
        """The first address the server reported."""
        match = _URL.search(self.out + self.err)
        assert match, f"no address reported: {self.out}{self.err}"
        return match[1]

    # -- waiting ------------------------------------------------------------------

    def wait_listening(self, within_s: float = 20) -> None:
        """Wait until the address is reported."""
        eventually(
            lambda: self._has_ended() or _URL.search(self.out + self.err), within_s
        )
        assert self.process.poll() is None, self.err

    def wait_ready(self, within_s: float = 60) -> None:
        """Wait until /health answers 200."""
        self.wait_listening(within_s)
        eventually(lambda: self._has_ended() or self.status("/health") == 200, within_s)
        assert self.process.poll() is None, self.err

    def wait_handlers(self, within_s: float = 10) -> None:
        """Wait until the process handles SIGTERM itself."""
        eventually(self._catches_sigterm, within_s)

    def wait_exit(self, within_s: float) -> int:
        """Return the exit status; fail when it takes longer than `within_s`."""
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"did not end within {within_s} s:\n{self.err}"
            ) from None

    def _has_ended(self) -> bool:
        return self.process.poll() is not None

    def _catches_sigterm(self) -> bool:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        mask = re.search(r"SigCgt:\s*([0-9a-f]+)", status)
        return bool(mask and int(mask[1], 16) & _SIGTERM_BIT)

    # -- requests -----------------------------------------------------------------

    def status(self, path: str) -> int:
        """Return the status of a GET; 0 when nobody answers."""
        try:
            return requests.get(self.url + path, timeout=5).status_code
        except requests.ConnectionError:
            return 0

    def get(self, path: str, **more: object) -> requests.Response:
        return requests.get(self.url + path, timeout=60, **more)  # type: ignore[arg-type]

    def post(self, path: str, body: object, **more: object) -> requests.Response:
        return requests.post(self.url + path, json=body, timeout=60, **more)  # type: ignore[arg-type]

    def n_busy_slots(self) -> int:
        return sum(slot["is_processing"] for slot in self.get("/slots").json())

    # -- ending -------------------------------------------------------------------

    def send(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def stop(self, number: int = signal.SIGTERM, within_s: float = 10) -> int:
        """Send a signal; return the exit status."""
        self.send(number)
        return self.wait_exit(within_s)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()


def elapsed_s(since: float) -> float:
    """Return seconds since a ``time.monotonic()``."""
    return time.monotonic() - since
