"""One log line for each request, written when its answer has ended."""

from __future__ import annotations

import logging

from api.observing.exchange import Exchange

__all__ = ("access_line", "log_access")

logger = logging.getLogger("llamactypes.access")

_LOOKS = ("/health", "/v1/health", "/livez", "/readyz", "/metrics", "/props", "/slots")
"""What probes and dashboards ask all day; llama-server leaves these out, too."""
_PATH_LIMIT = 200


def log_access(exchange: Exchange) -> None:
    """Write the line; looks at the server that succeed are for debugging."""
    is_look = exchange.status < 400 and (exchange.route or "").endswith(_LOOKS)
    level = logging.DEBUG if is_look else logging.INFO
    if logger.isEnabledFor(level):
        logger.log(level, access_line(exchange))


def access_line(exchange: Exchange) -> str:
    """Return the line; what the client sent cannot break it or add to it."""
    tokens = exchange.tokens()
    parts = [
        f"{_plain(exchange.method)} {_plain(exchange.path)} {exchange.status}",
        f"client={exchange.client or '-'}",
        f"bytes={exchange.n_bytes}",
        f"seconds={exchange.duration_s:.3f}",
    ]
    if exchange.generations:
        parts.append(
            f"prompt={tokens.n_prompt} cached={tokens.n_cached} "
            f"generated={tokens.n_generated}"
        )
    parts += [f"end={exchange.end.replace(' ', '-')}", f"id={exchange.request_id}"]
    return " ".join(parts)


def _plain(text: str) -> str:
    shown = text[:_PATH_LIMIT].encode("ascii", "backslashreplace").decode()
    return "".join(c if "!" <= c <= "~" else f"\\x{ord(c):02x}" for c in shown) or "-"
