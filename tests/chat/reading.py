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

    def take(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
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

    @property
    def is_call_open(self) -> bool:
        """Whether a call was begun and did not become whole."""
        return not all(is_json(arguments) for _, _, arguments in self.calls)


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
_UNSAID = {"True", "False", "None", "null", "true", "false"}
"""Other spellings in JSON."""


def lost_text(form: ChatFormat, text: str, got: Read) -> str:
    """Return the words of `text` that are nowhere: neither said nor in a marker."""
    calls = " ".join(f"{call_id} {name} {args}" for call_id, name, args in got.calls)
    said = _words(f"{got.reasoning} {got.content} {calls}")
    markers = _words(" ".join(form.markers)).keys() | _UNSAID
    slots = () if form.tools is None else form.tools.call
    if Slot.INDEX in slots:
        markers |= set("0123456789")
    if slots.count(Slot.NAME) > 1:
        markers |= {name for _, name, _ in got.calls}
    lost = _words(text) - said
    return " ".join(sorted(set(lost) - markers))


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(_ESCAPE.sub(" ", text)))
