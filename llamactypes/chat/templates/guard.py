"""Rendering a prompt, and finding which of its text messages brought along. Pure.

Only conversations that spell a special token need it. The template renders them a
second time with marks around those places. Where the prompt without its marks is the
plain one, the marks say which stretches are foreign. Some templates look at a text so
closely that marks change what they write; then a word joiner, which nobody sees, goes
between the characters of such places, so that they spell no token any more.
"""

from __future__ import annotations

import re
import secrets
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from llamactypes.chat.templates.special_text import Span, SpecialTexts
from llamactypes.errors import TemplateError

__all__ = ("GuardedText", "guarded")

_JOINER = "\N{WORD JOINER}"
_MOST_SPACE = 64

Values = dict[str, Any]
Change = Callable[[str], str]
_Mark = tuple[int, str, int]  # place in the prompt, "b" or "e", number


@dataclass(frozen=True, slots=True)
class GuardedText:
    """A rendered prompt, and where it spells special tokens that messages brought."""

    text: str
    foreign: tuple[Span, ...] = ()


def guarded(
    specials: SpecialTexts,
    values: Values,
    render: Callable[[Values], str],
    plain: str | None = None,
) -> GuardedText:
    """Render `values` and find out where the special tokens in them came to stand.

    Args:
        specials: What must not become a token.
        values: Everything a client wrote: JSON values. Keys count, too.
        render: Makes the prompt; called once more for values that spell a token, and
            twice or three times more for templates that marks confuse.
        plain: What `render` makes of `values`, where that is known already.

    Raises:
        TemplateError: From `render` with the values as they are.
    """
    text = render(values) if plain is None else plain
    if not _spells(specials, values):
        return GuardedText(text)
    for is_wide in (False, True):
        found = _marked(specials, values, render, is_wide)
        if found is not None and found.text == text:
            return found
    return _broken(specials, values, render, text)


def _spells(specials: SpecialTexts, value: Any) -> bool:
    if isinstance(value, str):
        return bool(specials.places(value))
    if isinstance(value, Mapping):
        return any(
            _spells(specials, key) or _spells(specials, each)
            for key, each in value.items()
        )
    if isinstance(value, list | tuple):
        return any(_spells(specials, each) for each in value)
    return False


def _changed(value: Any, change: Change) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {
            _changed(key, change): _changed(each, change) for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [_changed(each, change) for each in value]
    return value


def _all_changed(values: Values, change: Change) -> Values:
    # The names of the variables are ours.
    return {name: _changed(value, change) for name, value in values.items()}


# -- marks -------------------------------------------------------------------------


def _marked(
    specials: SpecialTexts,
    values: Values,
    render: Callable[[Values], str],
    is_wide: bool,
) -> GuardedText | None:
    marks = _Marks(specials, is_wide)
    try:
        return marks.read(render(_all_changed(values, marks.put)))
    except TemplateError:
        return None


class _Marks:
    """Numbered marks around places.

    Letters and digits: neither JSON nor HTML writes them in another way. No message can
    hold them, because they are drawn anew each time.
    """

    def __init__(self, specials: SpecialTexts, is_wide: bool) -> None:
        self._specials = specials
        self._is_wide = is_wide
        self._word = secrets.token_hex(8)
        self._marked: list[str] = []

    def put(self, text: str) -> str:
        """Return `text` with marks around each of its places."""
        spans = self._specials.places(text)
        if self._is_wide:
            spans = _widened(text, spans)
        return _replaced(text, spans, self._named)

    def _named(self, inner: str) -> str:
        name = f"{self._word}{len(self._marked)}"
        self._marked.append(inner)
        return f"b{name}b{inner}e{name}e"

    def read(self, text: str) -> GuardedText | None:
        """Take the marks out; None when a mark was torn from its text."""
        parts = re.split(rf"([be]){self._word}(\d+)\1", text)
        ends = list(accumulate(map(len, parts[::3])))
        plain = "".join(parts[::3])
        numbers = list(map(int, parts[2::3]))
        marks = deque(zip(ends[:-1], parts[1::3], numbers, strict=True))
        foreign: list[Span] = []
        alone = []
        while marks:
            mark = marks.popleft()
            if marks and self._is_pair(plain, mark, marks[0]):
                foreign.append((mark[0], marks.popleft()[0]))
            else:
                alone.append(mark)
        if any(self._is_torn(plain, *mark) for mark in alone):
            return None
        return GuardedText(plain, tuple(foreign))

    def _is_pair(self, plain: str, first: _Mark, second: _Mark) -> bool:
        inner = self._marked[first[2]].strip()
        between = plain[first[0] : second[0]]
        return (first[1:], second[1:]) == (("b", first[2]), ("e", first[2])) and (
            inner in between
        )

    def _is_torn(self, plain: str, at: int, kind: str, number: int) -> bool:
        # A mark alone is harmless where its text is gone: a template that cuts at the
        # token leaves it so.
        inner = self._marked[number].strip()
        n_seen = len(inner) + _MOST_SPACE
        if kind == "b":
            beside = plain[at : at + n_seen].lstrip()
            return beside.startswith(inner) or not (beside or at + n_seen > len(plain))
        beside = plain[max(0, at - n_seen) : at].rstrip()
        return beside.endswith(inner) or not (beside or at < n_seen)


def _widened(text: str, spans: list[Span]) -> list[Span]:
    """Let each place take the white space around it, but for that at the text's ends.

    A template that cuts at the token trims what is left: the marks stay out of its way
    behind the white space. It trims the ends as well: there they stay inside.
    """
    wide: list[Span] = []
    for begin, end in spans:
        floor = wide[-1][1] if wide else 0
        first, last = begin, end
        while first > floor and text[first - 1].isspace():
            first -= 1
        while last < len(text) and text[last].isspace():
            last += 1
        wide.append((first or begin, end if last == len(text) else last))
    return wide


def _replaced(text: str, spans: list[Span], change: Change) -> str:
    parts = []
    done = 0
    for begin, end in spans:
        parts += [text[done:begin], change(text[begin:end])]
        done = end
    return "".join(parts) + text[done:]


# -- templates that marks confuse --------------------------------------------------


def _broken(
    specials: SpecialTexts,
    values: Values,
    render: Callable[[Values], str],
    plain: str,
) -> GuardedText:
    broken = render(_all_changed(values, lambda text: _joiners(specials, text)))
    if specials.count(broken) == specials.count(plain) and (
        broken.replace(_JOINER, "") == plain.replace(_JOINER, "")
    ):
        return GuardedText(plain)  # no token came from the messages
    return GuardedText(broken)


def _joiners(specials: SpecialTexts, text: str) -> str:
    return _replaced(text, specials.places(text), _with_joiners)


def _with_joiners(inner: str) -> str:
    return _JOINER + _JOINER.join(inner) + _JOINER
