"""Finds a call's arguments in a rendered turn, and how they are written. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from llamactypes.chat.learning.probes import CALLS, Call, Probes
from llamactypes.chat.learning.segments import common_prefix, common_suffix
from llamactypes.chat.output.format import ArgumentForm, TaggedArguments

__all__ = ("ArgumentText", "find_arguments", "learn_types")

_KEY = "sentinelkeyone"
_TYPED: dict[str, tuple[Any, str]] = {
    "integer": (7193, r"7193"),
    "number": (7193.5, r"7193\.5"),
    "boolean": (True, r"(?i:true)\b"),
    "object": ({_KEY: 1}, r"\{"),
    "array": ([7193], r"\["),
    "null": (None, r"(?i:null|none)\b"),
}
"""An argument of each type besides texts, and how it may be written."""

_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class ArgumentText:
    """Where the arguments of one call are, and their form."""

    start: int
    end: int
    form: ArgumentForm
    tagged: TaggedArguments | None = None


def find_arguments(body: str, call: Call, start: int) -> ArgumentText | None:
    """Return where the arguments of `call` are in `body` at or after `start`."""
    return (
        _json(body, call, start)
        or _json_string(body, call, start)
        or _python(body, call, start)
        or _tagged(body, call, start)
    )


def _json(body: str, call: Call, start: int) -> ArgumentText | None:
    for place in _places(body, "{", start):
        value, end = _decoded(body, place)
        if value == call.arguments:
            return ArgumentText(place, end, ArgumentForm.JSON)
    return None


def _json_string(body: str, call: Call, start: int) -> ArgumentText | None:
    for place in _places(body, '"{', start):
        value, end = _decoded(body, place)
        if isinstance(value, str) and _decoded(value, 0)[0] == call.arguments:
            return ArgumentText(place, end, ArgumentForm.JSON_STRING)
    return None


def _places(body: str, text: str, start: int) -> list[int]:
    return [found.start() + start for found in re.finditer(text, body[start:])]


def _decoded(text: str, place: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, place)
    except (ValueError, RecursionError):
        return None, place


def _python(body: str, call: Call, start: int) -> ArgumentText | None:
    quoted = [
        rf"{key}\s*=\s*(?:\"{value}\"|'{value}')"
        for key, value in call.arguments.items()
    ]
    found = re.compile(r"(?<=\()" + r",\s*".join(quoted) + r"(?=\))").search(
        body, start
    )
    if found is None:
        return None
    return ArgumentText(found.start(), found.end(), ArgumentForm.PYTHON)


def _tagged(body: str, call: Call, start: int) -> ArgumentText | None:
    (first, first_value), (second, second_value) = call.arguments.items()
    words = (call.name, first, first_value, second, second_value)
    between = _between(body, words, start)
    if between is None:
        return None
    (to_first, after_key, to_second, again), places = between
    rest = body[places[-1] :]
    if after_key != again or not after_key:
        return None
    before_key = common_suffix(to_first, to_second)
    after_value = common_prefix(to_second.removesuffix(before_key), rest)
    middle = to_second.removesuffix(before_key).removeprefix(after_value)
    tagged = TaggedArguments(before_key, after_key, after_value, middle.strip())
    return ArgumentText(
        places[0] - len(before_key),
        places[-1] + len(after_value),
        ArgumentForm.TAGGED,
        _unquoted(tagged),
    )


def _between(
    body: str, words: tuple[str, ...], start: int
) -> tuple[list[str], list[int]] | None:
    """Return the texts between `words` in turn, and where keys and values are.

    Returns:
        The texts; the beginning of the first key and the end of the last value.
    """
    first_key = body.find(words[1], start)
    end = body.rfind(words[0], start, first_key) if first_key >= 0 else -1
    if end < 0:
        return None
    end += len(words[0])
    texts = []
    for word in words[1:]:
        place = body.find(word, end)
        if place < 0:
            return None
        texts.append(body[end:place])
        end = place + len(word)
    return texts, [first_key, end]


def _unquoted(tagged: TaggedArguments) -> TaggedArguments:
    """Return `tagged` with the quotes around texts as the values' own."""
    if not (tagged.after_key.endswith('"') and tagged.after_value.startswith('"')):
        return tagged
    return TaggedArguments(
        tagged.before_key,
        tagged.after_key[:-1],
        tagged.after_value[1:],
        tagged.separator,
        json_strings=True,
    )


def learn_types(probes: Probes, tagged: TaggedArguments) -> TaggedArguments:
    """Return `tagged` with the texts that tell the types of values, if there are."""
    found: list[tuple[str, str]] = []
    for kind, (value, pattern) in _TYPED.items():
        turn = probes.calls([replace(CALLS[0], arguments={_KEY: value})])
        rest = turn.partition(f"{tagged.before_key}{_KEY}")[2]
        written = re.search(f"(?<=[^a-z]){pattern}", rest)
        after_key = rest[: written.start()] if written is not None else ""
        # The same text up to the word for the type, with another word.
        is_like = after_key[:1] == tagged.after_key[:1] and len(after_key) < 80
        if is_like and after_key != tagged.after_key:
            found.append((kind, after_key))
    return replace(tagged, after_key_by_type=tuple(found))
