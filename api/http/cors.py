"""Which pages of other origins may read answers. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from api.settings import Settings

__all__ = ("CorsPolicy",)

_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_EXPOSED = "X-Request-Id, Request-Id, Retry-After, X-Conversation-Id"
_PREFLIGHT_AGE_S = "600"


@dataclass(frozen=True, slots=True)
class CorsPolicy:
    """The server's ``--cors-*`` flags, applied to one request at a time."""

    origins: str = "*"
    """Comma-separated: ``*``, ``localhost`` (this machine's, any port), or origins."""
    methods: str = "GET, POST, DELETE, OPTIONS"
    headers: str = "*"
    credentials: bool = False

    @staticmethod
    def of(settings: Settings) -> CorsPolicy:
        """Return the policy that the server's flags describe."""
        return CorsPolicy(
            settings.cors_origins,
            settings.cors_methods,
            settings.cors_headers,
            settings.cors_credentials,
        )

    def reply_headers(self, origin: str | None) -> list[tuple[str, str]]:
        """Return what every reply carries, for a request with this ``Origin``."""
        allowed = self._allowed(origin)
        found: list[tuple[str, str]] = [("Vary", "Origin")]
        if allowed is None:
            return found
        found.append(("Access-Control-Allow-Origin", allowed))
        if self.credentials and allowed != "*":
            found.append(("Access-Control-Allow-Credentials", "true"))
        return found

    def exposed_headers(self) -> list[tuple[str, str]]:
        """Return what lets a page read more than the body of an answer."""
        return [("Access-Control-Expose-Headers", _EXPOSED)]

    def preflight_headers(self) -> list[tuple[str, str]]:
        """Return what the answer to an OPTIONS carries besides."""
        return [
            ("Access-Control-Allow-Methods", self.methods),
            ("Access-Control-Allow-Headers", self.headers),
            ("Access-Control-Max-Age", _PREFLIGHT_AGE_S),
        ]

    def _allowed(self, origin: str | None) -> str | None:
        listed = [item.strip() for item in self.origins.split(",")]
        if not origin:
            return "*" if "*" in listed and not self.credentials else None
        wanted = _normal(origin)
        is_allowed = (
            "*" in listed
            or ("localhost" in listed and _is_local(origin))
            or wanted in map(_normal, listed)
        )
        return origin if is_allowed else None


def _normal(origin: str) -> str:
    return origin.lower().rstrip("/")


def _is_local(origin: str) -> bool:
    try:
        return urlsplit(origin).hostname in _LOCAL_HOSTS
    except ValueError:
        return False
