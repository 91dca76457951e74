"""The streams of a server, kept where its settings say."""

from __future__ import annotations

from api.settings import Settings, SettingsError
from api.streams.sessions import StreamSessions
from api.streams.stores.file import FileStore
from api.streams.stores.memory import MemoryStore
from api.streams.stores.place import directory_of, is_redis
from api.streams.stores.redis_client import REDIS_HINT, has_redis_package
from api.streams.stores.store import StreamStore

__all__ = ("check_store", "open_streams")


def open_streams(settings: Settings) -> StreamSessions:
    """Return the sessions of a server, with what an earlier one left in their store.

    Raises:
        SettingsError: The store needs a package that is not installed.
    """
    continues = settings.stream_continue
    return StreamSessions(settings.stream_limits, _store(settings), continues=continues)


def check_store(settings: Settings) -> None:
    """Refuse a store that needs a package which is not installed.

    Raises:
        SettingsError: The message says what to install.
    """
    if is_redis(settings.stream_store) and not has_redis_package():
        raise SettingsError(f"--stream-store needs the package redis: {REDIS_HINT}")


def _store(settings: Settings) -> StreamStore:
    place, keep_s = settings.stream_store, settings.stream_keep_s
    directory = directory_of(place)
    if directory is not None:
        return FileStore(directory, keep_s, keeps_requests=settings.stream_continue)
    if not is_redis(place):
        return MemoryStore()
    check_store(settings)
    from api.streams.stores.redis import RedisStore

    return RedisStore(place, keep_s)
