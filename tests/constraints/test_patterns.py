"""Regular expressions of JSON Schema, against Python's own where both know them."""

from __future__ import annotations

import re

import pytest

from llamactypes.constraints.lark import regex
from llamactypes.constraints.patterns import translated_pattern
from llamactypes.errors import ConstraintError
from tests.support.grammar_walks import allows

TEXTS = (
    *("", "a", "b", "ab", "aab", "xb", "bx", "a b", "a\nb", "A", "é", "_", "-", "]"),
    *("1", "12", "123", "1a", "foo", "foobar", "a.b", "a/b", "{", "{2}", "\\", "x,y"),
)


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "",
            "a",
            "^a",
            "b$",
            "^a$",
            "a|b",
            "^a|b$",
            "^(a|b)$",
            "^(?:ab|x).$",
            "[ab]$",
        ),
        *("^[^ab]+$", r"^\d+$", r"\D", r"^\w*$", r"^\S+$", r"^[\w.]+$", r"^[\d,xy]+$"),
        *("^a{2}b$", "^a{1,}b$", "^a?b$", "^a*?b$", "^(ab){0,2}$", r"^\{2\}$", "^a.b$"),
        *(
            "^(^a|b$)$",
            "(^|,)y(,|$)",
            r"^[]a-]$",
            r"^[\]\\-]$",
            r"^a\.b$",
            "^a/b$",
        ),
        *(r"^\/", "(?i)^a$", "^(?i:a)$", "^(?P<n>a)b$", "[^b]$", "^[a-z]{1,3}(bar)?$"),
    ],
)
def test_the_same_texts_match_as_in_python(pattern):
    # In this dialect an empty class [] is possible, in Python ] comes first.
    python = pattern.replace("^[]a-]$", r"^[\]a-]$").replace("$", r"\Z")
    mine = pattern.replace("^[]a-]$", r"^[\]a-]$")
    grammar = f"start: {regex(translated_pattern(mine))}"
    found = [text for text in TEXTS if allows(grammar, text)]
    assert found == [text for text in TEXTS if re.search(python, text, re.ASCII)]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        *((r"^\x41\u0042\u{1F3CB}\cA\0$", "AB🏋\x01\0"), (r"^[^]$", "\n")),
        *((r"^[[:a]]$", ":]"), (r"^[a&&b]{2}$", "&a"), (r"^[\b]$", "\b")),
        *((r"^(?<n>a)$", "a"), (r"^\p{Lu}$", "É"), (r"^\t\n\v\f\r$", "\t\n\v\f\r")),
        *((r"^\_\-\!$", "_-!"), ("^{$", "{"), ("^a#b c$", "a#b c"), (r"^\s$", "\xa0")),
    ],
)
def test_what_python_does_not_know_matches_too(pattern, text):
    assert allows(f"start: {regex(translated_pattern(pattern))}", text)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        *(("(?=x)y", "look-around"), ("(?<!x)y", "look-around"), (r"(a)\1", "back")),
        *((r"\k<n>", "back"), (r"\bfoo", "honoured"), (r"foo\Z", "honoured")),
        *(
            ("^+a", "repeated"),
            ("x^a", "middle"),
            ("a$b", "middle"),
            ("(a$)+", "repeat"),
        ),
        *(("*a", "nothing to repeat"), ("a**", "nothing"), ("(a", "not closed")),
        *(
            ("a)", "unmatched"),
            ("[a", "not closed"),
            ("[z-a]", "order"),
            ("\\", "escape"),
        ),
        *(
            (r"\q", "escape"),
            (r"\ud83d", "escape"),
            ("a{3,2}", "order"),
            ("a{,3}", "{"),
        ),
        *(
            (r"[\d-z]", "class"),
            ("(?x)a", "group"),
            ("(?i:^a)", "flags"),
            ("(?", "group"),
        ),
        *(
            ("((a{99}){99}){999}", "repeats"),
            ("a" * 30_000, "longer"),
            ("(" * 99, "deep"),
        ),
        *(
            ("(^a|^b|x)(c|d)" * 8, "alternatives"),
            ("a{9999999999}", "begins no repeat"),
        ),
    ],
)
def test_what_has_no_equal_is_refused(pattern, why):
    with pytest.raises(ConstraintError, match=re.escape(why)):
        translated_pattern(pattern)


def test_a_whole_pattern_needs_no_anchors():
    grammar = f"start: {regex(translated_pattern('a|bc', whole=True))}"
    assert [
        text for text in ("a", "bc", "ac", "xa", "abc") if allows(grammar, text)
    ] == [*("a", "bc")]
