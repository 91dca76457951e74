"""The servers that tests/server uses, for everything that goes wrong."""

from __future__ import annotations

from pathlib import Path

from tests.server.conftest import StartServer, start_server
from tests.support.server_process import ServerProcess

__all__ = ("MIB", "ServerProcess", "StartServer", "make_server", "start_server")

MIB = 1 << 20


def make_server(folder: Path, model: Path, *flags: str) -> ServerProcess:
    """Start a server on a free port; enter it to have it ended."""
    return ServerProcess(folder, ("-m", str(model), "--port", "0", *flags))
