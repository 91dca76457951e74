"""From a choice's text to thinking, answer and tool calls. Pure.

Streamed or not, a reply is made from the pieces of one `PieceReader`: what streams is
what does not stream.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llamactypes.chat.output.format import ChatFormat
from llamactypes.chat.output.parser import ChatParser
from llamactypes.chat.output.pieces import (
    Arguments,
    CallBegin,
    Content,
    Piece,
    Reasoning,
)

__all__ = ("PLAIN", "Block", "PieceReader", "Reading", "Said", "unique_id")

_ALPHANUMERICS = string.ascii_letters + string.digits


def unique_id(prefix: str) -> str:
    """Return `prefix` and 32 random alphanumerics."""
    return prefix + "".join(secrets.choice(_ALPHANUMERICS) for _ in range(32))


@dataclass(frozen=True, slots=True)
class Reading:
    """How the text of a request's choices is read."""

    format: ChatFormat = field(default_factory=ChatFormat)
    in_reasoning: bool = False
    """The prompt ended inside the thinking."""
    is_continuation: bool = False
    """The prompt ended with a part of the answer, or of the thinking."""
    with_tools: bool = False
    """Calls are read; else they are content."""
    streams_arguments: bool = False
    """A grammar makes calls well formed: no need to wait for their ends."""
    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parameters of each tool, by its name."""
    keeps_thinking: bool = False
    """Thinking is content, too, between its tags (``deepseek-legacy``)."""

    @property
    def is_plain(self) -> bool:
        """Whether all text is content."""
        form = self.format
        has_tools = self.with_tools and form.tools is not None
        return form.reasoning is None and form.content is None and not has_tools

    @property
    def shown(self) -> dict[str, str]:
        """What ``generation_settings`` says of it, under llama-server's names."""
        if self.is_plain:
            return {}
        thinking = "deepseek-legacy" if self.keeps_thinking else "deepseek"
        return {
            "chat_format": self.format.name,
            "reasoning_format": thinking if self.format.reasoning else "none",
        }

    def reader(self, id_prefix: str = "") -> PieceReader:
        """Return what reads one choice; `id_prefix`: of the ids it makes."""
        return PieceReader(self, id_prefix)

    def read(self, text: str, id_prefix: str = "") -> Said:
        """Return what a choice's whole text says."""
        reader = self.reader(id_prefix)
        said = Said()
        for piece in (*reader.feed(text), *reader.finish()):
            said.add(piece)
        return said


PLAIN = Reading()
"""All text is content."""


class PieceReader:
    """Reads the text of one choice as it comes, in any cuts. One thread."""

    def __init__(self, reading: Reading, id_prefix: str) -> None:
        self._id_prefix = id_prefix
        self._parser: ChatParser | None = None
        self._thinking: _ThinkingKept | None = None
        if reading.is_plain:
            return
        self._parser = ChatParser(
            reading.format,
            in_reasoning=reading.in_reasoning,
            with_tools=reading.with_tools,
            streams_arguments=reading.streams_arguments,
            schemas=reading.schemas,
            is_continuation=reading.is_continuation,
        )
        if reading.keeps_thinking:
            self._thinking = _ThinkingKept(reading.format)

    def feed(self, text: str) -> list[Piece]:
        """Return what more text says."""
        if self._parser is None:
            return [Content(text)] if text else []
        return self._finished(self._parser.feed(text))

    def finish(self) -> list[Piece]:
        """Return what was held back; no more text comes."""
        return [] if self._parser is None else self._finished(self._parser.finish())

    def _finished(self, pieces: Sequence[Piece]) -> list[Piece]:
        if self._thinking is not None:
            pieces = [
                each for piece in pieces for each in self._thinking.with_it(piece)
            ]
        return [self._with_id(piece) for piece in pieces]

    def _with_id(self, piece: Piece) -> Piece:
        if isinstance(piece, CallBegin) and not piece.id:
            return piece._replace(id=unique_id(self._id_prefix))
        return piece


class _ThinkingKept:
    """Repeats thinking, with its tags, as content."""

    def __init__(self, form: ChatFormat) -> None:
        self._tags = form.reasoning
        self._is_inside = False

    def with_it(self, piece: Piece) -> Iterator[Piece]:
        if self._tags is None:
            yield piece
        elif isinstance(piece, Reasoning):
            yield piece
            opening = "" if self._is_inside else self._tags.open
            self._is_inside = True
            yield Content(opening + piece.text)
        else:
            if self._is_inside:
                yield Content(self._tags.close)
            self._is_inside = False
            yield piece


@dataclass(slots=True)
class Block:
    """Pieces of one kind in a row, put together."""

    kind: type[Content] | type[Reasoning] | type[CallBegin]
    text: str = ""
    """For a call: the JSON text of its arguments."""
    id: str = ""
    name: str = ""


@dataclass(slots=True)
class Said:
    """What one choice says, in the order in which it says it."""

    blocks: list[Block] = field(default_factory=list)

    def add(self, piece: Piece) -> None:
        """Take in one more piece."""
        if isinstance(piece, CallBegin):
            self.blocks.append(Block(CallBegin, id=piece.id, name=piece.name))
        elif isinstance(piece, Arguments):
            self.calls[-1].text += piece.text
        elif self.blocks and self.blocks[-1].kind is type(piece):
            self.blocks[-1].text += piece.text
        else:
            self.blocks.append(Block(type(piece), piece.text))

    @property
    def content(self) -> str:
        """The answer."""
        return self._joined(Content)

    @property
    def reasoning(self) -> str:
        """The thinking."""
        return self._joined(Reasoning)

    @property
    def calls(self) -> list[Block]:
        """The tool calls."""
        return [block for block in self.blocks if block.kind is CallBegin]

    def _joined(self, kind: type) -> str:
        return "".join(block.text for block in self.blocks if block.kind is kind)
