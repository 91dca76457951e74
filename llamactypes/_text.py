"""Strings out of the library: ask for the size, allocate, use the returned length."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

_FIRST_BYTES = 256


def decode(data: bytes) -> str:
    """Return text that a model file holds; bytes that are no UTF-8 become U+FFFD."""
    return data.decode("utf-8", "replace")


def read_string(function: Callable[..., int], *arguments: Any) -> str | None:
    """Call ``function(*arguments, buffer, size)`` until the buffer fits.

    For functions that return the length snprintf would have written, and a negative
    number when there is nothing to read; then the result is None.
    """
    size = _FIRST_BYTES
    while True:
        buffer = ctypes.create_string_buffer(size)
        length = function(*arguments, buffer, size)
        if length < 0:
            return None
        if length < size:
            return decode(buffer.raw[:length])
        size = length + 1
