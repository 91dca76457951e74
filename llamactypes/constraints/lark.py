"""Pieces of grammars in llguidance's dialect of Lark. Pure.

Its lexer takes the longest text that any terminal allowed at a place matches, and does
not come back. So what may follow a free text must be part of the text's own terminal,
or end it by being lazy; `LarkGrammar` has the ways that are right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from llamactypes.errors import ConstraintError

__all__ = ("SPACE", "LarkGrammar", "escaped", "literal", "regex", "string", "token")

SPACE = r"[ \t\r\n]{0,32}"
"""Regular expression of white space that may be missing, where it is read."""
_SPACE = r"[ \t]?((\r?\n){1,2}[ \t]{0,8})?"
"""The same where it is written: a blank, or a new line or two with an indent. Small
models are fond of white space, and one that may write 32 of it at every place comes to
no call within 200 tokens."""

_ANY = "(?s:.*)"
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$#&\-~/]")
_UNREADABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_RUN_OF_SPACE = re.compile(r"([ \t\r\n]+)")


def string(text: str) -> str:
    """Return the Lark string that matches exactly `text`."""
    _check_text(text)
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNREADABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def escaped(text: str) -> str:
    """Return a regular expression that matches exactly `text`, for `regex`."""
    _check_text(text)
    spelled = _SPECIAL.sub(lambda match: "\\" + match[0], text)
    return _UNREADABLE.sub(lambda match: f"\\x{{{ord(match[0]):x}}}", spelled)


def regex(pattern: str) -> str:
    """Return the Lark terminal of a regular expression.

    Args:
        pattern: In Rust's syntax, with a backslash before every ``/``.
    """
    return f"/{pattern}/" if pattern else '""'


def token(number: int) -> str:
    """Return the Lark expression of one token by its number."""
    return f"<[{number}]>"


def literal(
    text: str, control_tokens: Mapping[str, int], *, flexible_space: bool = False
) -> str:
    """Return a Lark expression of `text` in which control tokens are tokens.

    Args:
        text: May hold the text of control tokens, which no other text matches.
        control_tokens: Text to number.
        flexible_space: Each run of white space may be any white space, or none.
    """
    write = _flexible if flexible_space else string
    parts = split_tokens(text, control_tokens)
    written = [write(part) if isinstance(part, str) else token(part) for part in parts]
    return " ".join(part for part in written if part) or '""'


def split_tokens(text: str, control_tokens: Mapping[str, int]) -> list[str | int]:
    """Return `text` cut into texts and numbers of control tokens; no empty text."""
    present = [name for name in control_tokens if name and name in text]
    if not present:
        return [text] if text else []
    # The longest first: a control token's text may begin with another's.
    names = sorted(present, key=len, reverse=True)
    pattern = "(" + "|".join(re.escape(name) for name in names) + ")"
    parts = [part for part in re.split(pattern, text) if part]
    return [control_tokens.get(part, part) for part in parts]


class LarkGrammar:
    """A grammar that grows rule by rule, with names of its own."""

    def __init__(self, control_tokens: Mapping[str, int]) -> None:
        self._control_tokens = control_tokens
        self._lines: list[str] = []
        self._n_names = 0

    def rule(self, expression: str, *, attributes: str = "") -> str:
        """Add a rule and return its name.

        Args:
            expression: Lark; a rule with attributes is one terminal.
            attributes: Such as ``lazy``.
        """
        return self._add("rule", expression, f"[{attributes}]" if attributes else "")

    def terminal(self, expression: str) -> str:
        """Add a terminal and return its name: one lexeme, whatever it is made of."""
        return self._add("TERMINAL", expression, "")

    def literal(self, text: str, *, flexible_space: bool = False) -> str:
        """Return the expression of `text`; see the function `literal`."""
        return literal(text, self._control_tokens, flexible_space=flexible_space)

    def space(self) -> str:
        """Return the expression of white space that may be missing."""
        return regex(_SPACE)

    def text(
        self,
        *,
        without: Iterable[str] = (),
        flexible_space: bool = False,
        not_from: str = "",
    ) -> str:
        """Return the expression of a text, which may be empty.

        Args:
            without: Texts that it does not hold.
            flexible_space: Nor does it hold them with other white space.
            not_from: What it does not begin with, besides white space.
        """
        write = _flexible_pattern if flexible_space else escaped
        shunned = [write(marker) for marker in without if marker]
        body = regex(_ANY) + _excluding(shunned)
        return self.terminal(body + self._not_from(not_from))

    def until(
        self,
        marker: str,
        *,
        not_from: str = "",
        matching: Iterable[str] = (),
        before: str = "",
    ) -> str:
        """Return the expression of a text, the first `marker` and nothing after it.

        Beside another `until`, the one whose marker comes first goes on alone.

        Args:
            marker: White space around it does not count. With control tokens, the text
                before does not spell `marker` in other tokens.
            not_from: What the text does not begin with, besides white space.
            matching: Regular expressions of what the text may be; all must match. The
                white space that `marker` begins with then counts, but may be missing.
            before: With `matching`: white space that may come before the text.
        """
        lead = marker[: len(marker) - len(marker.lstrip())]
        marker = marker.strip()
        parts = split_tokens(marker, self._control_tokens)
        first = parts.pop(0) if parts and isinstance(parts[0], str) else ""
        ends = _flexible_pattern(str(first))
        body = regex(_ANY + ends) + self._not_from(not_from)
        patterns = [regex(pattern) for pattern in matching]
        if patterns:
            text = self.terminal(" & ".join(patterns))
            around = [regex(_maybe(before)), text, regex(_maybe(lead) + ends)]
            body = self.terminal(" ".join(part for part in around if part != '""'))
            if not parts:  # the first marker ends it, whatever matches further on
                body += " & ~" + regex(f"{_ANY}{ends}(?s:.+)")
        if not parts:
            return self.rule(body, attributes="lazy")
        head = self.terminal(body + _excluding([escaped(marker)]))
        return f"{head} {self._written(parts)}"

    def _not_from(self, text: str) -> str:
        parts = split_tokens(text.strip(), self._control_tokens)
        if not parts or isinstance(parts[0], int):
            return ""  # no text begins with a control token
        return " & ~" + regex(f"{SPACE}{_flexible_pattern(parts[0])}{_ANY}")

    def _written(self, parts: list[str | int]) -> str:
        return " ".join(
            token(part) if isinstance(part, int) else _flexible(part) for part in parts
        )

    def thinking(self, open: str, close: str, *, in_reasoning: bool) -> str:
        """Return the expression of thinking and the white space after it.

        Args:
            open: Text before the thinking.
            close: Text after it.
            in_reasoning: The prompt has opened it already, so that it must be closed.
                Else an output may begin with thinking or not.
        """
        rest = f"{self.until(close)} {self.space()}"
        if in_reasoning:
            return rest
        # White space of one terminal with it: behind white space of its own, the lexer
        # would take the rest for the beginning of a free text.
        opened = self.literal(f" {open.strip()}", flexible_space=True)
        return f"({opened} {rest})?"

    def nested(self, text: str) -> str:
        """Add a whole grammar with a ``start`` of its own; return what it is called."""
        return self._add("rule", f"%lark {{\n{text}\n}}", "")

    def finish(self, start: str) -> str:
        """Return the text of the grammar whose outputs match the expression `start`."""
        return "\n".join([f"start: {start}", *self._lines, ""])

    def new_name(self, kind: str) -> str:
        """Return a name that is not used yet, of a rule (or a TERMINAL: upper case)."""
        self._n_names += 1
        return f"{kind}_{self._n_names}"

    def define(self, name: str, expression: str, attributes: str = "") -> None:
        """Add the definition of a name; a rule may be called before it is defined."""
        self._lines.append(f"{name}{attributes}: {expression}")

    def _add(self, kind: str, expression: str, attributes: str) -> str:
        name = self.new_name(kind)
        self.define(name, expression, attributes)
        return name


def _maybe(text: str) -> str:
    return f"({escaped(text)})?" if text else ""


def _excluding(patterns: list[str]) -> str:
    if not patterns:
        return ""
    return " & ~" + regex(f"{_ANY}({'|'.join(patterns)}){_ANY}")


def _flexible(text: str) -> str:
    # Texts and the runs of white space between them, in turn.
    parts = enumerate(_RUN_OF_SPACE.split(text))
    written = (_maybe_space(part) if i % 2 else escaped(part) for i, part in parts)
    return regex("".join(written))


def _maybe_space(run: str) -> str:
    """Return a regular expression of white space at the place of `run`."""
    return _SPACE if re.fullmatch(_SPACE, run) else f"({_SPACE}|{escaped(run)})"


def _flexible_pattern(text: str) -> str:
    # Texts and the runs of white space between them, in turn.
    parts = enumerate(_RUN_OF_SPACE.split(text))
    return "".join(SPACE if index % 2 else escaped(part) for index, part in parts)


def _check_text(text: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ConstraintError("a text holds half a surrogate pair, which is no text")
