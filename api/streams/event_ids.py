"""Ids for server-sent events that say where to go on after them. Pure."""

from __future__ import annotations

__all__ = ("with_ids",)

_BREAK = b"\n\n"


def with_ids(events: bytes, offset: int) -> bytes:
    """Return `events` with an ``id:`` line each: the offset of the byte that follows.

    So a byte offset and ``Last-Event-ID`` are the same cursor.

    Args:
        events: Whole events, and comment lines between them.
        offset: Where in their stream they begin.
    """
    blocks = events.split(_BREAK)
    rest = blocks.pop()
    numbered = bytearray()
    for block in blocks:
        numbered += _with_id(block, offset + len(numbered))
    return bytes(numbered + rest)


def _with_id(block: bytes, offset: int) -> bytes:
    bare = offset + len(block) + len(b"\nid: ") + len(_BREAK)
    end = bare + len(str(bare))
    # The number counts its own digits, and one more may be needed for that.
    end = bare + len(str(end))
    return b"%b\nid: %d\n\n" % (block, end)
