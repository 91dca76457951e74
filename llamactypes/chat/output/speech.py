"""What the model says, thinking or answering, without white space at markers. Pure."""

from __future__ import annotations

from llamactypes.chat.output.markers import SPACE
from llamactypes.chat.output.pieces import Content, Piece, Reasoning

__all__ = ("Speech",)


class Speech:
    """Appends text to the pieces; holds white space back until more text comes."""

    __slots__ = (
        "_hidden",
        "_holds_space",
        "_is_behind_marker",
        "_kind",
        "_out",
        "_space",
        "is_blank",
    )

    def __init__(
        self,
        out: list[Piece],
        kind: type[Content] | type[Reasoning],
        *,
        hidden: int = 0,
        is_blank: bool = True,
        holds_space: bool = True,
    ) -> None:
        """Say nothing yet.

        Args:
            out: Where pieces go.
            kind: Of the pieces.
            hidden: So many characters come first that the model did not write.
            is_blank: No text was there before, in the prompt.
            holds_space: A marker may come behind text.
        """
        self._out = out
        self._kind = kind
        self._hidden = hidden
        self._holds_space = holds_space
        self._space = ""
        self._is_behind_marker = False
        self.is_blank = is_blank
        """Only white space came since the beginning or the last marker."""

    @property
    def is_running(self) -> bool:
        """Whether more text may be appended to the pieces as it is."""
        return not (self._space or self.is_blank)

    def write(self, text: str) -> None:
        """Append `text`."""
        if self._hidden:
            skipped = min(self._hidden, len(text))
            self._hidden -= skipped
            text = text[skipped:]
        bare = text.rstrip(SPACE) if self._holds_space or self.is_blank else text
        if not bare:
            self._space += text
            return
        joined = bare.lstrip(SPACE) if self._is_behind_marker else self._space + bare
        self._out.append(self._kind(joined))
        self._space = text[len(bare) :]
        self.is_blank = self._is_behind_marker = False

    def at_marker(self) -> None:
        """A marker is here: white space before and behind it is nobody's."""
        self._hidden = 0
        self._space = ""
        self.is_blank = self._is_behind_marker = True

    def finish(self) -> None:
        """Append the white space at the end of the whole text."""
        if self._space and not self._is_behind_marker:
            self._out.append(self._kind(self._space))
        self._space = ""
