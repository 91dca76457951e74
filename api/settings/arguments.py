"""Arguments and environment → values of settings. Pure: knows the flag table only.

Rules are llama-server's: ``_`` in a name is read as ``-``; the command line wins over
the environment; of repeated flags the last wins, unless the setting collects them;
``LLAMA_ARG_NO_X`` negates the switch of ``LLAMA_ARG_X``. An empty variable is not set.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from api.settings.flag_table import FLAGS
from api.settings.flags import Flag, SettingsError
from api.settings.unsupported_flags import (
    UNSUPPORTED,
    UNSUPPORTED_VARIABLES,
    Unsupported,
)

__all__ = ("Values", "read_arguments", "read_environment")


@dataclass(slots=True)
class Values:
    """What was given, by setting, and what the reader should be told about it."""

    given: dict[str, object] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    _collected: set[str] = field(default_factory=set)

    def put(self, flag: Flag, value: object, source: str) -> None:
        """Record `value`; a flag that collects adds to what this source gave before."""
        if flag.notice and flag.notice_for in (None, value):
            self.notices.append(f"{source} has no effect: {flag.notice}")
        many = flag.expand(value) if flag.expand else {flag.setting: value}
        for setting, given in many.items():
            if flag.appends and setting in self._collected:
                self.given[setting] = _joined(self.given[setting], given)
            else:
                self._collected.add(setting)
                self.given[setting] = given

    def pass_over(self, flag: Unsupported, value: str, source: str) -> None:
        """Say why `value` changes nothing here, unless it asks for what is so anyway.

        Raises:
            SettingsError: Leaving the flag out would change too much.
        """
        if not flag.says(value):
            return
        if flag.is_refused:
            raise SettingsError(f"{source} is not supported: {flag.why}")
        self.notices.append(f"{source} has no effect: {flag.why}")

    def overlaid(self, other: Values) -> Values:
        """Return these values with `other`'s on top."""
        return Values(self.given | other.given, self.notices + other.notices)


def _joined(earlier: object, later: object) -> object:
    if not isinstance(earlier, tuple) or not isinstance(later, tuple) or not later:
        return later
    return earlier + later


def read_arguments(arguments: Sequence[str], command: str = "serve") -> Values:
    """Read the words after the command.

    Raises:
        SettingsError: An unknown flag (with the nearest name), a missing or bad value.
    """
    flags = _by_name(flag for flag in FLAGS if command in flag.commands)
    values = Values()
    words = list(arguments)
    while words:
        name, inline = _split_word(words.pop(0))
        flag = flags.get(name)
        if flag is None:
            other = UNSUPPORTED.get(name)
            if other is None:
                raise SettingsError(_unknown(name, flags))
            text = _value_of(other, name, inline, words, "see llama-server --help")
            values.pass_over(other, text, name)
            continue
        text = _value_of(flag, name, inline, words, flag.kind.allowed)
        values.put(flag, _parsed(flag, text, name), name)
    return values


def _value_of(
    flag: Flag | Unsupported,
    name: str,
    inline: str | None,
    words: list[str],
    allowed: str,
) -> str:
    """Return the text that belongs to `name`; a switch has on and off.

    Raises:
        SettingsError: It is missing, or a switch was given one.
    """
    if not flag.metavar:
        _refuse_value(name, inline)
        return "off" if name in flag.negative else "on"
    n_more = getattr(flag, "n_values", 1) - (inline is not None)
    if len(words) < n_more:
        raise SettingsError(f"{name} needs a value: {allowed}")
    taken = [words.pop(0) for _ in range(n_more)]
    return " ".join(taken if inline is None else [inline, *taken])


def read_environment(environment: Mapping[str, str], command: str = "serve") -> Values:
    """Read the variables of the flag table.

    Raises:
        SettingsError: A variable holds a value that its setting cannot take.
    """
    values = Values()
    known: set[str] = set()
    for flag in FLAGS:
        if not flag.env:
            continue
        names = _variables(flag)
        known.update(names)
        if command in flag.commands:
            _read_variables(flag, names, environment, values)
    for other in UNSUPPORTED_VARIABLES.values():
        names = _variables(other)
        known.update(names)
        _pass_over_variables(other, names, environment, values)
    values.notices.extend(_stray_variables(environment, known))
    return values


def _variables(flag: Flag | Unsupported) -> tuple[str, ...]:
    """Return the variables that set `flag`, the one that wins last."""
    if not flag.negative:
        return (flag.env,)
    return flag.env, flag.env.replace("LLAMA_ARG_", "LLAMA_ARG_NO_", 1)


def _read_variables(
    flag: Flag,
    names: tuple[str, ...],
    environment: Mapping[str, str],
    values: Values,
) -> None:
    negated = len(names) == 2 and environment.get(names[1])
    if negated:
        values.put(flag, False, names[1])
    elif text := environment.get(flag.env):
        values.put(flag, _parsed(flag, text, flag.env), flag.env)


def _pass_over_variables(
    flag: Unsupported,
    names: tuple[str, ...],
    environment: Mapping[str, str],
    values: Values,
) -> None:
    if len(names) == 2 and environment.get(names[1]):
        values.pass_over(flag, "off", names[1])
    elif text := environment.get(flag.env):
        values.pass_over(flag, text, flag.env)


def _parsed(flag: Flag, text: str, source: str) -> object:
    try:
        return flag.kind.parse(text)
    except OSError as error:
        raise SettingsError(f"{source}: cannot read {text}: {error.strerror}") from None
    except (ValueError, OverflowError, RecursionError):
        shown = text if len(text) <= 80 else text[:77] + "..."
        raise SettingsError(
            f"{source} {shown!r} is not valid: expected {flag.kind.allowed}"
        ) from None


def _by_name(flags: Iterable[Flag]) -> dict[str, Flag]:
    return {name: flag for flag in flags for name in flag.names + flag.negative}


def _split_word(word: str) -> tuple[str, str | None]:
    """Split ``--name=value`` and read ``_`` in the name as ``-``."""
    if not word.startswith("-"):
        return word, None
    name, equals, value = word.partition("=")
    dashed = "--" + name[2:].replace("_", "-") if name.startswith("--") else name
    return dashed, value if equals else None


def _refuse_value(name: str, inline: str | None) -> None:
    if inline is not None:
        raise SettingsError(f"{name} takes no value, but got {inline!r}")


def _unknown(name: str, flags: Mapping[str, Flag]) -> str:
    if not name.startswith("-"):
        return f"unexpected argument {name!r}: flags start with - (see --help)"
    near = difflib.get_close_matches(name, flags, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"unknown flag {name}{hint} (see --help)"


def _stray_variables(environment: Mapping[str, str], known: set[str]) -> Iterable[str]:
    for name in sorted(environment):
        if not name.startswith("LLAMA_ARG_") or name in known or not environment[name]:
            continue
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
        hint = f"; did you mean {near[0]}?" if near else ""
        yield f"{name} has no effect: not a setting of this server{hint}"
