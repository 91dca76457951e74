"""What a client can check its copy of a stream against. Pure."""

from __future__ import annotations

import re
import zlib

__all__ = ("Tally", "read_end_line")

_END = re.compile(rb": end bytes=(\d+) events=(\d+) crc32=([0-9a-f]{8})\n")


class Tally:
    """Counts and a running checksum of all bytes of a stream, also of dropped ones.

    A CRC, because its whole state is one number: it goes on after a restart, over bytes
    that nobody has any more, and a page in a browser can compute it piece by piece.
    """

    __slots__ = ("crc", "n_bytes", "n_events")

    def __init__(self, n_bytes: int = 0, n_events: int = 0, crc: int = 0) -> None:
        self.n_bytes = n_bytes
        self.n_events = n_events
        """Blank lines that ended an event."""
        self.crc = crc

    def add(self, data: bytes) -> None:
        """Count what was appended: whole events and comment lines."""
        self.n_bytes += len(data)
        self.n_events += data.count(b"\n\n")
        self.crc = zlib.crc32(data, self.crc)

    def end_line(self) -> bytes:
        """Return the comment that ends a stream: it tells of all bytes before it.

        No client sees an event in it: it is a comment without a blank line.
        """
        return b": end bytes=%d events=%d crc32=%08x\n" % (
            self.n_bytes,
            self.n_events,
            self.crc,
        )


def read_end_line(line: bytes) -> Tally | None:
    """Return what an end line says; None: it is another line."""
    found = _END.fullmatch(line)
    if found is None:
        return None
    return Tally(int(found[1]), int(found[2]), int(found[3], 16))
