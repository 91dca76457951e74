"""The vocabulary of a model: text ↔ tokens. Every method may be called from any thread.

Text given as `str` may hold lone surrogates (JSON allows them) and text given as
`bytes` may be invalid UTF-8: both become U+FFFD before the library sees them, because
some of its tokenizers throw on malformed input, which would end the process.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from llamactypes import bindings as C  # noqa: N812
from llamactypes._handle import Lifeline
from llamactypes.errors import SymbolMissing, TokenizeError
from llamactypes.gate import Gate

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ("SpecialToken", "Vocab")

_KINDS = {
    C.LLAMA_VOCAB_TYPE_NONE: "none",
    C.LLAMA_VOCAB_TYPE_SPM: "spm",
    C.LLAMA_VOCAB_TYPE_BPE: "bpe",
    C.LLAMA_VOCAB_TYPE_WPM: "wpm",
    C.LLAMA_VOCAB_TYPE_UGM: "ugm",
    C.LLAMA_VOCAB_TYPE_RWKV: "rwkv",
    C.LLAMA_VOCAB_TYPE_PLAMO2: "plamo2",
    C.LLAMA_VOCAB_TYPE_TEST: "test",
    C.LLAMA_VOCAB_TYPE_PLAMO3: "plamo3",
}
_INT32_MAX = 2**31 - 1
_INT32_MIN = -(2**31)
_PIECE_BYTES = 64
_PARSED = C.LLAMA_TOKEN_ATTR_CONTROL | C.LLAMA_TOKEN_ATTR_UNKNOWN
_SPARE_TOKENS = 8
_int32_p = ctypes.POINTER(ctypes.c_int32)


@dataclass(frozen=True, slots=True)
class SpecialToken:
    """A token that stands in a text only where special tokens are parsed."""

    token: int
    text: str
    strips_left: bool = False
    """White space before it is not part of the text."""
    strips_right: bool = False
    """White space after it is not part of the text."""


class Vocab:
    """Made by `Model`; owns nothing and keeps the native model alive."""

    def __init__(self, model: C.llama_model_p, keep: Lifeline, gate: Gate) -> None:
        self._keep = keep
        self._gate = gate
        handle = C.llama_model_get_vocab(model)
        self._handle = handle
        self.n_tokens: int = C.llama_vocab_n_tokens(handle)
        self.type: int = C.llama_vocab_type(handle)
        self.kind: str = _KINDS.get(self.type, "unknown")
        # One table with and one without the text of control tokens.
        self._pieces: tuple[list[bytes | None], ...] = (
            [None] * self.n_tokens,
            [None] * self.n_tokens,
        )
        self._longest_piece = 0
        self._read_special_tokens(handle)

    def _read_special_tokens(self, handle: C.llama_vocab_p) -> None:
        self.bos = _optional(C.llama_vocab_bos(handle))
        self.eos = _optional(C.llama_vocab_eos(handle))
        self.eot = _optional(C.llama_vocab_eot(handle))
        self.sep = _optional(C.llama_vocab_sep(handle))
        self.nl = _optional(C.llama_vocab_nl(handle))
        self.pad = _optional(C.llama_vocab_pad(handle))
        self.mask = _optional(C.llama_vocab_mask(handle))
        self.fim_pre = _optional(C.llama_vocab_fim_pre(handle))
        self.fim_suf = _optional(C.llama_vocab_fim_suf(handle))
        self.fim_mid = _optional(C.llama_vocab_fim_mid(handle))
        self.fim_pad = _optional(C.llama_vocab_fim_pad(handle))
        self.fim_rep = _optional(C.llama_vocab_fim_rep(handle))
        self.fim_sep = _optional(C.llama_vocab_fim_sep(handle))
        self.add_bos: bool = C.llama_vocab_get_add_bos(handle)
        self.add_eos: bool = C.llama_vocab_get_add_eos(handle)
        self.add_sep: bool = C.llama_vocab_get_add_sep(handle)
        self.eog_tokens: tuple[int, ...] = self._find(handle, C.llama_vocab_is_eog)
        self.suppress_tokens: tuple[int, ...] = _suppress_tokens(handle)
        self._eog = frozenset(self.eog_tokens)

    def _find(
        self,
        handle: C.llama_vocab_p,
        holds: Callable[[C.llama_vocab_p, int], bool],
    ) -> tuple[int, ...]:
        if self.type == C.LLAMA_VOCAB_TYPE_NONE:
            return ()
        return tuple(token for token in range(self.n_tokens) if holds(handle, token))

    # -- text → tokens -------------------------------------------------------------

    def tokenize(
        self,
        text: str | bytes,
        *,
        add_special: bool = False,
        parse_special: bool = True,
    ) -> list[int]:
        """Return the tokens of `text`.

        Args:
            text: See the module's docstring for malformed text.
            add_special: Add BOS/EOS where the model is configured to.
            parse_special: Recognise the text of control tokens as those tokens.

        Raises:
            TokenizeError: The model has no vocabulary, or the text is too long.
            ClosedError: The model was closed.

        C: llama.h `llama_tokenize`.
        """
        self._require_tokenizer()
        data = _well_formed(text)
        if len(data) > _INT32_MAX:
            raise TokenizeError(f"text of {len(data)} bytes; at most {_INT32_MAX}")
        capacity = len(data) + _SPARE_TOKENS
        with self._gate:
            count, tokens = self._tokenize(data, capacity, add_special, parse_special)
            if _INT32_MIN < count < 0:
                count, tokens = self._tokenize(data, -count, add_special, parse_special)
        if count < 0:
            raise TokenizeError("the text has more tokens than fit into 31 bits")
        found: list[int] = tokens[:count].tolist()
        return found

    def _tokenize(
        self, data: bytes, capacity: int, add_special: bool, parse_special: bool
    ) -> tuple[int, NDArray[np.int32]]:
        tokens = np.empty(capacity, dtype=np.int32)
        count = C.llama_tokenize(
            self._handle,
            data,
            len(data),
            ctypes.cast(tokens.ctypes.data, _int32_p),
            capacity,
            add_special,
            parse_special,
        )
        return count, tokens

    # -- tokens → text -------------------------------------------------------------

    def piece(self, token: int, *, special: bool = True, lstrip: int = 0) -> bytes:
        """Return the bytes of one token; they may end inside a UTF-8 character.

        Args:
            token: 0 … `n_tokens` - 1.
            special: Give control tokens their text; else they are empty.
            lstrip: Leading spaces to leave out.

        Raises:
            IndexError: No such token.

        C: llama.h `llama_token_to_piece`. Cached per token, unless `lstrip` is given.
        """
        if not 0 <= token < self.n_tokens:
            raise self._no_such_token(token)
        if lstrip:
            return self._read_piece(token, special, lstrip)
        pieces = self._pieces[special]
        cached = pieces[token]
        if cached is None:
            cached = pieces[token] = self._read_piece(token, special, 0)
        return cached

    @property
    def longest_piece_bytes(self) -> int:
        """Bytes of the longest piece. The first look reads every token (0.1 s)."""
        if not self._longest_piece:
            lengths = (len(self.piece(token)) for token in range(self.n_tokens))
            self._longest_piece = max(1, max(lengths, default=1))
        return self._longest_piece

    def _read_piece(self, token: int, special: bool, lstrip: int) -> bytes:
        self._require_tokenizer()
        size = _PIECE_BYTES
        with self._gate:
            while True:
                buffer = ctypes.create_string_buffer(size)
                count = C.llama_token_to_piece(
                    self._handle, token, buffer, size, lstrip, special
                )
                if count >= 0:
                    return buffer.raw[:count]
                size = -count

    def detokenize(
        self,
        tokens: Sequence[int],
        *,
        remove_special: bool = False,
        unparse_special: bool = True,
    ) -> str:
        """Return the text of `tokens`; bytes that are no UTF-8 become U+FFFD.

        Args:
            tokens: Each 0 … `n_tokens` - 1.
            remove_special: Leave out BOS/EOS where the model adds them.
            unparse_special: Give control tokens their text.

        Raises:
            TokenizeError: A token is outside the vocabulary.

        C: llama.h `llama_detokenize`.
        """
        self._require_tokenizer()
        ids = self._as_array(tokens)
        size = max(_PIECE_BYTES, 8 * len(ids))
        with self._gate:
            while True:
                buffer = ctypes.create_string_buffer(size)
                count = C.llama_detokenize(
                    self._handle,
                    ctypes.cast(ids.ctypes.data, _int32_p),
                    len(ids),
                    buffer,
                    size,
                    remove_special,
                    unparse_special,
                )
                if count >= 0:
                    return buffer.raw[:count].decode("utf-8", "replace")
                size = max(-count, size + 1)

    def _as_array(self, tokens: Sequence[int]) -> NDArray[np.int32]:
        for token in tokens:
            if not 0 <= token < self.n_tokens:
                raise TokenizeError(str(self._no_such_token(token)))
        return np.array(tokens, dtype=np.int32)

    # -- facts about one token -----------------------------------------------------

    def text(self, token: int) -> str:
        """Return the token as the vocabulary file spells it (not its bytes)."""
        with self._checked(token):
            text: bytes | None = C.llama_vocab_get_text(self._handle, token)
        return (text or b"").decode("utf-8", "replace")

    def score(self, token: int) -> float:
        """Return the score the vocabulary file gives the token."""
        with self._checked(token):
            return float(C.llama_vocab_get_score(self._handle, token))

    def attributes(self, token: int) -> int:
        """Return the token's bits of ``enum llama_token_attr``."""
        with self._checked(token):
            return int(C.llama_vocab_get_attr(self._handle, token))

    def is_eog(self, token: int) -> bool:
        """Whether the token ends a generation (EOS, EOT, …)."""
        return token in self._eog

    def is_control(self, token: int) -> bool:
        """Whether the token is a control token rather than text."""
        return bool(self.attributes(token) & C.LLAMA_TOKEN_ATTR_CONTROL)

    @cached_property
    def control_tokens(self) -> Mapping[str, int]:
        """Text of each control token to the token; the first look reads them all.

        Raises:
            TokenizeError: The model has no vocabulary.
        """
        controls = (t for t in range(self.n_tokens) if self.is_control(t))
        found: dict[str, int] = {}
        for token in controls:
            found.setdefault(self.piece(token).decode("utf-8", "replace"), token)
        return found

    @cached_property
    def special_tokens(self) -> tuple[SpecialToken, ...]:
        """The tokens that only `parse_special` finds in a text: control and unknown.

        Others that are found before a text is cut into words ("user defined") are found
        always. Reads every token at the first look.
        """
        self._require_tokenizer()
        with self._gate:
            bits = {t: self._attributes(t) for t in range(self.n_tokens)}
            return tuple(
                self._special(token, attributes)
                for token, attributes in bits.items()
                if attributes & _PARSED
            )

    def _attributes(self, token: int) -> int:
        return int(C.llama_vocab_get_attr(self._handle, token))

    def _special(self, token: int, attributes: int) -> SpecialToken:
        text: bytes | None = C.llama_vocab_get_text(self._handle, token)
        return SpecialToken(
            token,
            (text or b"").decode("utf-8", "replace"),
            strips_left=bool(attributes & C.LLAMA_TOKEN_ATTR_LSTRIP),
            strips_right=bool(attributes & C.LLAMA_TOKEN_ATTR_RSTRIP),
        )

    def _checked(self, token: int) -> Gate:
        self._require_tokenizer()
        if not 0 <= token < self.n_tokens:
            raise self._no_such_token(token)
        return self._gate

    def _no_such_token(self, token: int) -> IndexError:
        return IndexError(
            f"token {token} is outside the vocabulary (0 … {self.n_tokens - 1})"
        )

    def _require_tokenizer(self) -> None:
        # The library aborts the process when such a vocabulary is asked.
        if self.type == C.LLAMA_VOCAB_TYPE_NONE:
            raise TokenizeError("this model has no vocabulary")


def _optional(token: int) -> int | None:
    return None if token == C.LLAMA_TOKEN_NULL else token


def _suppress_tokens(handle: C.llama_vocab_p) -> tuple[int, ...]:
    count = ctypes.c_int32(0)
    try:
        tokens = C.llama_vocab_get_suppress_tokens(handle, ctypes.byref(count))
    except SymbolMissing:
        return ()
    return tuple(tokens[index] for index in range(count.value))


def _well_formed(text: str | bytes) -> bytes:
    """Return `text` as valid UTF-8, with U+FFFD for what is not text."""
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace").encode("utf-8")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return (
            text.encode("utf-16-le", "surrogatepass")
            .decode("utf-16-le", "replace")
            .encode("utf-8")
        )
