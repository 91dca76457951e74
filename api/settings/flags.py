"""What a command-line flag is, and the kinds of value a flag takes. Pure.

`api.settings.flag_table` lists the flags; parsing, environment, ``--help`` and
docs/cli.md are all derived from that one table.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict, Unpack

from llamactypes.errors import LlamaError

__all__ = (
    "Flag",
    "Kind",
    "SettingsError",
    "SWITCH",
    "TEXT",
    "TEXT_ITEM",
    "TEXT_LIST",
    "FILE_TEXT",
    "FILE_LINES",
    "FOLDER",
    "JSON_OBJECT",
    "SIZE",
    "choice",
    "integer",
    "number",
    "parse_boolean",
    "section",
    "switch",
    "valued",
)

TRUE_WORDS = ("true", "1", "on", "enabled")
FALSE_WORDS = ("false", "0", "off", "disabled")
_INT32_MAX = 2**31 - 1
_FLOAT32_MAX = 3.4028234663852886e38
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class SettingsError(LlamaError):
    """A flag, an environment variable or their combination cannot be used."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: how its text is read, and what to say when it cannot be."""

    parse: Callable[[str], object]
    """Raises ValueError or OSError for a text that is no such value."""
    allowed: str
    """Ends the sentence "… is not valid: expected"."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One row of the flag table."""

    names: tuple[str, ...]
    """As llama-server spells them, short forms first."""
    setting: str
    """Attribute of `Settings`, or ``engine.…`` / ``sampling.…`` for a nested one."""
    kind: Kind
    help: str
    section: str = ""
    metavar: str = ""
    """Empty for a switch, which takes no value."""
    env: str = ""
    negative: tuple[str, ...] = ()
    """Names that set a switch to False."""
    n_values: int = 1
    """How many words follow the name; more than one are joined by blanks."""
    appends: bool = False
    """Repeated uses add up instead of replacing each other."""
    expand: Callable[[object], Mapping[str, object]] | None = None
    """Turns the value into several settings."""
    notice: str = ""
    """Why the flag changes nothing here; printed when it is used."""
    notice_for: bool | None = None
    """Print the notice only for this value; None: for any."""
    commands: tuple[str, ...] = ("serve", "run")

    @property
    def title(self) -> str:
        """The name used in headings: the first long one."""
        return next(name for name in self.names if name.startswith("--"))


class _Details(TypedDict, total=False):
    """Rarely given attributes of a flag."""

    negative: tuple[str, ...]
    n_values: int
    appends: bool
    expand: Callable[[object], Mapping[str, object]]
    notice: str
    notice_for: bool
    commands: tuple[str, ...]


def switch(
    names: str, setting: str, text: str, env: str = "", **details: Unpack[_Details]
) -> Flag:
    """Return a flag without a value; `names` are separated by blanks."""
    return Flag(tuple(names.split()), setting, SWITCH, text, env=env, **details)


def valued(
    names: str,
    setting: str,
    kind: Kind,
    metavar: str,
    text: str,
    env: str = "",
    **details: Unpack[_Details],
) -> Flag:
    """Return a flag with a value; `names` are separated by blanks."""
    spelled = tuple(names.split())
    return Flag(spelled, setting, kind, text, metavar=metavar, env=env, **details)


def section(title: str, *flags: Flag) -> tuple[Flag, ...]:
    """Return `flags` placed under one heading."""
    return tuple(replace(flag, section=title) for flag in flags)


def parse_boolean(text: str) -> bool:
    """Read a boolean as llama-server reads one from the environment.

    Raises:
        ValueError: The text is none of the known words.
    """
    word = text.strip().lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise ValueError(text)


def integer(low: int = -_INT32_MAX - 1, high: int = _INT32_MAX, **words: int) -> Kind:
    """Return the kind of whole numbers within `low` … `high`, or one of `words`."""

    def parse(text: str) -> int:
        if text in words:
            return words[text]
        value = int(text, 10)
        if not low <= value <= high:
            raise ValueError(text)
        return value

    named = "".join(f", or {word}" for word in words)
    return Kind(parse, f"a whole number {_range(low, high)}{named}")


def number(low: float = -_FLOAT32_MAX, high: float = _FLOAT32_MAX) -> Kind:
    """Return the kind of finite numbers within `low` … `high`."""

    def parse(text: str) -> float:
        value = float(text)
        if not math.isfinite(value) or not low <= value <= high:
            raise ValueError(text)
        return value

    return Kind(parse, f"a number {_range(low, high)}")


def _range(low: float, high: float) -> str:
    if high in (_INT32_MAX, _FLOAT32_MAX):
        return "" if low < -1e9 else f"of at least {low:g}"
    return f"within {low:g} … {high:g}"


def choice(*values: str) -> Kind:
    """Return the kind of exactly these words."""

    def parse(text: str) -> str:
        if text not in values:
            raise ValueError(text)
        return text

    return Kind(parse, "one of " + ", ".join(values))


def _split(text: str) -> tuple[str, ...]:
    """Split a comma list; blanks around items and empty items are dropped."""
    return tuple(item.strip() for item in text.split(",") if item.strip())


def _file_text(path: str) -> str:
    return Path(path).read_text("utf-8")


def _folder(path: str) -> str:
    if not Path(path).is_dir():
        raise ValueError(path)
    return path


def _file_lines(path: str) -> tuple[str, ...]:
    lines = (line.strip() for line in _file_text(path).splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def _json_object(text: str) -> dict[str, object]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)
    return value


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d{1,15})([KMG]?)", text.strip().upper())
    if match is None or int(match[1]) == 0:
        raise ValueError(text)
    return int(match[1]) * _UNITS[match[2]]


SWITCH = Kind(parse_boolean, "one of " + ", ".join(TRUE_WORDS + FALSE_WORDS))
TEXT = Kind(str, "text")
TEXT_ITEM = Kind(lambda text: (text,), "text")
"""One text of a setting that holds several."""
TEXT_LIST = Kind(_split, "a comma-separated list")
FILE_TEXT = Kind(_file_text, "a readable file with UTF-8 text")
FOLDER = Kind(_folder, "a folder that is there")
FILE_LINES = Kind(_file_lines, "a readable file with one entry on each line")
JSON_OBJECT = Kind(_json_object, "a JSON object")
SIZE = Kind(_size, "a number of bytes, or one with K, M or G")
