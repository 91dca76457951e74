"""llama.h: vocabulary and tokenization. Any thread."""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_bool, c_char, c_char_p, c_float, c_int, c_int32
from typing import TYPE_CHECKING

from llamactypes.bindings._declare import c_function
from llamactypes.bindings.types import llama_token, llama_vocab_p

if TYPE_CHECKING:
    from llamactypes.bindings.types import Pointer

__all__ = (
    "llama_vocab_type",
    "llama_vocab_n_tokens",
    "llama_vocab_get_text",
    "llama_vocab_get_score",
    "llama_vocab_get_attr",
    "llama_vocab_is_eog",
    "llama_vocab_is_control",
    "llama_vocab_bos",
    "llama_vocab_eos",
    "llama_vocab_eot",
    "llama_vocab_sep",
    "llama_vocab_nl",
    "llama_vocab_pad",
    "llama_vocab_mask",
    "llama_vocab_get_add_bos",
    "llama_vocab_get_add_eos",
    "llama_vocab_get_add_sep",
    "llama_vocab_get_suppress_tokens",
    "llama_vocab_fim_pre",
    "llama_vocab_fim_suf",
    "llama_vocab_fim_mid",
    "llama_vocab_fim_pad",
    "llama_vocab_fim_rep",
    "llama_vocab_fim_sep",
    "llama_tokenize",
    "llama_token_to_piece",
    "llama_detokenize",
)


@c_function(
    "enum llama_vocab_type llama_vocab_type(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=c_int,
)
def llama_vocab_type(vocab: llama_vocab_p | None) -> int:
    """Return the ``llama_vocab_type``."""


@c_function(
    "int32_t llama_vocab_n_tokens(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=c_int32,
)
def llama_vocab_n_tokens(vocab: llama_vocab_p | None) -> int:
    """Return the number of tokens."""


@c_function(
    "const char * llama_vocab_get_text(const struct llama_vocab * vocab, "
    "llama_token token)",
    argtypes=[llama_vocab_p, llama_token],
    restype=c_char_p,
)
def llama_vocab_get_text(vocab: llama_vocab_p | None, token: int) -> bytes | None:
    """Return the token's text as the vocabulary spells it; lives as long as the model.

    The process aborts when `token` is out of range; so for score and attributes.
    """


@c_function(
    "float llama_vocab_get_score(const struct llama_vocab * vocab, llama_token token)",
    argtypes=[llama_vocab_p, llama_token],
    restype=c_float,
)
def llama_vocab_get_score(vocab: llama_vocab_p | None, token: int) -> float:
    """Return the token's score."""


@c_function(
    "enum llama_token_attr llama_vocab_get_attr("
    "const struct llama_vocab * vocab, llama_token token)",
    argtypes=[llama_vocab_p, llama_token],
    restype=c_int,
)
def llama_vocab_get_attr(vocab: llama_vocab_p | None, token: int) -> int:
    """Return the token's ``llama_token_attr`` bits."""


@c_function(
    "bool llama_vocab_is_eog(const struct llama_vocab * vocab, llama_token token)",
    argtypes=[llama_vocab_p, llama_token],
    restype=c_bool,
)
def llama_vocab_is_eog(vocab: llama_vocab_p | None, token: int) -> bool:
    """Whether the token ends generation (EOS, EOT, ...)."""


@c_function(
    "bool llama_vocab_is_control(const struct llama_vocab * vocab, llama_token token)",
    argtypes=[llama_vocab_p, llama_token],
    restype=c_bool,
)
def llama_vocab_is_control(vocab: llama_vocab_p | None, token: int) -> bool:
    """Whether the token is a control token."""


@c_function(
    "llama_token llama_vocab_bos(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=llama_token,
)
def llama_vocab_bos(vocab: llama_vocab_p | None) -> int:
    """Return the beginning-of-sentence token, ``LLAMA_TOKEN_NULL`` if none."""


@c_function(
    "llama_token llama_vocab_eos(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=llama_token,
)
def llama_vocab_eos(vocab: llama_vocab_p | None) -> int:
    """Return the end-of-sentence token, ``LLAMA_TOKEN_NULL`` if none."""


@c_function(
    "llama_token llama_vocab_eot(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=llama_token,
)
def llama_vocab_eot(vocab: llama_vocab_p | None) -> int:
    """Return the end-of-turn token, ``LLAMA_TOKEN_NULL`` if none."""


@c_function(
    "llama_token llama_vocab_sep(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=llama_token,
)
def llama_vocab_sep(vocab: llama_vocab_p | None) -> int:
    """Return the separator token, ``LLAMA_TOKEN_NULL`` if none."""


@c_function(
    "llama_token llama_vocab_nl(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=llama_token,
)
def llama_vocab_nl(vocab: llama_vocab_p | None) -> int:
    """Return the newline token, ``LLAMA_TOKEN_NULL`` if none."""


@c_function(
    "llama_token llama_vocab_pad(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=llama_token,
)
def llama_vocab_pad(vocab: llama_vocab_p | None) -> int:
    """Return the padding token, ``LLAMA_TOKEN_NULL`` if none."""


@c_function(
    "llama_token llama_vocab_mask(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=llama_token,
)
def llama_vocab_mask(vocab: llama_vocab_p | None) -> int:
    """Return the mask token, ``LLAMA_TOKEN_NULL`` if none."""


@c_function(
    "bool llama_vocab_get_add_bos(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=c_bool,
)
def llama_vocab_get_add_bos(vocab: llama_vocab_p | None) -> bool:
    """Whether the tokenizer adds BOS when asked for special tokens."""


@c_function(
    "bool llama_vocab_get_add_eos(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=c_bool,
)
def llama_vocab_get_add_eos(vocab: llama_vocab_p | None) -> bool:
    """Whether the tokenizer adds EOS when asked for special tokens."""


@c_function(
    "bool llama_vocab_get_add_sep(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=c_bool,
)
def llama_vocab_get_add_sep(vocab: llama_vocab_p | None) -> bool:
    """Whether the tokenizer adds SEP when asked for special tokens."""


@c_function(
    "const llama_token * llama_vocab_get_suppress_tokens("
    "const struct llama_vocab * vocab, int32_t * n_suppress_tokens)",
    argtypes=[llama_vocab_p, POINTER(c_int32)],
    restype=POINTER(llama_token),
)
def llama_vocab_get_suppress_tokens(
    vocab: llama_vocab_p | None, n_suppress_tokens: Pointer[c_int32]
) -> ctypes._Pointer[llama_token]:
    """Return the tokens that the model should never generate, and write their number."""


@c_function(
    "llama_token llama_vocab_fim_pre(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=llama_token,
)
def llama_vocab_fim_pre(vocab: llama_vocab_p | None) -> int:
    """Return the fill-in-the-middle prefix token, ``LLAMA_TOKEN_NULL`` if none."""


@c_function(
    "llama_token llama_vocab_fim_suf(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=llama_token,
)
def llama_vocab_fim_suf(vocab: llama_vocab_p | None) -> int:
    """Return the fill-in-the-middle suffix token, ``LLAMA_TOKEN_NULL`` if none."""


@c_function(
    "llama_token llama_vocab_fim_mid(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=llama_token,
)
def llama_vocab_fim_mid(vocab: llama_vocab_p | None) -> int:
    """Return the fill-in-the-middle middle token, ``LLAMA_TOKEN_NULL`` if none."""


@c_function(
    "llama_token llama_vocab_fim_pad(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=llama_token,
)
def llama_vocab_fim_pad(vocab: llama_vocab_p | None) -> int:
    """Return the fill-in-the-middle padding token, ``LLAMA_TOKEN_NULL`` if none."""


@c_function(
    "llama_token llama_vocab_fim_rep(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=llama_token,
)
def llama_vocab_fim_rep(vocab: llama_vocab_p | None) -> int:
    """Return the fill-in-the-middle repository token, ``LLAMA_TOKEN_NULL`` if none."""


@c_function(
    "llama_token llama_vocab_fim_sep(const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=llama_token,
)
def llama_vocab_fim_sep(vocab: llama_vocab_p | None) -> int:
    """Return the fill-in-the-middle file separator token, ``LLAMA_TOKEN_NULL`` if none."""


@c_function(
    "int32_t llama_tokenize(const struct llama_vocab * vocab, const char * text, "
    "int32_t text_len, llama_token * tokens, int32_t n_tokens_max, "
    "bool add_special, bool parse_special)",
    argtypes=[
        llama_vocab_p,
        c_char_p,
        c_int32,
        POINTER(llama_token),
        c_int32,
        c_bool,
        c_bool,
    ],
    restype=c_int32,
)
def llama_tokenize(
    vocab: llama_vocab_p | None,
    text: bytes | None,
    text_len: int,
    tokens: Pointer[llama_token],
    n_tokens_max: int,
    add_special: bool,
    parse_special: bool,
) -> int:
    """Write the tokens of UTF-8 `text`; returns their number.

    When `tokens` is too small, returns minus the number needed and writes nothing of
    use; -2**31 when the number does not fit. `text_len` is in bytes. `parse_special`
    reads control tokens in the text.
    """


@c_function(
    "int32_t llama_token_to_piece(const struct llama_vocab * vocab, "
    "llama_token token, char * buf, int32_t length, int32_t lstrip, bool special)",
    argtypes=[llama_vocab_p, llama_token, POINTER(c_char), c_int32, c_int32, c_bool],
    restype=c_int32,
)
def llama_token_to_piece(
    vocab: llama_vocab_p | None,
    token: int,
    buf: Pointer[c_char],
    length: int,
    lstrip: int,
    special: bool,
) -> int:
    """Write the token's bytes, without a NUL; returns their number.

    When `buf` is too small, returns minus the number needed. `lstrip` leading spaces
    are dropped. Without `special`, control tokens give nothing. The bytes may be part
    of a UTF-8 character.
    """


@c_function(
    "int32_t llama_detokenize(const struct llama_vocab * vocab, "
    "const llama_token * tokens, int32_t n_tokens, char * text, "
    "int32_t text_len_max, bool remove_special, bool unparse_special)",
    argtypes=[
        llama_vocab_p,
        POINTER(llama_token),
        c_int32,
        POINTER(c_char),
        c_int32,
        c_bool,
        c_bool,
    ],
    restype=c_int32,
)
def llama_detokenize(
    vocab: llama_vocab_p | None,
    tokens: Pointer[llama_token],
    n_tokens: int,
    text: Pointer[c_char],
    text_len_max: int,
    remove_special: bool,
    unparse_special: bool,
) -> int:
    """Write the text of tokens, without a NUL; returns its length in bytes.

    When `text` is too small, returns minus the number needed.
    """
