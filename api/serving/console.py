"""What the commands say to the person who started them."""

from __future__ import annotations

import os
import sys
from typing import TextIO

__all__ = ("Console", "LoadingBar")

_BAR_WIDTH = 30


class Console:
    """Lines on standard output, errors on standard error; a closed pipe is no error."""

    def say(self, text: str = "") -> None:
        """Print one line."""
        self.write(text + "\n")

    def write(self, text: str) -> bool:
        """Print text as it is, at once; False: the reader has just gone."""
        return _write(sys.stdout, text)

    def complain(self, text: str) -> None:
        """Print one line on standard error."""
        _write(sys.stderr, text + "\n")


def _write(stream: TextIO | None, text: str) -> bool:
    if stream is None:  # started with the descriptor closed
        return True
    try:
        stream.write(text)
        stream.flush()
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        return _write(stream, text.encode(encoding, "replace").decode(encoding))
    except BrokenPipeError:
        # Nobody reads any more: without this, the flush at exit would fail, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return False
    return True


class LoadingBar:
    """A progress bar on a terminal, rewritten in place; nothing elsewhere."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream is not None and self._stream.isatty()
        self._shown = ""

    def show(self, part: float) -> None:
        """Show how much is done, 0 … 1."""
        filled = round(_BAR_WIDTH * part)
        bar = "#" * filled + "." * (_BAR_WIDTH - filled)
        line = f"loading [{bar}] {part:4.0%}"
        if self._is_terminal and line != self._shown:
            _write(self._stream, "\r" + line)
            self._shown = line

    def clear(self) -> None:
        """Take the bar away."""
        if self._shown:
            _write(self._stream, "\r" + " " * len(self._shown) + "\r")
            self._shown = ""
