"""``--help`` and docs/cli.md, written from the flag table."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator
from itertools import groupby

from api.settings import Settings
from api.settings.flag_table import FLAGS
from api.settings.flags import Flag

__all__ = ("cli_page", "default_text", "flag_help", "flags_markdown")

_INTRODUCTION = """\
# Command line

`python -m api.settings.help_text` writes this page from the table that the program
itself reads.

| command | does |
|---|---|
| `llamactypes serve -m FILE` | serves a model over HTTP; see [serving.md](serving.md) |
| `llamactypes serve --demo` | the same with SmolLM2-135M-Instruct |
| `llamactypes run -m FILE -p TEXT` | answers one prompt in the terminal as it streams |
| `llamactypes serve -hf REPO` | the same with a model fetched from a hub repository |
| `llamactypes info FILE` | shows what a GGUF file holds, without loading its weights |
| `llamactypes doctor` | explains which native library is used, and why |
| `llamactypes --version` | prints the version |

`python -m llamactypes` is the same command. `run` wraps the prompt in the model's chat
template unless `--raw` is given, reads it from standard input when neither `-p` nor
`-f` is, and logs warnings only unless `-lv` says otherwise.

Exit status: 0 done, or stopped by SIGTERM or SIGINT; 1 it failed; 2 the command line or
the environment is wrong.

## How flags are read

- Names, short forms and environment variables are llama-server's where it has them.
- `_` in a name is read as `-`; `--name value` and `--name=value` are the same.
- The command line wins over the environment, the environment over the default.
- Of repeated flags the last wins. `--api-key`, `--lora`, `--lora-scaled`,
  `--logit-bias`, `--reverse-prompt` and `--dry-sequence-breaker` add up instead.
- Lists are separated by commas.
- A boolean variable is `true`, `1`, `on` or `enabled`, or `false`, `0`, `off` or
  `disabled`. For a flag with a `--no-` form, the variable with `NO_` after `LLAMA_ARG_`
  turns it off, whatever its value. An empty variable is not set.
- [flags.md](flags.md) lists what becomes of each flag of llama-server: most work, some
  are accepted with one line saying why they change nothing here, some are refused with
  what to do instead; their variables likewise. An unknown flag ends the program with
  the nearest name. Unknown variables that begin like ours get such a line.
- llama-server's config.ini is not read.
"""
_NO_DEFAULT = ("load_mode", "api_key_file")
_AUTO = ("engine.n_threads", "engine.n_threads_batch")


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
    if flag.setting in _AUTO:
        return "auto"
    value: object = Settings()
    for name in flag.setting.split("."):
        value = getattr(value, name)
    if isinstance(value, bool):
        return "on" if value else "off" if flag.negative else ""
    if isinstance(value, tuple):
        return ",".join(repr(item)[1:-1] for item in value)
    return "" if value is None or dataclasses.is_dataclass(value) else str(value)


def cli_page() -> str:
    """Return docs/cli.md."""
    return "\n".join((_INTRODUCTION, flags_markdown()))


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
    if not {"serve", "run"} <= set(flag.commands):
        facts.append(f"Only for `{'`, `'.join(flag.commands)}`.")
    if flag.notice:
        facts.append(f"No effect: {flag.notice}.")
    return facts


if __name__ == "__main__":
    print(cli_page(), end="")
