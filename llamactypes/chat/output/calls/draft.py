"""One tool call while it is read, and where its pieces go. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llamactypes.chat.output.pieces import Arguments, CallBegin, Piece
from llamactypes.chat.output.source import Source

__all__ = ("Draft", "Schemas")

Schemas = Mapping[str, Mapping[str, Any]]
"""Name of a tool → schema of its parameters."""


class Draft:
    """A call that is shown as its text comes, or when it is whole.

    What was read of a call that is not shown yet is kept by the source, so that it
    can be given back as text of the answer when the call breaks.
    """

    __slots__ = (
        "_arguments",
        "_index",
        "_is_early",
        "_out",
        "_schemas",
        "_source",
        "id",
        "is_complete",
        "is_shown",
        "name",
    )

    def __init__(
        self,
        source: Source,
        out: list[Piece],
        index: int,
        schemas: Schemas,
        *,
        is_early: bool,
    ) -> None:
        """Begin call number `index`; show it as it comes if `is_early`."""
        self._source = source
        self._out = out
        self._index = index
        self._schemas = schemas
        self._is_early = is_early
        self._arguments: list[str] = []
        self.id = ""
        self.name = ""
        self.is_shown = False
        self.is_complete = False
        """Its arguments are whole: only literal texts may follow."""

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The schema of the arguments, if the tool that is named is known."""
        return self._schemas.get(self.name)

    def add(self, text: str) -> None:
        """Append JSON text to the arguments, made of all that was read so far."""
        if not text:
            return
        if self._is_early and not self.is_shown:
            # Not before: what has only a name is rather text that looks like a call.
            self._show()
        if not self.is_shown:
            self._arguments.append(text)
            return
        self._out.append(Arguments(self._index, text))
        self._source.hold()

    def show(self) -> None:
        """Show what is not shown yet."""
        if not self.is_shown:
            self._show()
            self.add("".join(self._arguments))
        self._source.hold()

    def _show(self) -> None:
        self._out.append(CallBegin(self._index, self.id, self.name))
        self._source.hold()
        self.is_shown = True
