"""The servers that tests/server uses, for everything that goes wrong."""

from __future__ import annotations

from tests.server.conftest import server, start_server

__all__ = ("server", "start_server")
