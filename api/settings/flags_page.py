"""docs/flags.md: what becomes of each flag of llama-server, written from the tables."""

from __future__ import annotations

from api.settings.flag_table import FLAGS
from api.settings.flags import Flag
from api.settings.unsupported_flags import GROUPS, Group, Unsupported

__all__ = ("flags_page",)

_INTRODUCTION = """\
# Flags of llama-server

What `llamactypes serve` does with each flag and variable of llama-server (the pinned
build), and the flags of its own. `python -m api.settings.flags_page` writes this page
from the tables that the program itself reads.

| word | means |
|---|---|
| works | as in llama-server; [cli.md](cli.md) has the details |
| no effect | accepted, with one line that says why it changes nothing here |
| refused | the program ends with the reason and what to do instead |

Of a flag that is refused or has no effect some values may be what is so anyway, such as
`--spec-type none` or `--no-mmproj`: nothing is said about those. The variable of a flag
is treated as the flag is.

| flag | variable | here |
|---|---|---|
"""


def flags_page() -> str:
    """Return docs/flags.md."""
    rows = [*map(_row, FLAGS)]
    for group in GROUPS:
        rows += [_unsupported_row(group, flag) for flag in group.flags]
    return _INTRODUCTION + "\n".join((*rows, ""))


def _row(flag: Flag) -> str:
    here = f"works; {_link(flag)}" if not flag.notice else f"no effect: {flag.notice}"
    return _cells(_names(flag.names, flag.negative, flag.metavar), flag.env, here)


def _link(flag: Flag) -> str:
    return f"[{flag.section}](cli.md#{flag.title})"


def _unsupported_row(group: Group, flag: Unsupported) -> str:
    word = "refused" if group.is_refused else "no effect"
    names = _names(flag.names, flag.negative, flag.metavar)
    return _cells(names, flag.env, f"{word}{_but(flag)}: {group.why}")


def _but(flag: Unsupported) -> str:
    """Return what asks for what is so anyway, as a clause."""
    words = flag.harmless
    if not flag.metavar:
        words = flag.names[-1:] if "on" in flag.harmless else flag.negative
    return f" (but {', '.join(f'`{word}`' for word in words)})" if words else ""


def _names(names: tuple[str, ...], negative: tuple[str, ...], metavar: str) -> str:
    spelled = " ".join(f"`{name}`" for name in (*names, *negative))
    return f"{spelled} {metavar}".rstrip()


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cell for cell in cells) + " |"


if __name__ == "__main__":
    print(flags_page(), end="")
