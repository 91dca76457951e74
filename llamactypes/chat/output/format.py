"""How the model of one chat template writes thinking, answers and tool calls. Pure.

A format is learned from the template (`llamactypes.chat.learning`). The parser reads
text with it, and the grammar of tool calls is made from it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

__all__ = (
    "ArgumentForm",
    "CallPart",
    "ChatFormat",
    "Slot",
    "TaggedArguments",
    "Tags",
    "ToolSyntax",
)


class Slot(enum.Enum):
    """What stands between the literal texts of a tool call."""

    NAME = "name"
    ARGUMENTS = "arguments"
    ID = "id"
    INDEX = "index"
    """Number of the call in its message, from 0."""


class ArgumentForm(enum.Enum):
    """How the arguments of a call are written."""

    JSON = "json"
    """A JSON object."""
    JSON_STRING = "json_string"
    """A JSON string that holds a JSON object."""
    TAGGED = "tagged"
    """Each argument by itself, between tags: see `TaggedArguments`."""
    PYTHON = "python"
    """Keyword arguments of a Python call: ``a=1, b="x"``."""
    UNQUOTED = "unquoted"
    """A JSON object without its braces, with bare keys and, at any depth, texts between
    `ToolSyntax.quote`: ``a:<|"|>x<|"|>,b:{c:1}``."""
    NESTED = "nested"
    """Tags named after the keys, within each other, with `ToolSyntax.quote` before each
    tag: ``<a>x</a><b><item>1</item></b>``."""


CallPart = str | Slot


@dataclass(frozen=True, slots=True)
class Tags:
    """Text before and after something. White space around is not part of either."""

    open: str
    close: str


@dataclass(frozen=True, slots=True)
class TaggedArguments:
    """How one argument is written when each has its own tags: key, then value."""

    before_key: str
    after_key: str
    """Between key and value."""
    after_value: str
    separator: str = ""
    """Between two arguments, besides white space."""
    json_strings: bool = False
    """Texts are written as JSON strings, in quotes; else as they are."""
    after_key_by_type: tuple[tuple[str, str], ...] = ()
    """(JSON type, text) where the text between key and value says the value's type;
    `after_key` is then the one of strings. Values of these other types are JSON."""


@dataclass(frozen=True, slots=True)
class ToolSyntax:
    """How tool calls are written.

    ``start call (separator call)* end``, where a call is literal texts and slots in
    the order of `call`. Each run of white space in a literal text may be any white
    space, or none, in the model's output.
    """

    call: tuple[CallPart, ...]
    arguments: ArgumentForm = ArgumentForm.JSON
    start: str = ""
    end: str = ""
    separator: str = ""
    tagged: TaggedArguments | None = None
    """For `ArgumentForm.TAGGED`."""
    is_parallel: bool = True
    """A message may hold several calls."""
    id_pattern: str = r"[A-Za-z0-9_-]{1,64}"
    """Regular expression of an id that the model writes."""
    quotes_names: bool = False
    """Names are JSON strings: the quotes are in the literal texts around them."""
    quote: str = ""
    """Before and after a text in `ArgumentForm.UNQUOTED`, before a tag in `NESTED`."""

    @property
    def trigger(self) -> str:
        """The literal text that every message with calls has before its first name."""
        first = self.call[0]
        return (self.start + (first if isinstance(first, str) else "")).strip()


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """How a chat model's whole turn is written; all None: plain text."""

    reasoning: Tags | None = None
    """Around thinking, at the beginning of a turn."""
    content: Tags | None = None
    """Around the answer; the text between is the answer. Both tags may be missing."""
    tools: ToolSyntax | None = None
    prompted: str = ""
    """What every prompt ends with and the texts above begin with: the model's turn is
    read as if it began with this text. Not so when the prompt ends in the thinking."""
    aliases: tuple[tuple[str, str], ...] = ()
    """(What the model may write, the text of this format that it stands for)."""
    name: str = "plain"
    """Of the family, or how it was learned: for logs and ``chat_format``."""

    @property
    def markers(self) -> tuple[str, ...]:
        """Every literal text that must be seen in the output, for control tokens."""
        found: list[str] = []
        for tags in (self.reasoning, self.content):
            if tags is not None:
                found += (tags.open, tags.close)
        if self.tools is not None:
            found += self._tool_markers(self.tools)
        found += [self.prompted, *(written for written, _ in self.aliases)]
        return tuple(dict.fromkeys(text for text in found if text.strip()))

    @staticmethod
    def _tool_markers(tools: ToolSyntax) -> list[str]:
        texts = [part for part in tools.call if isinstance(part, str)]
        texts += [tools.start, tools.end, tools.separator, tools.quote]
        if tools.tagged is not None:
            tagged = tools.tagged
            texts += [tagged.before_key, tagged.after_key, tagged.after_value]
            texts.append(tagged.separator)
            texts += [text for _, text in tagged.after_key_by_type]
        return texts
