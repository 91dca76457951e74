"""Vertex AI's variables for a container that makes predictions. Pure.

https://cloud.google.com/vertex-ai/docs/predictions/custom-container-requirements
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from api.settings.flags import SettingsError

__all__ = ("Vertex", "read_vertex")


@dataclass(frozen=True, slots=True)
class Vertex:
    """What Vertex AI asks for; paths begin with a slash."""

    predict_route: str = "/predict"
    health_route: str = ""
    """Another name of /health; empty: none."""
    port: int = 8080


def read_vertex(environment: Mapping[str, str]) -> Vertex | None:
    """Return what ``AIP_*`` say; None without ``AIP_MODE=PREDICTION``.

    Raises:
        SettingsError: ``AIP_HTTP_PORT`` is no port.
    """
    if environment.get("AIP_MODE") != "PREDICTION":
        return None
    text = environment.get("AIP_HTTP_PORT") or "8080"
    try:
        port = int(text, 10)
    except ValueError:
        port = -1
    if not 0 <= port <= 65535:
        raise SettingsError(f"AIP_HTTP_PORT {text!r} is no port: give 0 … 65535")
    return Vertex(
        _path(environment.get("AIP_PREDICT_ROUTE") or "/predict"),
        _path(environment.get("AIP_HEALTH_ROUTE") or ""),
        port,
    )


def _path(text: str) -> str:
    return "/" + text.strip("/") if text.strip("/") else ""
