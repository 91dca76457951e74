"""Reads one turn of a model: thinking, answer and tool calls in their order. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from llamactypes.chat.output.calls.section import SectionReader
from llamactypes.chat.output.format import ChatFormat, Tags
from llamactypes.chat.output.markers import MORE, SPACE, Aliases, Marker
from llamactypes.chat.output.pieces import Content, Piece, Reasoning
from llamactypes.chat.output.source import Reading, Source, skip_space
from llamactypes.chat.output.speech import Speech

__all__ = ("TurnReader",)

_BLANK = Marker("")
_NEVER = re.compile(r"(?!)")

Reader = Callable[[Marker], Reading[None]]


@dataclass(frozen=True, slots=True)
class _Marks:
    """A format's markers, and what finds where they may begin."""

    think: Marker
    thought: Marker
    open: Marker
    close: Marker
    first: re.Pattern[str]
    """Any marker that may come where nothing was said yet."""
    later: re.Pattern[str]
    """Any that may come within the answer."""
    interesting: re.Pattern[str]
    """The same, and white space at the end, which waits for what follows."""
    thought_begins: re.Pattern[str]


class TurnReader:
    """Reads a turn into pieces.

    Thinking begins where nothing was said yet in the turn, or since the last call
    (models that think between their calls). Elsewhere its tags are text.
    """

    def __init__(
        self,
        form: ChatFormat,
        source: Source,
        out: list[Piece],
        section: SectionReader | None,
        *,
        in_reasoning: bool,
        is_continuation: bool,
    ) -> None:
        """Prepare to read; see `ChatParser` for what the arguments mean."""
        self._source = source
        self._out = out
        self._section = section
        self._triggers = () if section is None else section.triggers
        self._is_weak = section is not None and section.is_weak
        marks = _marks(form, self._triggers, self._is_weak)
        self._think, self._thought = marks.think, marks.thought
        self._open, self._close = marks.open, marks.close
        self._first, self._later = marks.first, marks.later
        self._thought_begins = marks.thought_begins
        self.interesting = marks.interesting
        """Finds what may not be appended to the answer as it is, see `is_plain`."""
        self._may_think = bool(self._think)
        self._is_open = False
        self._begins_thinking = form.reasoning is not None and (
            in_reasoning or not self._think
        )
        self._is_continuation = is_continuation
        self._reasoning = Speech(out, Reasoning)
        self._content = Speech(
            out,
            Content,
            hidden=0 if in_reasoning or is_continuation else len(form.prompted),
            is_blank=not is_continuation,
            holds_space=marks.later is not _NEVER,
        )
        self.is_plain = False
        """Whether text without anything `interesting` is only more of the answer."""

    def read(self) -> Reading[None]:
        """Read the whole turn."""
        if self._begins_thinking:
            if not self._is_continuation:
                self._reasoning.at_marker()
            yield from self._read_thinking()
        yield from self._read_answer()
        while not self._source.is_empty:
            yield from self._read_marker()
            yield from self._read_answer()
        self._content.finish()

    def _read_answer(self) -> Reading[None]:
        """Read the answer up to where something else may begin."""
        source = self._source
        while True:
            beginnings = self._first if self._content.is_blank else self._later
            found = beginnings.search(source.text, source.pos)
            end = len(source.text) if found is None else found.start()
            if end > source.pos:
                self._content.write(source.take(end))
            if found is not None or source.is_final:
                return
            self.is_plain = self._content.is_running
            yield
            self.is_plain = False

    def _read_marker(self) -> Reading[None]:
        """Read what a marker begins, or the one character that began none."""
        for marker, reader in self._candidates():
            if (yield from self._is_next(marker)):
                yield from reader(marker)
                return
        self._content.write(self._source.take(self._source.pos + 1))

    def _candidates(self) -> Iterator[tuple[Marker, Reader]]:
        is_blank = self._content.is_blank
        is_outside = is_blank and not (self._is_open and self._close)
        if is_outside and self._may_think:
            yield self._think, self._begin_thinking
        if is_outside and self._open:
            yield self._open, self._begin_answer
        if self._close:
            yield self._close, self._end_answer
        if is_blank or not self._is_weak:
            for trigger in self._triggers:
                yield trigger, self._read_calls

    def _is_next(self, marker: Marker) -> Reading[bool]:
        source = self._source
        while (end := marker.match(source.text, source.pos)) == MORE:
            if source.is_final:
                return False
            yield
        return end >= 0

    def _take(self, marker: Marker) -> None:
        self._source.take(marker.match(self._source.text, self._source.pos))

    def _begin_thinking(self, marker: Marker) -> Reading[None]:
        self._take(marker)
        self._content.at_marker()
        self._reasoning.at_marker()
        yield from self._read_thinking()

    def _read_thinking(self) -> Reading[None]:
        """Read thinking and what ends it."""
        source, close = self._source, self._thought
        while True:
            found = self._thought_begins.search(source.text, source.pos)
            end = len(source.text) if found is None else found.start()
            if end > source.pos:
                self._reasoning.write(source.take(end))
            if found is None:
                if source.is_final:
                    self._reasoning.finish()
                    return
                yield
            elif (yield from self._is_next(close)):
                self._take(close)
                break
            else:
                self._reasoning.write(source.take(source.pos + 1))
        self._reasoning.at_marker()
        self._content.at_marker()
        # Where answers are marked, no tag outside of them is part of an answer.
        self._may_think = bool(self._open)

    def _begin_answer(self, marker: Marker) -> Reading[None]:
        self._take(marker)
        self._content.at_marker()
        self._is_open = True
        yield from ()

    def _end_answer(self, marker: Marker) -> Reading[None]:
        if self._is_open:
            self._take(marker)
            self._content.at_marker()
            self._is_open = False
            return
        # The prompt may have opened the answer. But the same text within an answer is
        # no marker: so it is one only where nothing but calls follows.
        self._source.hold()
        self._take(marker)
        yield from skip_space(self._source)
        is_last = self._source.is_empty or (yield from self._is_trigger_next())
        text = self._source.release()
        if is_last:
            self._content.at_marker()
        else:
            self._content.write(text)

    def _is_trigger_next(self) -> Reading[bool]:
        for trigger in self._triggers:
            if (yield from self._is_next(trigger)):
                return True
        return False

    def _read_calls(self, trigger: Marker) -> Reading[None]:
        section = self._section
        if section is None:
            return
        n_before = section.n_calls
        yield from section.read(self._source, self._out, self._content, trigger)
        if section.n_calls > n_before:
            self._may_think = bool(self._think)
            self._is_open = False


@lru_cache(maxsize=64)
def _marks(form: ChatFormat, triggers: tuple[Marker, ...], is_weak: bool) -> _Marks:
    # A server has a handful of formats, and a parser for every choice.
    think, thought = _markers(form.reasoning, form.aliases)
    open_, close = _markers(form.content, form.aliases)
    later = _beginnings((close, *(() if is_weak else triggers)))
    first = _beginnings((think, open_, close, *triggers))
    interesting = later
    if later is not _NEVER:
        interesting = re.compile(rf"{later.pattern}|[{SPACE}]\Z")
    begins = _beginnings((thought,))
    return _Marks(think, thought, open_, close, first, later, interesting, begins)


def _markers(tags: Tags | None, aliases: Aliases) -> tuple[Marker, Marker]:
    if tags is None:
        return _BLANK, _BLANK
    return Marker(tags.open, aliases), Marker(tags.close, aliases)


def _beginnings(markers: Iterable[Marker]) -> re.Pattern[str]:
    """Finds where one of the markers may begin."""
    characters = {first[0] for marker in markers for first in marker.firsts}
    if not characters:
        return _NEVER
    return re.compile("[" + "".join(map(re.escape, sorted(characters))) + "]")
