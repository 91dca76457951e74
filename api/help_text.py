"""``--help`` and docs/cli.md, written from the flag table."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator
from itertools import groupby

from api.flag_table import FLAGS
from api.flags import Flag
from api.settings import Settings

__all__ = ("default_text", "flag_help", "flags_markdown")

_NO_DEFAULT = ("load_mode", "api_key_file")


def flag_help(command: str, width: int = 80) -> str:
    """Return the flags of `command`, grouped by section, for a terminal."""
    flags = [flag for flag in FLAGS if command in flag.commands]
    lines: list[str] = []
    for title, group in groupby(flags, key=lambda flag: flag.section):
        lines += ["", f"{title}:"]
        for flag in group:
            lines += _terminal_entry(flag, width)
    return "\n".join(lines[1:])


def _terminal_entry(flag: Flag, width: int) -> Iterator[str]:
    yield f"  {', '.join(flag.names + flag.negative)} {flag.metavar}".rstrip()
    remarks = [text for text in (flag.help, _remarks(flag)) if text]
    yield from textwrap.wrap(
        " ".join(remarks),
        width,
        initial_indent=" " * 6,
        subsequent_indent=" " * 6,
        break_on_hyphens=False,
    )


def _remarks(flag: Flag) -> str:
    default = default_text(flag)
    parts = [f"default: {default}"] if default else []
    if flag.env:
        parts.append(f"env: {flag.env}")
    return f"({'; '.join(parts)})" if parts else ""


def default_text(flag: Flag) -> str:
    """Return the default of `flag` as a reader would write it; empty: not worth it."""
    if flag.setting in _NO_DEFAULT:
        return ""
    value: object = Settings()
    for name in flag.setting.split("."):
        value = getattr(value, name)
    if isinstance(value, bool):
        return "on" if value else "off" if flag.negative else ""
    if isinstance(value, tuple):
        return ",".join(repr(item)[1:-1] for item in value)
    return "" if value is None or dataclasses.is_dataclass(value) else str(value)


def flags_markdown() -> str:
    """Return the part of docs/cli.md that lists every flag."""
    lines: list[str] = []
    for title, group in groupby(FLAGS, key=lambda flag: flag.section):
        lines += [f"## {title}", ""]
        for flag in group:
            lines += [*_markdown_entry(flag), ""]
    return "\n".join(lines)


def _markdown_entry(flag: Flag) -> Iterator[str]:
    yield f"### `{flag.title}`"
    yield ""
    names = ", ".join(f"`{name}`" for name in flag.names + flag.negative)
    yield f"{names} {f'`{flag.metavar}`' if flag.metavar else ''}".rstrip()
    yield ""
    yield flag.help
    facts = _facts(flag)
    if facts:
        yield ""
        yield from (f"- {fact}" for fact in facts)


def _facts(flag: Flag) -> list[str]:
    default = default_text(flag)
    facts = [f"Value: {flag.kind.allowed}."] if flag.metavar else []
    if default:
        facts.append(f"Default: `{default}`.")
    if flag.env:
        facts.append(f"Environment: `{flag.env}`.")
    if flag.commands != ("serve", "run"):
        facts.append(f"Only for `{'`, `'.join(flag.commands)}`.")
    if flag.notice:
        facts.append(f"No effect: {flag.notice}.")
    return facts
