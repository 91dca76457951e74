"""From token pieces to the text a client may see: UTF-8 and stop sequences. Pure.

Three things can delay text: a character whose last byte has not come, a stop sequence
that may be beginning, and (with ``n_indent``) the blanks of a new line whose
indentation is not known yet. What is delayed is sent later or never, but never half.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence

from llamactypes.engine.text.stop_strings import StopStrings

__all__ = ("TextStream",)

_decoder = codecs.getincrementaldecoder("utf-8")


class TextStream:
    """The text of one generation, as it may be sent.

    Bytes that are no UTF-8 become U+FFFD; a character that is merely incomplete waits
    for its last byte and is dropped when none comes. Not thread-safe: engine thread.
    """

    __slots__ = (
        "_decode",
        "_held",
        "_indent",
        "_is_whole",
        "_n_indent",
        "_stops",
        "has_new_line",
        "stopping_word",
        "was_cut",
    )

    def __init__(self, stop: Sequence[str] = (), n_indent: int = 0) -> None:
        self._stops = StopStrings(stop)
        self._n_indent = n_indent
        self._decode = _decoder("replace")
        self._is_whole = True  # no character waits for its last byte
        self._held = ""
        self._indent = -1  # blanks seen in the current line's indentation; -1: past it
        self.has_new_line = False
        self.stopping_word = ""
        self.was_cut = False
        """The text ended by indentation."""

    @property
    def is_stopped(self) -> bool:
        """Whether a stop sequence or the indentation ended the text."""
        return bool(self.stopping_word) or self.was_cut

    def feed(self, piece: bytes) -> str:
        """Add the bytes of one token; return the text that may be sent now."""
        text = self._text(piece)
        if "\n" in text:
            self.has_new_line = True
        if not self._n_indent and not self._stops:
            return text
        n_old = len(self._held)
        self._held += text
        n_open = self._check_indentation(text) if self._n_indent else 0
        return self._release(n_old, n_open)

    def finish(self) -> str:
        """Return the text still held back; an incomplete character is dropped."""
        text, self._held = self._held, ""
        return text

    def _text(self, piece: bytes) -> str:
        """Return the characters that are complete now.

        PERF: most pieces are ASCII, and the incremental decoder is Python code that
        takes four times as long.
        """
        if self._is_whole and piece.isascii():
            return piece.decode("ascii")
        text = self._decode.decode(piece)
        self._is_whole = not self._decode.getstate()[0]
        return text

    def _release(self, n_old: int, n_open: int) -> str:
        """Cut at a stop, or send all but what may still become one."""
        found = self._stops.find(self._held, n_old)
        if found is not None:
            at, self.stopping_word = found
            text, self._held = self._held[:at], ""
            return text
        keep = len(self._held)
        if not self.was_cut:
            keep -= max(self._stops.n_open(self._held), n_open)
        text, self._held = self._held[:keep], self._held[keep:]
        return text

    def _check_indentation(self, new: str) -> int:
        """Cut at the first line indented too little; return the blanks still open."""
        start = len(self._held) - len(new)
        for offset, character in enumerate(new):
            if self._indent >= 0 and character in " \t":
                self._indent += 1
            elif 0 <= self._indent < self._n_indent:
                self._held = self._held[: start + offset]
                self.was_cut = True
                return 0
            else:
                self._indent = 0 if character == "\n" else -1
        return max(self._indent, 0)
