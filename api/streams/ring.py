"""The newest bytes of a stream, by their offset from its beginning. Pure."""

from __future__ import annotations

__all__ = ("ByteRing", "OffsetLost")


class OffsetLost(Exception):  # noqa: N818 - what became of the bytes
    """Bytes were asked for that were dropped to stay within the limit.

    Attributes:
        first: The first offset that is still held.
    """

    def __init__(self, offset: int, first: int) -> None:
        super().__init__(
            f"Stream offset lost, please restart: {offset} was asked for and the first "
            f"offset still held is {first}"
        )
        self.offset = offset
        self.first = first


class ByteRing:
    """Bytes that are appended and read by absolute offset; the oldest are dropped.

    0 ··· dropped ··· first ▓▓▓▓▓ held ▓▓▓▓▓ end ··· to come
    """

    def __init__(self, capacity: int | None, first: int = 0) -> None:
        """Create an empty one.

        Args:
            capacity: Bytes to hold, the newest; None: all of them.
            first: Bytes that were dropped before.
        """
        self._capacity = capacity
        self._held = bytearray()
        self.end = first
        """Bytes appended so far."""

    @property
    def first(self) -> int:
        """The offset of the oldest byte that is held."""
        return self.end - len(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def append(self, data: bytes) -> bytes:
        """Take in bytes; return the old ones that were dropped for want of room."""
        self._held += data
        self.end += len(data)
        if self._capacity is None or len(self._held) <= self._capacity:
            return b""
        n_dropped = len(self._held) - self._capacity
        dropped = bytes(self._held[:n_dropped])
        del self._held[:n_dropped]
        return dropped

    def read(self, offset: int, limit: int) -> bytes:
        """Return at most `limit` bytes from `offset` on; nothing at or past the end.

        Raises:
            OffsetLost: The first of them was dropped.
        """
        start = offset - self.first
        if start < 0:
            raise OffsetLost(offset, self.first)
        return bytes(self._held[start : start + limit])
