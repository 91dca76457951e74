"""Reads one tool call: literal texts, and what stands between them. Pure."""

from __future__ import annotations

import json
import re

from llamactypes.chat.output.calls.draft import Draft
from llamactypes.chat.output.calls.json_arguments import (
    read_json_object,
    read_json_string,
)
from llamactypes.chat.output.calls.nested_arguments import NestedReader
from llamactypes.chat.output.calls.python_arguments import read_python
from llamactypes.chat.output.calls.tagged_arguments import TaggedReader
from llamactypes.chat.output.calls.unquoted_arguments import UnquotedReader
from llamactypes.chat.output.format import ArgumentForm, Slot, ToolSyntax
from llamactypes.chat.output.markers import Aliases, Marker
from llamactypes.chat.output.reading import WordEnd, peek, read_word
from llamactypes.chat.output.source import (
    BrokenTextError,
    Reading,
    Source,
    expect,
    is_next,
)

__all__ = ("CallReader",)

_OPENING = {ArgumentForm.JSON: "{", ArgumentForm.JSON_STRING: '"'}


class CallReader:
    """Reads a call whose parts come in the syntax's order."""

    def __init__(
        self, syntax: ToolSyntax, aliases: Aliases = (), *, is_constrained: bool = False
    ) -> None:
        """Prepare to read; `aliases` as in `ChatFormat`, the rest as in a section."""
        self._syntax = syntax
        self._id = re.compile(syntax.id_pattern)
        self._tagged = _tag_reader(syntax, is_constrained)
        self._quotes = syntax.quotes_names
        self._unquoted = UnquotedReader(syntax.quote)
        self._parts = tuple(
            Marker(part, aliases) if isinstance(part, str) else part
            for part in syntax.call
        )
        self._last_slot = max(
            index for index, part in enumerate(self._parts) if isinstance(part, Slot)
        )
        self._ends = tuple(
            self._end_of_word(index) for index in range(len(syntax.call))
        )

    @property
    def beginning(self) -> Marker:
        """What a call begins with; blank when that is its name."""
        first = self._parts[0]
        return first if isinstance(first, Marker) else Marker("")

    @property
    def is_shown_early(self) -> bool:
        """Whether all that must be known to begin a call comes before its arguments."""
        behind = self._parts[self._parts.index(Slot.ARGUMENTS) :]
        return Slot.ID not in behind and Slot.NAME not in behind

    def read(self, source: Source, draft: Draft) -> Reading[None]:
        """Read a call into `draft`.

        Raises:
            BrokenTextError: It is none.
            CutOffError: The text is over within it. `draft.is_complete` when only
                literal texts are missing.
        """
        for index, part in enumerate(self._parts):
            if isinstance(part, Marker):
                yield from expect(source, part)
            elif part is Slot.ARGUMENTS:
                yield from self._read_arguments(source, draft, index)
            else:
                end = self._ends[index]
                word = yield from read_word(source, end, is_name=not self._quotes)
                self._put(draft, part, word)
            draft.is_complete = index >= self._last_slot

    def _put(self, draft: Draft, slot: Slot, word: str) -> None:
        if slot is Slot.NAME:
            name = self._unescaped(word)
            if draft.name not in ("", name):
                raise BrokenTextError
            draft.name = name
        elif slot is Slot.ID:
            if self._id.fullmatch(word) is None:
                raise BrokenTextError
            draft.id = word
        elif not word.isdecimal():
            raise BrokenTextError

    def _unescaped(self, name: str) -> str:
        if "\\" not in name or not self._quotes:
            return name
        try:
            return str(json.loads(f'"{name}"'))
        except ValueError:
            raise BrokenTextError from None

    def _read_arguments(
        self, source: Source, draft: Draft, index: int
    ) -> Reading[None]:
        form = self._syntax.arguments
        if self._tagged is not None:
            closing = yield from self._tagged.read(source, draft.add, draft.schema)
            yield from self._check_next(source, index)
            draft.add(closing)
        elif form is ArgumentForm.PYTHON:
            yield from read_python(source, draft.add)
        elif form is ArgumentForm.UNQUOTED:
            yield from self._unquoted.read(source, draft.add)
        elif form is ArgumentForm.JSON_STRING:
            yield from read_json_string(source, draft.add)
        elif (yield from self._has_none(source, index)):
            draft.add("{}")
        else:
            yield from read_json_object(source, draft.add)

    def _has_none(self, source: Source, index: int) -> Reading[bool]:
        """Whether what follows the arguments is there instead of them."""
        following = self._following(index)
        if (yield from peek(source)) == "{" or not following:
            return False
        return (yield from is_next(source, following))

    def _check_next(self, source: Source, index: int) -> Reading[None]:
        """Check that what follows the arguments is there; read only white space."""
        following = self._following(index)
        if following and not (yield from is_next(source, following)):
            raise BrokenTextError

    def _following(self, index: int) -> Marker:
        parts = self._parts[index + 1 : index + 2]
        return parts[0] if parts and isinstance(parts[0], Marker) else Marker("")

    def _end_of_word(self, index: int) -> WordEnd:
        """What ends the word in the slot at `index`."""
        behind = self._parts[index + 1 :]
        following = self._following(index)
        if not following:
            return WordEnd(self._firsts(behind), at_space=True)
        if self._quotes and following.text.lstrip().startswith('"'):
            return WordEnd((), is_quoted=True)
        return WordEnd(following.firsts)

    def _firsts(self, behind: tuple[Marker | Slot, ...]) -> list[str]:
        """What may come without white space before it."""
        firsts: list[str] = []
        for part in behind:
            if isinstance(part, Marker):
                firsts += part.firsts
            elif part is Slot.ARGUMENTS and self._tagged is not None:
                firsts += self._tagged.firsts
                continue
            elif part is Slot.ARGUMENTS:
                firsts.append(_OPENING.get(self._syntax.arguments, ""))
            if any(firsts):
                break
        return firsts


def _tag_reader(
    syntax: ToolSyntax, is_constrained: bool
) -> TaggedReader | NestedReader | None:
    if syntax.arguments is ArgumentForm.NESTED:
        return NestedReader(syntax.quote)
    if syntax.tagged is None:
        return None
    return TaggedReader(syntax.tagged, is_constrained=is_constrained)
