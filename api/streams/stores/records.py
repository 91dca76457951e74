"""Records of a file that is only ever appended to. Pure.

    magic │ length crc kind payload │ length crc kind payload │ …
            4      4   1    length

A record that is torn, or that anybody changed, ends what can be believed.
"""

from __future__ import annotations

import enum
import struct
import zlib
from dataclasses import dataclass

__all__ = ("MAGIC", "Kind", "Record", "decode", "encode")

MAGIC = b"llamactypes stream 1\n"
_HEAD = struct.Struct("<IIc")
_MOST_BYTES = 1 << 30


class Kind(enum.Enum):
    """What a record says."""

    HEADER = b"H"
    """JSON: whose log it is, and of what."""
    ACCEPTED = b"A"
    """What readers get if nobody ends it."""
    REQUEST = b"Q"
    """What was asked."""
    BEGUN = b"B"
    """A slot began with the prompt."""
    IMAGE = b"I"
    """What was before, when the file was written anew."""
    TOKENS = b"T"
    """Generated, before the bytes made of it."""
    DATA = b"D"
    """Bytes of the stream."""
    END = b"E"
    """JSON: how and when it ended."""


@dataclass(frozen=True, slots=True)
class Record:
    """One of them."""

    kind: Kind
    payload: bytes


def encode(kind: Kind, payload: bytes) -> bytes:
    """Return a record's bytes."""
    crc = zlib.crc32(payload, zlib.crc32(kind.value))
    return _HEAD.pack(len(payload), crc, kind.value) + payload


def decode(data: bytes) -> tuple[list[Record], int]:
    """Return all records up to the first that is not whole, and where that begins."""
    records: list[Record] = []
    if not data.startswith(MAGIC):
        return records, 0
    at = len(MAGIC)
    while at + _HEAD.size <= len(data):
        n_bytes, crc, kind = _HEAD.unpack_from(data, at)
        begin, end = at + _HEAD.size, at + _HEAD.size + n_bytes
        payload = data[begin:end]
        if n_bytes > _MOST_BYTES or len(payload) < n_bytes:
            break
        if zlib.crc32(payload, zlib.crc32(kind)) != crc:
            break
        records.append(Record(Kind(kind), payload))
        at = end
    return records, at
