"""The rows of the flag table for streams that outlive their connections."""

from __future__ import annotations

from api.settings.flags import Kind, integer, number, section, switch, valued
from api.streams.stores.place import read_place

__all__ = ("STREAM_FLAGS",)

_SERVE = ("serve",)
_SECONDS = number(0.0)
_PLACE = Kind(read_place, "memory, file:DIRECTORY or redis://HOST[:PORT][/DB]")

STREAM_FLAGS = section(
    "Resumable streams",
    valued(
        "--stream-store",
        "stream_store",
        _PLACE,
        "PLACE",
        "Where resumable streams are kept: memory (gone with the process), "
        "file:DIRECTORY (there after a restart, too) or redis://HOST[:PORT][/DB] "
        "(read, stopped and replaced through any server with the same Redis).",
        "LLAMA_ARG_STREAM_STORE",
        commands=_SERVE,
    ),
    switch(
        "--stream-continue",
        "stream_continue",
        "After a restart with --stream-store file:DIRECTORY go on with generations "
        "that were not finished, instead of reporting them as interrupted. Bodies of "
        "requests are kept in the files for that.",
        "LLAMA_ARG_STREAM_CONTINUE",
        commands=_SERVE,
    ),
    valued(
        "--stream-ring-kib",
        "stream_ring_kib",
        integer(1, 1 << 20),
        "KIB",
        "Newest bytes that are held of the stream of a request with "
        "X-Conversation-Id; older ones cannot be read again.",
        "LLAMA_ARG_STREAM_RING_KIB",
        commands=_SERVE,
    ),
    valued(
        "--stream-ttl-seconds",
        "stream_keep_s",
        _SECONDS,
        "SECONDS",
        "How long such a stream can be read after its end.",
        "LLAMA_ARG_STREAM_TTL_SECONDS",
        commands=_SERVE,
    ),
    valued(
        "--stream-gc-seconds",
        "stream_gc_s",
        _SECONDS,
        "SECONDS",
        "How often what is older than that is freed.",
        "LLAMA_ARG_STREAM_GC_SECONDS",
        commands=_SERVE,
    ),
    valued(
        "--stream-orphan-seconds",
        "stream_orphan_s",
        _SECONDS,
        "SECONDS",
        "End a resumable generation that nobody has read for so long; 0: never.",
        "LLAMA_ARG_STREAM_ORPHAN_SECONDS",
        commands=_SERVE,
    ),
    valued(
        "--stream-sessions",
        "stream_sessions",
        integer(1),
        "N",
        "Most resumable generations of one API key at a time (of all clients "
        "together without keys); one more is refused with 429.",
        "LLAMA_ARG_STREAM_SESSIONS",
        commands=_SERVE,
    ),
    valued(
        "--stream-memory-mib",
        "stream_memory_mib",
        integer(1),
        "MIB",
        "Most memory for the streams of one API key, live and ended; a request that "
        "would need more is refused with 429.",
        "LLAMA_ARG_STREAM_MEMORY_MIB",
        commands=_SERVE,
    ),
)
