"""Arguments that are written as a JSON object, or as one in a JSON string. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from llamactypes.chat.output.json_scan import JsonScanner
from llamactypes.chat.output.source import (
    BrokenTextError,
    Reading,
    Source,
    more,
    skip_space,
)

__all__ = ("read_json", "read_json_object", "read_json_string")

Add = Callable[[str], None]

_ESCAPE = re.compile(r'\\(u[0-9a-fA-F]{4}|.)|"', re.DOTALL)
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def read_json(source: Source, add: Add, scanner: JsonScanner) -> Reading[None]:
    """Read the scanner's value and give its text to `add` as it comes.

    Raises:
        BrokenTextError: It is not JSON. All up to the break is given to `add`.
        CutOffError: The text is over within it; all that came is given to `add`.
    """
    while True:
        source.take(scanner.scan(source.text, source.pos))
        add(scanner.output())
        if scanner.is_done:
            return
        if scanner.is_broken:
            raise BrokenTextError
        if source.is_final:
            add(source.take(len(source.text)))
        yield from more(source)


def read_json_object(source: Source, add: Add) -> Reading[None]:
    """Read a JSON object; white space before it is nobody's."""
    yield from skip_space(source)
    yield from read_json(source, add, JsonScanner(is_object=True))


def read_json_string(source: Source, add: Add) -> Reading[None]:
    """Read a JSON string and give the JSON object within to `add`; {} for a blank one.

    Raises:
        BrokenTextError: It is no string, or what it holds is no object.
        CutOffError: The text is over within it.
    """
    yield from skip_space(source)
    inner = _Inner(add)
    outer = JsonScanner()
    if not source.is_empty and source.text[source.pos] != '"':
        raise BrokenTextError
    yield from read_json(source, inner.add, outer)
    inner.finish()


class _Inner:
    """The object in a string: undoes the string's escapes and checks what it holds."""

    __slots__ = ("_add", "_has_more", "_is_blank", "_rest", "_scanner")

    def __init__(self, add: Add) -> None:
        self._add = add
        self._scanner = JsonScanner(is_object=True)
        self._rest = ""
        self._has_more = False
        self._is_blank = True

    def add(self, written: str) -> None:
        """Go on with more of the string as it is written: only whole escapes."""
        text = self._rest + _ESCAPE.sub(_unescaped, written)
        end = self._scanner.scan(text, 0)
        self._add(self._scanner.output())
        self._rest = text[end:]
        self._is_blank = self._is_blank and not text.strip()
        if self._scanner.is_done or self._scanner.is_broken:
            self._has_more = self._has_more or bool(self._rest.strip())
            self._rest = ""

    def finish(self) -> None:
        """The string is over.

        Raises:
            BrokenTextError: It held no object. Not raised before the end of the
                string, so that where it breaks does not depend on the cuts.
        """
        if self._is_blank:
            self._add("{}")
        elif not self._scanner.is_done or self._has_more:
            raise BrokenTextError


def _unescaped(match: re.Match[str]) -> str:
    escaped = match[1]
    if escaped is None:
        return ""  # a quote of the string itself
    if escaped[0] != "u":
        return _SHORT.get(escaped, escaped)
    code = int(escaped[1:], 16)
    # The text within is JSON as well, where others may stay escaped: no surrogates.
    return chr(code) if code < 0x80 else match[0]
