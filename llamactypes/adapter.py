"""LoRA adapters: small changes to a model's weights, applied by a context."""

from __future__ import annotations

import logging
import os
import weakref
from typing import TYPE_CHECKING

from llamactypes import _native_log
from llamactypes import bindings as C  # noqa: N812
from llamactypes._handle import NativeObject
from llamactypes._text import read_string
from llamactypes.errors import ModelLoadError

if TYPE_CHECKING:
    from llamactypes.context import Context
    from llamactypes.model import Model

__all__ = ("LoraAdapter",)

logger = logging.getLogger("llamactypes.objects")


class LoraAdapter(NativeObject[C.llama_adapter_lora_p]):
    """A loaded adapter of one model; use it with `Context.set_adapters`.

    Closing it takes it out of the contexts that use it, on their thread.
    """

    _closes_after_siblings = True  # the contexts that use it go first

    def __init__(self, model: Model, path: str | os.PathLike[str]) -> None:
        """Load a GGUF adapter.

        Raises:
            ModelLoadError: No such file, or it does not fit the model.

        C: llama.h `llama_adapter_lora_init`.
        """
        self.model = model
        self.path = os.fspath(path)
        self._users: weakref.WeakSet[Context] = weakref.WeakSet()
        if not os.path.isfile(self.path):
            raise ModelLoadError(f"LoRA adapter {self.path} does not exist")
        with _native_log.collect_problems() as problems:
            handle = C.llama_adapter_lora_init(model.raw, os.fsencode(self.path))
        if not handle:
            raise ModelLoadError(
                f"LoRA adapter {self.path} cannot be loaded: "
                f"{_native_log.reason(problems)}"
            )
        self._own(handle, _free_adapter, parent=model)
        self.metadata = _read_metadata(handle)
        self.alora_tokens = _read_alora_tokens(handle)

    def used_by(self, context: Context) -> None:
        """Remember a context that applies this adapter (held weakly)."""
        self._users.add(context)

    def close(self) -> None:
        """Take the adapter out of every context, then free it.

        Raises:
            ThreadMisuse: A context that uses it belongs to another thread.
        """
        if self.closed:
            return
        for context in tuple(self._users):
            if not context.closed:
                context.set_adapters(
                    [(one, scale) for one, scale in context.adapters if one is not self]
                )
        super().close()


def _read_metadata(handle: C.llama_adapter_lora_p) -> dict[str, str]:
    metadata = {}
    for index in range(C.llama_adapter_meta_count(handle)):
        key = read_string(C.llama_adapter_meta_key_by_index, handle, index)
        value = read_string(C.llama_adapter_meta_val_str_by_index, handle, index)
        if key is not None and value is not None:
            metadata[key] = value
    return metadata


def _read_alora_tokens(handle: C.llama_adapter_lora_p) -> tuple[int, ...]:
    """Return the tokens that switch an activated LoRA on; empty for a plain one."""
    count = C.llama_adapter_get_alora_n_invocation_tokens(handle)
    if not count:
        return ()
    tokens = C.llama_adapter_get_alora_invocation_tokens(handle)
    return tuple(tokens[index] for index in range(count))


def _free_adapter(handle: C.llama_adapter_lora_p) -> None:
    C.llama_adapter_lora_free(handle)
