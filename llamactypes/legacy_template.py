"""libllama's built-in chat formats: a fixed list in C, no Jinja."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from llamactypes import bindings as C  # noqa: N812
from llamactypes import runtime
from llamactypes.errors import TemplateError

__all__ = ("apply", "builtin_names")

_MARGIN_BYTES = 1024


def apply(
    template: str,
    messages: Sequence[tuple[str, str]],
    *,
    add_generation_prompt: bool,
) -> str:
    """Return the prompt for `messages`.

    Args:
        template: A name of `builtin_names`, or a Jinja template that the library
            recognises by its markers; it is not interpreted.
        messages: (role, content) pairs.
        add_generation_prompt: End with the start of the assistant's turn.

    Raises:
        TemplateError: The library does not recognise the template, or a message holds
            a NUL character.

    C: llama.h `llama_chat_apply_template`.
    """
    runtime.start_backend()
    pairs = [(_c_text(role), _c_text(content)) for role, content in messages]
    array = (C.llama_chat_message * len(pairs))(
        *(C.llama_chat_message(role, content) for role, content in pairs)
    )
    name = _c_text(template)
    size = 2 * sum(len(role) + len(text) for role, text in pairs) + _MARGIN_BYTES
    while True:
        buffer = ctypes.create_string_buffer(size)
        length = C.llama_chat_apply_template(
            name, array, len(pairs), add_generation_prompt, buffer, size
        )
        if length < 0:
            raise TemplateError(
                "llama.cpp has no built-in form of this chat template; "
                f"it knows {', '.join(builtin_names())}"
            )
        if length <= size:
            return buffer.raw[:length].decode("utf-8", "replace")
        size = length


def builtin_names() -> tuple[str, ...]:
    """Return the names the library has a format for.

    C: llama.h `llama_chat_builtin_templates`.
    """
    runtime.start_backend()
    count: int = C.llama_chat_builtin_templates(None, 0)
    names = (ctypes.c_char_p * count)()
    C.llama_chat_builtin_templates(names, count)
    return tuple((name or b"").decode("utf-8") for name in names)


def _c_text(text: str) -> bytes:
    if "\0" in text:
        raise TemplateError("a NUL character cannot be part of a chat prompt")
    return text.encode("utf-8", "replace")
