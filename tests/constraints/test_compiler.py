"""From a grammar to the tokens it allows, over a vocabulary of our own."""

from __future__ import annotations

import builtins
import time

import pytest

from llamactypes.constraints.compiler import Compiler
from llamactypes.constraints.constraint import Constraint
from llamactypes.errors import ConstraintError, ConstraintUnavailable

UNKNOWN, BOS, EOS, END_OF_TURN, CALL, USER, PAD = range(7)
SPECIAL = (b"<unk>", b"<s>", b"</s>", b"<end>", b"<call>")
WORDS = (b"<user>", b"", b"true", b"a", b"b", b"ab", b"\xc3", b"\xa9", b"a")


class Vocabulary:
    """Control tokens, one that a user defined, padding, and a few words."""

    pieces = (*SPECIAL, *WORDS)
    bos = BOS

    def __init__(self, *, eog_tokens=(EOS, END_OF_TURN)):
        self.n_tokens = len(self.pieces)
        self.eog_tokens = eog_tokens

    def piece(self, token, *, special=True):
        return self.pieces[token] if special or token >= len(SPECIAL) else b""

    def tokenize(self, text, *, parse_special=True):
        assert not parse_special
        tokens = []
        while text:
            pairs = list(enumerate(WORDS, len(SPECIAL)))
            fitting = [(t, p) for t, p in pairs if p and text.startswith(p)]
            token, piece = max(fitting, key=lambda pair: len(pair[1]), default=(0, "?"))
            tokens.append(token)
            text = text[len(piece) :]
        return tokens


@pytest.fixture(scope="module")
def compiler():
    vocabulary = Vocabulary()
    return Compiler(lambda: vocabulary)


def matcher(compiler, grammar):
    return compiler.compile(Constraint(grammar, "grammar")).matcher()


def allowed(one):
    mask = int.from_bytes(one.mask(), "little")
    return [token for token in range(256) if mask >> token & 1]


def pieces(one):
    return sorted({Vocabulary.pieces[token] for token in allowed(one)})


def test_mask_has_the_tokens_that_may_come_next(compiler):
    one = matcher(compiler, 'start: "ab" | "true"')
    assert pieces(one) == [b"a", b"ab", b"true"]


def test_allows_agrees_with_the_mask(compiler):
    one = matcher(compiler, 'start: "ab" | "true"')
    every = range(Vocabulary().n_tokens)
    equal_bytes = {Vocabulary.pieces.index(b"a"), len(Vocabulary.pieces) - 1}
    differing = {t for t in every if one.allows(t) != (t in allowed(one))}
    assert differing <= equal_bytes


def test_matcher_follows_the_text_to_its_end(compiler):
    one = matcher(compiler, 'start: "ab"')
    one.consume(WORDS.index(b"a") + len(SPECIAL))
    assert pieces(one) == [b"b"]
    assert not one.is_finished
    one.consume(WORDS.index(b"b") + len(SPECIAL))
    assert one.is_finished


def test_every_token_that_ends_a_text_may_come_at_the_end(compiler):
    one = matcher(compiler, 'start: "ab"')
    assert not one.allows(EOS)
    one.consume(WORDS.index(b"ab") + len(SPECIAL))
    assert allowed(one) == [EOS, END_OF_TURN]
    assert one.allows(EOS)
    assert one.allows(END_OF_TURN)


def test_text_may_end_where_the_grammar_may(compiler):
    one = matcher(compiler, "start: /a+/")
    one.consume(WORDS.index(b"a") + len(SPECIAL))
    assert one.allows(EOS)
    assert not one.is_finished


def test_text_never_matches_a_control_token(compiler):
    found = pieces(matcher(compiler, "start: /(.|\\n)+/"))
    assert found == sorted({*WORDS} - {b"", b"\xa9"})


def test_control_token_is_matched_by_its_number(compiler):
    one = matcher(compiler, f'start: <[{CALL}]> "a"')
    assert allowed(one) == [CALL]
    one.consume(CALL)
    assert pieces(one) == [b"a"]


def test_token_that_a_user_defined_is_text(compiler):
    assert pieces(matcher(compiler, 'start: "<user>"')) == [b"<user>"]


def test_character_of_several_tokens_is_followed(compiler):
    one = matcher(compiler, 'start: "é"')
    assert pieces(one) == [b"\xc3"]
    one.consume(WORDS.index(b"\xc3") + len(SPECIAL))
    assert pieces(one) == [b"\xa9"]


def test_matchers_of_one_constraint_are_independent(compiler):
    compiled = compiler.compile(Constraint('start: "ab"'))
    first, second = compiled.matcher(), compiled.matcher()
    first.consume(WORDS.index(b"ab") + len(SPECIAL))
    assert first.is_finished
    assert not second.is_finished


def test_forced_tokens_are_those_of_text_without_a_choice(compiler):
    one = matcher(compiler, 'start: "a" "true" "ab" /[ab]/')
    one.consume(token := WORDS.index(b"a") + len(SPECIAL))
    forced = [Vocabulary.pieces[each] for each in one.forced(token)]
    assert forced[:1] == [b"true"]
    for each in one.forced(token):
        one.consume(each)


def test_control_token_is_forced_too(compiler):
    one = matcher(compiler, f'start: "a" "true" <[{CALL}]> "ab"')
    one.consume(token := WORDS.index(b"a") + len(SPECIAL))
    forced = one.forced(token)
    assert forced == [WORDS.index(b"true") + len(SPECIAL), CALL]
    assert pieces(one) == [b"true"]
    one.consume(forced[0])
    assert one.forced(forced[0]) == [CALL]
    assert allowed(one) == [CALL]


@pytest.mark.parametrize("rest", ["/[ab]+/", f"<[{EOS}]>", ""])
def test_nothing_is_forced_where_text_is_not_fixed(compiler, rest):
    one = matcher(compiler, f'start: "a" {rest}')
    one.consume(token := WORDS.index(b"a") + len(SPECIAL))
    assert list(one.forced(token)) == []


def test_model_chooses_how_it_spells_fixed_text(compiler):
    assert pieces(matcher(compiler, 'start: "ab"')) == [b"a", b"ab"]


def test_text_that_is_there_already_is_followed(compiler):
    whole = compiler.compile(Constraint('start: "ab" ("a" | "b")', "grammar"))
    rest = whole.behind("ab")
    assert pieces(rest.matcher()) == [b"a", b"b"]
    assert pieces(whole.matcher()) == [b"a", b"ab"]
    assert rest.behind("a").matcher().is_finished
    for text in ("b", "aba" + "b", "abab"):
        with pytest.raises(ConstraintError, match="no text that begins so"):
            whole.behind(text)


def test_same_grammar_is_compiled_once(compiler):
    constraint = Constraint('start: "a" "b"')
    assert compiler.compile(constraint) is compiler.compile(constraint)


def test_old_grammars_are_forgotten(compiler):
    constraint = Constraint('start: "a" "a"')
    first = compiler.compile(constraint)
    for n in range(64):
        compiler.compile(Constraint(f'start: "{"a" * (n + 3)}"'))
    assert compiler.compile(constraint) is not first


def test_large_grammars_are_forgotten_sooner(compiler):
    constraint = Constraint('start: "b" "a"')
    first = compiler.compile(constraint)
    words = "\n".join(f'A{n}: "{"a" * 200}"' for n in range(3000))
    for n in range(2):
        compiler.compile(Constraint(f'start: "a" "{n}a" | A1\n{words}'))
    assert compiler.compile(constraint) is not first


@pytest.mark.parametrize(
    ("grammar", "words"),
    [
        ("start: missing", 'unknown name: "missing"'),
        ("start: /(/", "unclosed group"),
        ('start: "a', "lexer error"),
        ("", "no start rule"),
        ('start: %json {"enum": []}', "Unsatisfiable"),
        ("start: /[^\\x00-\\U0010ffff]/", "no text may follow"),
        ('start: "\ud800"', "lone surrogate"),
        ('start: "' + "a" * (1 << 20) + '"', "longer than"),
        ("start: " + " ".join(['"a"'] * 250_000), "too complex"),
    ],
    ids=range(9),
)
def test_grammar_with_a_mistake_is_refused(compiler, grammar, words):
    with pytest.raises(ConstraintError, match=r"^tools ") as caught:
        compiler.compile(Constraint(grammar, "tools"))
    assert words in str(caught.value)
    assert "<state>" not in str(caught.value)
    assert "no_forcing" not in str(caught.value)


def follow(one, token, n_tokens):
    for _ in range(n_tokens):
        one.mask()
        one.consume(token)


def test_grammar_that_is_slow_to_follow_is_given_up(compiler, monkeypatch):
    monkeypatch.setattr("llamactypes.constraints.compiler._MOST_S", 0.2)
    one = matcher(compiler, 'start: s s s s s s s s\ns: "a"* | s s | "a" s')
    started = time.thread_time()
    with pytest.raises(ConstraintError, match="takes too long to follow"):
        follow(one, WORDS.index(b"a") + len(SPECIAL), 2000)
    assert time.thread_time() - started < 2.0


def test_ordinary_text_is_followed_however_long(compiler, monkeypatch):
    monkeypatch.setattr("llamactypes.constraints.compiler._MOST_S", 0.05)
    follow(matcher(compiler, "start: /[ab]*/"), WORDS.index(b"a") + len(SPECIAL), 5000)


def test_missing_package_is_named_with_its_remedy(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "llguidance":
            raise ImportError("no llguidance")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConstraintUnavailable, match=r"llamactypes\[constraints\]"):
        Compiler(Vocabulary)


def test_vocabulary_without_an_end_is_refused():
    with pytest.raises(ConstraintUnavailable, match="no token that ends"):
        Compiler(lambda: Vocabulary(eog_tokens=()))
