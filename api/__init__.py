"""An OpenAI-compatible HTTP server for llamactypes, as a WSGI application."""

from __future__ import annotations

from api.app import create_app

__all__ = ("create_app",)
