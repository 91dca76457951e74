"""Reads the tool calls of one place in a turn: one call or several. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from llamactypes.chat.output.calls.call_reader import CallReader
from llamactypes.chat.output.calls.draft import Draft, Schemas
from llamactypes.chat.output.calls.envelope import EnvelopeReader, envelope_of
from llamactypes.chat.output.format import ToolSyntax
from llamactypes.chat.output.markers import Aliases, Marker
from llamactypes.chat.output.pieces import Piece
from llamactypes.chat.output.source import (
    BrokenTextError,
    CutOffError,
    Reading,
    Source,
    accept,
    expect,
    is_next,
)
from llamactypes.chat.output.speech import Speech

__all__ = ("SectionReader",)

_WEAK = re.compile(r'\{|\[\s*(?:[\[{"]|$)')
_PUNCTUATION = re.compile(r"[\s,;.]*")


@dataclass(frozen=True, slots=True)
class _Frame:
    """What is around all calls; either may be blank."""

    start: Marker
    end: Marker


@dataclass(frozen=True, slots=True)
class _Layout:
    """A syntax made ready to be read with."""

    reader: CallReader | EnvelopeReader
    frames: tuple[_Frame, ...]
    separator: Marker
    is_early: bool
    triggers: tuple[Marker, ...]


class SectionReader:
    """Reads calls into pieces; what is no call becomes the answer's text."""

    def __init__(
        self,
        syntax: ToolSyntax,
        schemas: Schemas,
        *,
        is_constrained: bool,
        aliases: Aliases = (),
    ) -> None:
        """Prepare to read.

        Args:
            syntax: How calls are written.
            schemas: Parameters of the tools.
            is_constrained: The text is known to be well formed where it begins to be:
                calls are shown as they come, and are read in no other than the
                syntax's own order.
            aliases: As in `ChatFormat`.
        """
        layout = _layout(syntax, aliases, is_constrained)
        self._reader = layout.reader
        self._frames = layout.frames
        self._separator = layout.separator
        self._is_early = layout.is_early
        self._schemas = schemas
        self.triggers = layout.triggers
        """What calls begin with; the first that is found counts."""
        self.n_calls = 0
        """Calls that were read."""

    @property
    def is_weak(self) -> bool:
        """Whether answers have what calls begin with: then calls only begin a turn."""
        return any(_WEAK.match(trigger.text.strip()) for trigger in self.triggers)

    def read(
        self, source: Source, out: list[Piece], content: Speech, trigger: Marker
    ) -> Reading[None]:
        """Read the calls behind `trigger`, which is next in `source`."""
        frame = self._frames[self.triggers.index(trigger)]
        source.hold()
        draft: Draft | None = None
        try:
            yield from expect(source, frame.start)
            goes_on = True
            while goes_on:
                draft = self._draft(source, out)
                yield from self._reader.read(source, draft)
                self._count(draft, content)
                draft = None
                goes_on = yield from self._goes_on(source, frame)
        except BrokenTextError:
            rest = source.release()
            self._count_shown(draft, content)
            content.write(rest)
        except CutOffError:
            self._cut_off(source, draft, content)
        source.release()

    def _draft(self, source: Source, out: list[Piece]) -> Draft:
        index, is_early = self.n_calls, self._is_early
        return Draft(source, out, index, self._schemas, is_early=is_early)

    def _count(self, draft: Draft, content: Speech) -> None:
        draft.show()
        content.at_marker()
        self.n_calls += 1

    def _count_shown(self, draft: Draft | None, content: Speech) -> None:
        if draft is not None and draft.is_shown:
            self._count(draft, content)

    def _cut_off(self, source: Source, draft: Draft | None, content: Speech) -> None:
        """The text is over: what is here is a call, or a part of one, or text."""
        source.take(len(source.text))
        rest = source.release()
        if draft is None:
            return  # a part of what is written between calls or behind them
        if draft.is_complete or draft.is_shown:
            self._count(draft, content)
        elif self.n_calls == 0 or rest.strip() not in (
            "",
            self._separator.text.strip(),
        ):
            content.write(rest)

    def _goes_on(self, source: Source, frame: _Frame) -> Reading[bool]:
        """Whether another call follows in this section; reads what is between."""
        if not (frame.start or frame.end or self._separator):
            return False
        if frame.end and (yield from accept(source, frame.end)):
            return False
        if self._separator and (yield from accept(source, self._separator)):
            if _PUNCTUATION.fullmatch(self._separator.text):
                return True
            # A token of its own: it is between messages of any kind.
            source.hold()
            return (yield from self._begins(source))
        return bool(frame.start) and (yield from self._begins(source))

    def _begins(self, source: Source) -> Reading[bool]:
        """Whether a call begins here; reads the white space before."""
        beginning = self._reader.beginning
        return bool(beginning) and (yield from is_next(source, beginning))


@lru_cache(maxsize=64)
def _layout(syntax: ToolSyntax, aliases: Aliases, is_constrained: bool) -> _Layout:
    # A server has a handful of formats, and a parser for every choice.
    envelope = None if is_constrained else envelope_of(syntax)
    reader = (
        CallReader(syntax, aliases, is_constrained=is_constrained)
        if envelope is None
        else EnvelopeReader(syntax, envelope)
    )
    frames = _frames(syntax, is_lenient=envelope is not None)
    found = (frame.start or reader.beginning for frame in frames)
    triggers = tuple(trigger for trigger in found if trigger)
    is_early = is_constrained and reader.is_shown_early
    return _Layout(reader, frames, Marker(syntax.separator), is_early, triggers)


def _frames(syntax: ToolSyntax, *, is_lenient: bool) -> tuple[_Frame, ...]:
    """The syntax's own frame, and the same without a list's brackets."""
    start, end = syntax.start.rstrip(), syntax.end.lstrip()
    frames = [_Frame(Marker(start), Marker(end))]
    bare = start.removesuffix("[").strip()
    if is_lenient and bare and bare != start and end.startswith("]"):
        frames.append(_Frame(Marker(bare), Marker(end[1:])))
    return tuple(frames)
