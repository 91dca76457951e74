"""The one place that knows the package redis."""

from __future__ import annotations

import importlib.util
from typing import Any

__all__ = (
    "REDIS_HINT",
    "RedisClient",
    "connect",
    "has_redis_package",
    "is_old_piece",
    "redis_errors",
)

RedisClient = Any
"""``redis.Redis``: its methods' types depend on the version of the package."""

REDIS_HINT = "pip install 'redis>=5', or the extra: llamactypes[redis]"

_TIMEOUT_S = 1.0
"""Of every call: who waits for a Redis that is gone waits no longer than this."""


def has_redis_package() -> bool:
    """Whether the package is installed; finds it without importing."""
    return importlib.util.find_spec("redis") is not None


def connect(url: str) -> RedisClient:
    """Return a client of the server that `url` names; connects at the first call."""
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    return Redis.from_url(
        url,
        socket_timeout=_TIMEOUT_S,
        socket_connect_timeout=_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
    )


def redis_errors() -> tuple[type[Exception], ...]:
    """Return what a call raises when Redis is gone, or refuses."""
    from redis.exceptions import RedisError

    return (RedisError, OSError)


def is_old_piece(answer: object) -> bool:
    """Whether an XADD was refused because Redis has the piece, or a later one."""
    from redis.exceptions import ResponseError

    return isinstance(answer, ResponseError) and "equal or smaller" in str(answer)
