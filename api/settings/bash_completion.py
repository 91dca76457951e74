"""A completion script for bash, written from the flag table."""

from __future__ import annotations

from api.settings.flag_table import FLAGS

__all__ = ("bash_completion",)

_COMMANDS = ("serve", "run", "info", "doctor")
_SCRIPT = """\
_llamactypes() {
    local word="${COMP_WORDS[COMP_CWORD]}" flags
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "%s" -- "$word"))
        return
    fi
    case "${COMP_WORDS[1]}" in
%s
    esac
    if [ "${word:0:1}" = - ]; then
        COMPREPLY=($(compgen -W "$flags" -- "$word"))
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}
complete -o filenames -F _llamactypes llamactypes
"""


def bash_completion() -> str:
    """Return the script; `source` it: it completes commands, flags and files."""
    cases = "\n".join(
        f'    {command}) flags="{_flags(command)}" ;;' for command in _COMMANDS
    )
    return _SCRIPT % (" ".join(_COMMANDS), cases)


def _flags(command: str) -> str:
    flags = [flag for flag in FLAGS if command in flag.commands]
    names = [name for flag in flags for name in flag.names + flag.negative]
    return " ".join(names) if flags else "--library --help"
