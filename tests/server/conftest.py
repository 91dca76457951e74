"""Servers for tests: a shared one per module, and any number of own ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.support.server_process import ServerProcess


class StartServer(Protocol):
    """Starts a server that is killed at the end of the test."""

    def __call__(self, *flags: str, **more: Any) -> ServerProcess: ...


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    started: list[ServerProcess] = []

    def start(*flags: str, **more: Any) -> ServerProcess:
        folder = tmp_path / f"server{len(started)}"
        folder.mkdir()
        started.append(ServerProcess(folder, flags, **more))
        return started[-1]

    yield start
    for server in started:
        server.kill()


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, stories_model_path: Path
) -> Iterator[ServerProcess]:
    """A ready server on stories260K: eight slots, endless streams."""
    flags = ("-m", str(stories_model_path), "--port", "0", *EIGHT_SLOTS)
    with ServerProcess(tmp_path_factory.mktemp("server"), flags) as process:
        process.wait_ready()
        yield process


EIGHT_SLOTS = ("-np", "8", "-c", "4096", "--context-shift")
