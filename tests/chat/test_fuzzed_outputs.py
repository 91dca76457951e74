"""Random texts of models, over every format: read whole, and alike however cut."""

from __future__ import annotations

import os
import random

import pytest

from tests.chat.corpus.calls import SCHEMAS
from tests.chat.corpus.corpus import families
from tests.chat.reading import is_json, lost_text, read

N_TEXTS = int(os.environ.get("FUZZ_OUTPUTS", "300"))
"""How many: FUZZ_OUTPUTS=5000 takes a minute or two."""

FAMILIES = dict(families())
NAMES = sorted(FAMILIES)

WORDS = (
    *("hello", "wörld", "｜", "多云", "🌧️", "a<b", "{x}", "[1,2]", "true", "None"),
    *(
        "\\n",
        "\\u00e9",
        "\\",
        "'",
        '"',
        "```",
        ",",
        ":",
        ";",
        "(",
        ")",
        "=",
        "{}",
        "[]",
    ),
)
SPACES = ("", " ", "\n", "\n\n", "\t", " \n ", "\u00a0")
JSON = (
    '{"a": 1}',
    '{"city": "Paris", "days": 3}',
    '{"a": [1, 2.5e3, null, {"b": "c\\"d"}], "e": {"f": false}}',
    '{"a": "x\ny\\d"}',
    '{"a": 1, "a": 2}',
    '{"a": NaN}',
    '{"a": 01}',
    '{"a": "cut',
    '{"a": ',
    "[" * 300,
    '{"a": ' * 150,
    '"{\\"a\\": 1}"',
    '{"n": ' + "9" * 500 + "}",
)


def a_text(dice, corpus):
    """Return outputs, markers, JSON and words, whole, cut and mixed."""
    parts = []
    for _ in range(dice.randrange(1, 9)):
        parts.append(a_part(dice, corpus))
        if dice.random() < 0.4:
            parts.append(dice.choice(SPACES))
    return "".join(parts)


def a_part(dice, corpus):
    kind = dice.randrange(6)
    if kind == 0:
        return changed(dice, dice.choice(corpus.outputs).text)
    if kind == 1:
        text = dice.choice(corpus.outputs).text
        return text[: dice.randrange(len(text) + 1)]
    if kind == 2:
        marker = dice.choice(corpus.format.markers or ("<x>",))
        return marker[: dice.randrange(1, len(marker) + 1)]
    if kind == 3:
        return dice.choice(corpus.format.markers or ("<x>",))
    if kind == 4:
        return dice.choice(JSON)
    return " ".join(a_word(dice) for _ in range(dice.randrange(1, 6)))


def a_word(dice):
    # A word that comes once cannot be lost unnoticed.
    return dice.choice((*WORDS, *(f"w{dice.randrange(10**9)}" for _ in WORDS)))


def changed(dice, text):
    """Return `text` with a character or two taken out, doubled or replaced."""
    for _ in range(dice.randrange(3)):
        at = dice.randrange(len(text))
        new = dice.choice(("", text[at] * 2, a_word(dice), dice.choice(SPACES)))
        text = text[:at] + new + text[at + 1 :]
    return text


def some_parts(dice, text):
    parts = []
    while text:
        n = dice.choice((1, 2, 3, 5, 8, 40))
        parts.append(text[:n])
        text = text[n:]
    return parts


@pytest.mark.parametrize("seed", range(10))
def test_random_output_is_read_whole_and_the_same_in_every_split(seed):
    for number in range(seed, N_TEXTS, 10):
        check_text(number)


def check_text(number):
    dice = random.Random(number)
    corpus = FAMILIES[NAMES[number % len(NAMES)]]
    text = a_text(dice, corpus)
    settings = {
        "with_tools": dice.random() < 0.9,
        "in_reasoning": dice.random() < 0.3,
        "schemas": dice.choice((SCHEMAS, {})),
    }
    for streams_arguments in (False, True):
        settings["streams_arguments"] = streams_arguments
        whole = read(corpus.format, [text], **settings)
        parts = some_parts(dice, text)
        assert read(corpus.format, parts, **settings) == whole, (number, parts)
        assert read(corpus.format, list(text), **settings) == whole, (number, text)
        assert lost_text(corpus.format, text, whole) == "", (number, text)
        if not streams_arguments:
            assert all(is_json(arguments) for _, _, arguments in whole.calls), number
