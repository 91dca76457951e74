"""Texts read by the parser, joined; and what of a text is missing in that."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from llamactypes.chat.output.format import ChatFormat, Slot
from llamactypes.chat.output.parser import ChatParser
from llamactypes.chat.output.pieces import (
    Arguments,
    CallBegin,
    Content,
    Piece,
    Reasoning,
)


@dataclass
class Read:
    """The pieces of a text, joined."""

    reasoning: str = ""
    content: str = ""
    calls: list[tuple[str, str, str]] = field(default_factory=list)
    """Id, name, arguments."""
    said: list[str] = field(default_factory=list, compare=False)
    """The texts of the pieces, which depend on the cuts."""

    def take(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            self.said += [part for part in piece if isinstance(part, str)]
            if isinstance(piece, Content):
                self.content += piece.text
            elif isinstance(piece, Reasoning):
                self.reasoning += piece.text
            elif isinstance(piece, CallBegin):
                assert piece.call == len(self.calls)
                self.calls.append((piece.id, piece.name, ""))
            else:
                self._add(piece)

    def _add(self, piece: Arguments) -> None:
        assert piece.call == len(self.calls) - 1
        call_id, name, arguments = self.calls[-1]
        self.calls[-1] = (call_id, name, arguments + piece.text)

    @property
    def ids(self) -> list[str]:
        return [call[0] for call in self.calls]

    @property
    def parsed_calls(self) -> list[tuple[str, Any]]:
        return [(name, json.loads(arguments)) for _, name, arguments in self.calls]


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def read(form: ChatFormat, parts: Iterable[str], **settings: Any) -> Read:
    """Read a text that comes in `parts`."""
    parser = ChatParser(form, **settings)
    got = Read()
    for part in parts:
        got.take(parser.feed(part))
    got.take(parser.finish())
    return got


_WORD = re.compile(r"\w+")
_ESCAPE = re.compile(r"\\+(?:u[0-9a-fA-F]{4}|[nrt\"'])?")
_UNSAID = {"True", "False", "None", "null", "true", "false", "item"}
"""Other spellings in JSON, and the tag of an array's items."""


def lost_text(form: ChatFormat, text: str, got: Read) -> str:
    """Return the words of `text` that are nowhere: neither said nor in a marker.

    Args:
        form: Whose markers may be missing, the last one even if it is not whole.
        text: What was read, in one piece.
        got: What it was read as.
    """
    # Texts end where markers were: between words, or within what is one word now.
    joined = "".join(got.said)
    said = _words(" ".join(got.said)) | _words(joined)
    markers = _words(" ".join(form.markers)).keys() | _UNSAID
    slots = () if form.tools is None else form.tools.call
    if slots.count(Slot.NAME) > 1:
        markers |= {name for _, name, _ in got.calls}
    for marker in sorted(" ".join(form.markers).split(), key=len, reverse=True):
        text = text.replace(marker, " ")
    lost = set(_words(text) - said) - markers
    if Slot.INDEX in slots:
        lost = {word for word in lost if not word.isdecimal()}
    # Pieces that begin within a word, and markers without their white space.
    whole = joined + "".join(form.markers).replace(" ", "").replace("\n", "")
    lost = {word for word in lost if word not in whole}
    last = _WORD.findall(text)[-1:]
    lost -= {word for word in last for marker in markers if marker.startswith(word)}
    return " ".join(sorted(lost))


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(_ESCAPE.sub(" ", text)))
