"""The grammar of a model's whole turn, in which calls may or must be. Pure text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from llamactypes.chat.output.format import CallPart, ChatFormat, Slot, Tags, ToolSyntax
from llamactypes.constraints.lark import LarkGrammar, regex

__all__ = ("Offer", "TurnGrammar")

_MARKER = re.compile(r"<[^<>\s][^<>\n]{0,60}>|\[/?[A-Z][A-Z_ ]*\]")
_COUNT = "[0-9]{1,4}"
_TAIL = r"[ \t\r\n]{0,2}"
"""White space after the last call. Small models would write nothing else from there."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool that may be called."""

    name: str
    arguments: str
    """The expression of its arguments."""


class TurnGrammar:
    """Writes the parts of a turn into one grammar.

    Where the prompt ends with the beginning of the turn's first marker, that marker
    lacks it: it is ``begun``.
    """

    def __init__(
        self,
        format: ChatFormat,
        syntax: ToolSyntax,
        grammar: LarkGrammar,
        offered: Sequence[Offer],
        is_parallel: bool,
    ) -> None:
        self._format = format
        self._syntax = syntax
        self._grammar = grammar
        self._offered = offered
        self._is_parallel = is_parallel and syntax.is_parallel
        self._space = grammar.space()

    # -- the whole turn ------------------------------------------------------------

    def required(self, *, in_reasoning: bool) -> str:
        """Return the expression of thinking and then calls, and nothing else."""
        calls = f"{self._no_answer()} {self._calls('')}"
        tail = regex(_TAIL)
        later = self._grammar.rule(f"{calls} {tail}")
        thinking = self._thinking(in_reasoning)
        if in_reasoning or not self._format.prompted:
            return f"{thinking} {later}"
        first = f"{self._calls(self._format.prompted)} {tail}"
        return f"{thinking} {later} | {first}" if thinking else first

    def auto(self, *, in_reasoning: bool) -> str:
        """Return the expression of thinking and then text in which calls may be."""
        thinking = self._thinking(in_reasoning)
        if not self._format.prompted:
            return f"{thinking} {self._text_with_calls()}"
        messages = self._messages()
        if in_reasoning:
            return f"{thinking} {messages}"
        return self._first_message(messages)

    def _no_answer(self) -> str:
        """Return the expression of the empty answer that some write before calls."""
        content = self._format.content
        if content is None or self._format.prompted:
            return ""
        if not content.open.strip():
            return ""
        close = self._spaced(content.close) if content.close.strip() else ""
        return f"({self._spaced(content.open)} {close})?"

    def _thinking(self, in_reasoning: bool) -> str:
        tags = self._format.reasoning
        if tags is None or (not tags.open.strip() and not in_reasoning):
            return ""
        prompted = self._format.prompted
        if in_reasoning or not prompted:
            parts = tags.open, tags.close
            return self._grammar.thinking(*parts, in_reasoning=in_reasoning)
        return self._closed(tags, prompted)

    def _text_with_calls(self) -> str:
        trigger, rest = self._trigger()
        tags = self._format.reasoning
        # Else the lexer would take what opens the thinking for more of the text.
        not_from = tags.open if tags is not None else ""
        text = self._grammar.text(
            without=[trigger], flexible_space=True, not_from=not_from
        )
        if not trigger:
            return text
        calls = f"{self._grammar.until(trigger, not_from=not_from)} {rest}"
        free, last = self._free("")
        if last:
            text = f"({text} | {last})"
        if self._is_parallel:
            return f"({calls}{free and f' | {free}'})* {text}"
        between = f"({free})*" if free else ""
        return f"{between} ({calls})? {between} {text}"

    # -- turns that are made of messages -------------------------------------------

    def _messages(self) -> str:
        """Return the expression of any number of messages that are not the first."""
        calls = self._call_messages("")
        free, last = self._free("")
        if self._is_parallel:
            return self._grammar.rule(f"({calls} | {free})* ({last})?")
        return self._grammar.rule(f"({free})* ({calls} ({free})*)? ({last})?")

    def _first_message(self, following: str) -> str:
        prompted = self._format.prompted
        calls = self._call_messages(prompted)
        free, last = self._free(prompted)
        if self._is_parallel:
            return f"({calls} | {free}) {following} | {last}"
        later_free, later_last = self._free("")
        after_calls = f"({later_free})* ({later_last})?"
        return f"{calls} {after_calls} | ({free}) {following} | {last}"

    def _call_messages(self, begun: str) -> str:
        # What is between two calls also ends the last, when an answer follows.
        separator = self._spaced(self._syntax.separator)
        return f"{self._calls(begun)} ({separator})? {self._space}"

    def _free(self, begun: str) -> tuple[str, str]:
        """Return the expressions of a message that is free: one that ends, and a last.

        Both are answers or thinking in tags; empty when there are none.
        """
        kinds = (self._format.content, self._format.reasoning)
        tags = [each for each in kinds if each is not None and each.open.strip()]
        closed = " | ".join(self._closed(each, begun) for each in tags)
        return closed, " | ".join(self._unclosed(each, begun) for each in tags)

    def _closed(self, tags: Tags, begun: str) -> str:
        opened = self._marker(tags.open, begun)
        close = tags.close.strip()
        if close:
            return f"{opened} {self._grammar.until(close)} {self._space}"
        # Only a call ends it.
        trigger, calls = self._trigger()
        return f"{opened} {self._grammar.until(trigger)} {calls} {self._space}"

    def _unclosed(self, tags: Tags, begun: str) -> str:
        """Return the expression of the last text of a turn: the end token closes it."""
        end = tags.close.strip() or self._trigger()[0]
        text = self._grammar.text(without=[end], flexible_space=True)
        return f"{self._marker(tags.open, begun)} {text}"

    # -- calls ---------------------------------------------------------------------

    def _trigger(self) -> tuple[str, str]:
        """Return the text that begins calls, and the expression of what follows it."""
        first = self._syntax.call[0]
        lead = self._syntax.start.strip() or (first if isinstance(first, str) else "")
        trigger = _first_part(lead)
        others = (self._format.content, self._format.reasoning)
        if any(tags is not None and tags.open.startswith(trigger) for tags in others):
            trigger = lead
        return trigger, self._calls(trigger)

    def _calls(self, begun: str) -> str:
        """Return the expression of all calls of a turn.

        Args:
            begun: The part of the first text that is there already.
        """
        syntax = self._syntax
        start = syntax.start.strip()
        parts = [self._marker(start, begun)] if start else []
        parts.append(self._one_of("" if start else begun))
        if self._is_parallel:
            parts.append(f"({self._spaced(syntax.separator)} {self._one_of('')})*")
        if syntax.end.strip():
            parts.append(self._spaced(syntax.end))
        return " ".join(parts)

    def _one_of(self, begun: str) -> str:
        calls = [self._call(offer, begun) for offer in self._offered]
        return self._grammar.rule(" | ".join(calls))

    def _call(self, offer: Offer, begun: str) -> str:
        """Return the expression of one call.

        Texts and the name between them are one terminal: beside another that begins
        like one of them, the lexer would not come back to the shorter.
        """
        written: list[str] = []
        text = "" if begun else " "
        for index, part in enumerate(self._syntax.call):
            taken = begun if index == 0 else ""
            if part is Slot.NAME:
                text += self._name(offer.name)
            elif isinstance(part, str) and not self._aliases(part):
                text += part[len(taken) :]
            else:
                written += [self._literal(text), self._slot(part, offer, taken)]
                # White space may be there once more, behind arguments.
                text = " " if part is Slot.ARGUMENTS else ""
        return " ".join([*written, self._literal(text)])

    def _name(self, name: str) -> str:
        if not self._syntax.quotes_names:
            return name
        return json.dumps(name, ensure_ascii=False)[1:-1]

    def _slot(self, part: CallPart, offer: Offer, begun: str) -> str:
        if part is Slot.ARGUMENTS:
            return f"{self._space} {offer.arguments}"
        if part is Slot.ID:
            return regex(self._syntax.id_pattern.replace("/", r"\/"))
        if part is Slot.INDEX:
            return regex(_COUNT)
        return self._marker(str(part), begun)

    # -- literal texts -------------------------------------------------------------

    # White space that may come before a text is of one terminal with it, everywhere:
    # behind white space of its own, the lexer would not come back for another text.

    def _literal(self, text: str) -> str:
        """Return the expression of `text`; blank: of white space, if there is any."""
        if not text.strip():
            return self._space if text else ""
        return self._grammar.literal(text, flexible_space=True)

    def _spaced(self, text: str) -> str:
        return self._literal(f" {text.lstrip()}")

    def _aliases(self, text: str) -> list[str]:
        return [written for written, meant in self._format.aliases if meant == text]

    def _marker(self, text: str, begun: str) -> str:
        """Return the expression of what is left of `text`, or of what stands for it."""
        spellings = [text, *self._aliases(text)]
        left = [each[len(begun) :] for each in spellings if each.startswith(begun)]
        write = self._literal if begun else self._spaced
        written = [write(each) for each in left]
        return written[0] if len(written) == 1 else f"({' | '.join(written)})"


def _first_part(text: str) -> str:
    """Return the marker that `text` begins with, or all of it."""
    found = _MARKER.match(text)
    return found.group() if found else text
