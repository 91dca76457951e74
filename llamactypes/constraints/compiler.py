"""From a grammar to what says which tokens may come next: llguidance, an extra."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from llamactypes.constraints.constraint import Constraint
from llamactypes.errors import ConstraintError, ConstraintUnavailable

if TYPE_CHECKING:
    import llguidance

__all__ = ("Compiler", "GrammarMatcher", "Grammar", "Vocabulary")

logger = logging.getLogger("llamactypes.constraints")

_INSTALL = (
    "constrained output needs the package llguidance: "
    "pip install 'llamactypes[constraints]'"
)
_MOST_KEPT = 64
"""Compiled grammars that are remembered; clients send few of them again and again."""
_LONGEST = 1 << 20
"""Bytes of a grammar, and of all that are remembered: one takes up to 500 times the
memory of its text."""
_LIMITS = {
    "max_items_in_row": 10_000,
    "initial_lexer_fuel": 1_000_000,
    "step_lexer_fuel": 200_000,
    "step_max_items": 50_000,
    "max_lexer_states": 50_000,
    "max_grammar_size": 200_000,
    "precompute_large_lexemes": False,
    "verbose_errors": False,
}
"""Of llguidance; at the worst a grammar takes 1 s to compile, and a step 0.4 s."""
_MOST_S = 1.0
_MOST_S_EACH = 2e-3
"""CPU time that following one text may take, and more of it for each token. Ordinary
grammars take 0.03 ms a token; one made to be slow stops everybody else's text."""
_N_TRIED = 16
"""Tokens that are tried before a grammar is taken: what explodes does so soon."""
_NO_FORCING = '\n%llguidance {"no_forcing": true}\n'
"""Else a mask has one token where the text is fixed: the one that tokenizing the text
gives. llama-server lets the model choose how it spells it, and so do we: a seed then
gives the same text. `Matcher.forced` says what is fixed, for those who do not mind."""
_OURS = re.compile(r"\n *\d+ \| *%llguidance [^\n]*no_forcing[^\n]*(?:\n *\^)?")
"""That line, where llguidance shows the grammar around a mistake."""
_MARK = b"\x02"
"""Put before text to be tokenized: an SPM vocabulary adds a space to what is first."""
_SPECIAL = b"\xff"
"""Stands before the number of a control token in the bytes that are fixed."""
_NUMBER = re.compile(rb"\[(\d+)\]")
_MOST_SHOWN = 400
_TOO_COMPLEX = re.compile(
    r"TooComplex|fuel|too (?:big|large|many|deeply)|Current row|recursion",
    re.IGNORECASE,
)


class Vocabulary(Protocol):
    """What a compiler must know of a vocabulary. Any thread."""

    n_tokens: int
    bos: int | None
    eog_tokens: tuple[int, ...]

    def piece(self, token: int, *, special: bool = True) -> bytes:
        """Return the bytes of one token; `special`: of control tokens, too."""

    def tokenize(self, text: bytes, *, parse_special: bool = True) -> list[int]:
        """Return the tokens of `text`."""


class Compiler:
    """Compiles grammars for one vocabulary, and remembers them. Any thread."""

    def __init__(self, vocabulary: Callable[[], Vocabulary]) -> None:
        """Read the vocabulary's pieces: 0.3 s and 25 MB at 49k tokens.

        Args:
            vocabulary: Gives the vocabulary that is loaded now: always the same one,
                but its model may be closed and opened again.

        Raises:
            ConstraintUnavailable: llguidance is not installed, or the vocabulary has
                no token that ends a text.
        """
        self._llguidance = _import()
        self._limits = self._llguidance.LLParserLimits(**_LIMITS)
        started = time.perf_counter()
        vocab = vocabulary()
        if not vocab.eog_tokens:
            raise ConstraintUnavailable(
                "output cannot be constrained: this model has no token that ends a text"
            )
        self._end_tokens = frozenset(vocab.eog_tokens)
        self._tokenizer = self._llguidance.LLTokenizer(
            self._llguidance.TokenizerWrapper(_Pieces(vocabulary)),
            n_vocab=vocab.n_tokens,
            eos_token=list(vocab.eog_tokens),
        )
        self._kept: OrderedDict[str, Grammar] = OrderedDict()
        self._lock = threading.Lock()
        logger.info(
            "constraints: %d tokens read in %.2f s",
            vocab.n_tokens,
            time.perf_counter() - started,
        )

    def compile(self, constraint: Constraint) -> Grammar:
        """Return the grammar of `constraint`, compiled now or before.

        Raises:
            ConstraintError: It has a mistake, allows no text at all, or is too large.
        """
        text = constraint.grammar
        with self._lock:
            known = self._kept.get(text)
            if known is not None:
                self._kept.move_to_end(text)
                return known
        grammar = self._compile(constraint)
        with self._lock:
            self._kept[text] = grammar
            self._forget_old()
        return grammar

    def _forget_old(self) -> None:
        while len(self._kept) > 1 and (
            len(self._kept) > _MOST_KEPT or sum(map(len, self._kept)) > _LONGEST
        ):
            self._kept.popitem(last=False)

    def _compile(self, constraint: Constraint) -> Grammar:
        text, name = constraint.grammar, constraint.parameter or "the grammar"
        if len(text.encode("utf-8", "replace")) > _LONGEST:
            raise ConstraintError(
                f"{name} is longer than {_LONGEST} bytes; simplify it"
            )
        if _has_surrogates(text):
            raise ConstraintError(f"{name} has a lone surrogate, which is no text")
        matcher = self._llguidance.LLMatcher(
            self._tokenizer,
            self._llguidance.LLMatcher.grammar_from_lark(text + _NO_FORCING),
            log_level=0,
            limits=self._limits,
        )
        grammar = Grammar(matcher, self._tokenizer, self._end_tokens, name)
        _try(grammar.matcher(), name, self._end_tokens)
        return grammar


class Grammar:
    """A grammar that is known to be right. Any thread."""

    def __init__(
        self,
        matcher: llguidance.LLMatcher,
        tokenizer: llguidance.LLTokenizer,
        end_tokens: frozenset[int],
        name: str,
    ) -> None:
        """Take over a matcher, which is where texts begin.

        Raises:
            ConstraintError: It met an error in its grammar.
        """
        if matcher.is_error():
            raise ConstraintError(_message(name, matcher))
        self._matcher = matcher
        self._tokenizer = tokenizer
        self._end_tokens = end_tokens
        self._name = name
        self._lock = threading.Lock()

    def matcher(self) -> GrammarMatcher:
        """Return a matcher at the beginning of the text. PERF: some microseconds."""
        with self._lock:
            copy = self._matcher.deep_copy()
        return GrammarMatcher(copy, self._tokenizer, self._end_tokens, self._name)

    def behind(self, text: str) -> Grammar:
        """See `CompiledConstraint.behind`."""
        matcher = self.matcher()
        for token in self._tokenizer.tokenize_bytes(text.encode()):
            if token in self._end_tokens or not matcher.allows(token):
                raise ConstraintError(f"{self._name} allows no text that begins so")
            matcher.consume(token)
        return Grammar(matcher.release(), self._tokenizer, self._end_tokens, self._name)


class GrammarMatcher:
    """Where one generation is in its grammar. One thread at a time.

    See `llamactypes.constraints.constraint.Matcher`.
    """

    __slots__ = ("_end_tokens", "_left_s", "_matcher", "_name", "_tokenizer")

    def __init__(
        self,
        matcher: llguidance.LLMatcher,
        tokenizer: llguidance.LLTokenizer,
        end_tokens: frozenset[int],
        name: str,
    ) -> None:
        self._matcher = matcher
        self._tokenizer = tokenizer
        self._end_tokens = end_tokens
        self._name = name
        self._left_s = _MOST_S

    def release(self) -> llguidance.LLMatcher:
        """Return what is within, at its place, to somebody who goes on with it."""
        return self._matcher

    def allows(self, token: int) -> bool:
        """See `Matcher.allows`."""
        matcher = self._matcher
        if matcher.validate_tokens([token]):
            return True
        # Behind its end a grammar allows nothing, says llguidance.
        return token in self._end_tokens and self.is_finished

    def consume(self, token: int) -> None:
        """See `Matcher.consume`."""
        started = time.thread_time()
        if not self._matcher.consume_token(token):
            raise ConstraintError(_message(self._name, self._matcher))
        self._spend(time.thread_time() - started - _MOST_S_EACH)

    def mask(self) -> bytes:
        """See `Matcher.mask`."""
        started = time.thread_time()
        mask: bytes = self._matcher.compute_bitmask()
        if self._matcher.is_error():
            raise ConstraintError(_message(self._name, self._matcher))
        self._spend(time.thread_time() - started)
        return mask

    def _spend(self, seconds: float) -> None:
        self._left_s -= seconds
        if self._left_s < 0:
            raise ConstraintError(
                f"{self._name} takes too long to follow: more than {_MOST_S:g} s, and "
                f"{_MOST_S_EACH * 1e3:g} ms for each token; simplify it"
            )

    def forced(self, last: int) -> Sequence[int]:
        """See `Matcher.forced`."""
        # Of a copy: a matcher that was asked gives no mask where a control token is
        # fixed (llguidance 1.9.1, with no_forcing).
        data: bytes = self._matcher.deep_copy().compute_ff_bytes()
        if not data:
            return ()
        tokens = self._tokens(data, last)
        return tokens[: self._matcher.validate_tokens(tokens)] if tokens else ()

    def _tokens(self, data: bytes, last: int) -> list[int]:
        """Return the tokens of fixed bytes, up to and with the first control token."""
        tokens: list[int]
        text, mark, rest = data.partition(_SPECIAL)
        if not mark:
            tokens, _ = self._tokenizer.tokenize_partial(text, recent_tokens=[last])
            return tokens
        tokens = self._tokenizer.tokenize_bytes(text) if text else []
        found = _NUMBER.match(rest)
        if found is not None and int(found[1]) not in self._end_tokens:
            tokens.append(int(found[1]))
        return tokens

    @property
    def is_finished(self) -> bool:
        """See `Matcher.is_finished`."""
        return self._matcher.is_stopped() and not self._matcher.is_error()


class _Pieces:
    """A vocabulary as llguidance's ``TokenizerWrapper`` reads it."""

    def __init__(self, vocabulary: Callable[[], Vocabulary]) -> None:
        vocab = vocabulary()
        tokens = range(vocab.n_tokens)
        self._vocabulary = vocabulary
        self._n_mark = len(vocab.tokenize(_MARK, parse_special=False))
        self.eos_token_id = vocab.eog_tokens[0]
        self.bos_token_id = vocab.bos
        self.tokens = [vocab.piece(token) for token in tokens]
        # What has no text but as a control token: only ``<[id]>`` stands for it.
        self.special_token_ids = [
            token
            for token in tokens
            if self.tokens[token] and not vocab.piece(token, special=False)
        ]

    def __call__(self, text: str | bytes) -> list[int]:
        data = text.encode() if isinstance(text, str) else text
        tokens = self._vocabulary().tokenize(_MARK + data, parse_special=False)
        return tokens[self._n_mark :]


def _try(matcher: GrammarMatcher, name: str, end_tokens: frozenset[int]) -> None:
    """Follow some text, whichever is allowed: errors come out before the first byte.

    What llguidance finds out of a grammar's words here serves every text.

    Raises:
        ConstraintError: There is no text, or the grammar is too complex.
    """
    for n in range(_N_TRIED):
        mask = int.from_bytes(matcher.mask(), "little")
        for token in end_tokens:
            mask &= ~(1 << token)
        if not mask:
            if n == 0 and not matcher.is_finished:
                raise ConstraintError(f"{name} allows no text at all")
            return
        matcher.consume((mask & -mask).bit_length() - 1)


def _import() -> Any:
    try:
        import llguidance
    except ImportError as error:
        raise ConstraintUnavailable(f"{_INSTALL} ({error})") from error
    return llguidance


def _message(name: str, matcher: llguidance.LLMatcher) -> str:
    """Return what is wrong, in words of this project and then of llguidance."""
    detail = matcher.get_error().strip()
    first = _OURS.sub("", re.split("<state>|<non-verbose/>", detail)[0]).strip()
    first = first or "no reason was given"
    if _TOO_COMPLEX.search(first):
        return f"{name} is too complex to follow ({_shown(first)}); simplify it"
    if first.startswith("NoExtension"):
        return f"{name} leads to a place where no text may follow"
    return f"{name} cannot be used: {_shown(first)}"


def _shown(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
