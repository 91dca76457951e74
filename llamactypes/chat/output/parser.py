"""Takes a chat model's text apart as it comes: thinking, answer, tool calls. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llamactypes.chat.output.calls.section import SectionReader
from llamactypes.chat.output.format import ChatFormat
from llamactypes.chat.output.pieces import Content, Piece
from llamactypes.chat.output.source import Source
from llamactypes.chat.output.turn import TurnReader

__all__ = ("ChatParser",)


class ChatParser:
    """Reads the text of one choice into pieces. One thread at a time.

    What the pieces join to does not depend on how the text is cut, and no text is
    lost: what is not as the format says is part of the answer.
    """

    __slots__ = ("_out", "_reading", "_source", "_turn")

    def __init__(
        self,
        format: ChatFormat,
        *,
        in_reasoning: bool = False,
        with_tools: bool = False,
        streams_arguments: bool = False,
        schemas: Mapping[str, Mapping[str, Any]] | None = None,
        is_continuation: bool = False,
    ) -> None:
        """Prepare to read a turn.

        Args:
            format: How the model writes. Without its `reasoning`, thinking is not told
                from the answer.
            in_reasoning: The prompt ended in the thinking.
            with_tools: Calls are read; else they are text of the answer.
            streams_arguments: The text is constrained by a grammar, so that a call
                that began is well formed: it is shown as it comes. Else a call is
                shown when it is whole, and small deviations are understood.
            schemas: Name of a tool → schema of its parameters, for the types of
                values that are written without quotes.
            is_continuation: The prompt ended within the answer, or within the
                thinking with `in_reasoning`: the text goes on there.
        """
        section = None
        if with_tools and format.tools is not None:
            section = SectionReader(
                format.tools,
                schemas or {},
                is_constrained=streams_arguments,
                aliases=format.aliases,
            )
        self._out: list[Piece] = []
        self._source = Source()
        if not (in_reasoning or is_continuation):
            self._source.add(format.prompted)
        self._turn = TurnReader(
            format,
            self._source,
            self._out,
            section,
            in_reasoning=in_reasoning,
            is_continuation=is_continuation,
        )
        self._reading = self._turn.read()
        next(self._reading)

    def feed(self, text: str) -> list[Piece]:
        """Take more of the text; return what is certain now."""
        # PERF: most tokens are plain text of the answer and go no further.
        if self._turn.is_plain and not self._turn.interesting.search(text):
            return [Content(text)] if text else []
        self._source.add(text)
        return self._read_on()

    def finish(self) -> list[Piece]:
        """The text is over: return what was held back. `feed` nothing afterwards."""
        self._source.is_final = True
        return self._read_on()

    def _read_on(self) -> list[Piece]:
        next(self._reading, None)
        pieces = self._out.copy()
        self._out.clear()
        return pieces
