"""An OpenAI-compatible HTTP server for llamactypes, as a WSGI application.

`create_app` is loaded when it is first used: the command line takes over the signals
before it imports anything slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from api.app import create_app

__all__ = ("create_app",)


def __getattr__(name: str) -> object:
    if name == "create_app":
        from api.app import create_app

        return create_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
