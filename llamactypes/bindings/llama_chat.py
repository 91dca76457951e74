"""llama.h: the built-in chat templates (no Jinja)."""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from ctypes import POINTER, c_bool, c_char, c_char_p, c_int32, c_size_t
from typing import TYPE_CHECKING

from llamactypes.bindings._declare import c_function
from llamactypes.bindings.structs import llama_chat_message

if TYPE_CHECKING:
    from llamactypes.bindings.types import Pointer

__all__ = (
    "llama_chat_apply_template",
    "llama_chat_builtin_templates",
)


@c_function(
    "int32_t llama_chat_apply_template(const char * tmpl, "
    "const struct llama_chat_message * chat, size_t n_msg, bool add_ass, "
    "char * buf, int32_t length)",
    argtypes=[
        c_char_p,
        POINTER(llama_chat_message),
        c_size_t,
        c_bool,
        POINTER(c_char),
        c_int32,
    ],
    restype=c_int32,
)
def llama_chat_apply_template(
    tmpl: bytes | None,
    chat: Pointer[llama_chat_message],
    n_msg: int,
    add_ass: bool,
    buf: Pointer[c_char],
    length: int,
) -> int:
    """Write a rendered chat; returns its length in bytes, below 0 for an unknown template.

    Only templates built into the library are known: `tmpl` is a name or a Jinja text
    that is recognised, not executed. A length above `length` means the buffer was too
    small.
    """


@c_function(
    "int32_t llama_chat_builtin_templates(const char ** output, size_t len)",
    argtypes=[POINTER(c_char_p), c_size_t],
    restype=c_int32,
)
def llama_chat_builtin_templates(output: Pointer[c_char_p], len: int) -> int:
    """Write up to `len` names of built-in templates; returns how many there are."""
