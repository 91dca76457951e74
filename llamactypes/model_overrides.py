"""What a load may change about a model: metadata, and where its tensors go."""

from __future__ import annotations

import ctypes
from typing import Any

from llamactypes import bindings as C  # noqa: N812
from llamactypes.errors import ModelLoadError

__all__ = ("MetadataValue", "fill_metadata", "fill_placement")

MetadataValue = int | float | bool | str

_MAX_BYTES = 127
"""Of a key and of a text (llama.h, ``llama_model_kv_override``)."""
_INT64_MAX = 2**63 - 1


def fill_metadata(
    native: Any, overrides: tuple[tuple[str, MetadataValue], ...], held: list[object]
) -> None:
    """Let the library read these values instead of the file's.

    `held` keeps the array alive until the load ends.

    Raises:
        ModelLoadError: A key or a value is too long.
    """
    array = (C.llama_model_kv_override * (len(overrides) + 1))()  # "" ends the list
    for entry, (key, value) in zip(array, overrides, strict=False):
        entry.key = _bounded(key, "key")
        _set_value(entry, key, value)
    held.append(array)
    native.kv_overrides = array


def _set_value(entry: Any, key: str, value: MetadataValue) -> None:
    if isinstance(value, bool):
        entry.tag, entry.val_bool = C.LLAMA_KV_OVERRIDE_TYPE_BOOL, value
    elif isinstance(value, int):
        if not -_INT64_MAX <= value <= _INT64_MAX:
            raise ModelLoadError(f"the value of {key} does not fit 64 bits: {value}")
        entry.tag, entry.val_i64 = C.LLAMA_KV_OVERRIDE_TYPE_INT, value
    elif isinstance(value, float):
        entry.tag, entry.val_f64 = C.LLAMA_KV_OVERRIDE_TYPE_FLOAT, value
    else:
        entry.tag = C.LLAMA_KV_OVERRIDE_TYPE_STR
        entry.val_str = _bounded(value, f"value of {key}")


def _bounded(text: str, name: str) -> bytes:
    raw = text.encode("utf-8")
    if not raw or len(raw) > _MAX_BYTES or b"\0" in raw:
        raise ModelLoadError(
            f"the {name} to override must have 1 to {_MAX_BYTES} bytes: {text[:80]!r}"
        )
    return raw


def fill_placement(
    native: Any, overrides: tuple[tuple[str, str], ...], held: list[object]
) -> None:
    """Put tensors whose name a pattern matches into a named kind of buffer.

    Args:
        native: The library's parameters.
        overrides: (regular expression, buffer type such as "CPU"); the first that
            matches wins.
        held: Keeps the arrays alive until the load ends.

    Raises:
        ModelLoadError: There is no such buffer type, or there are too many patterns.
    """
    limit = int(C.llama_max_tensor_buft_overrides()) - 1  # NULL ends the list
    if len(overrides) > limit:
        raise ModelLoadError(f"{len(overrides)} tensor patterns; at most {limit}")
    known = _buffer_types()
    array = (C.llama_model_tensor_buft_override * (len(overrides) + 1))()
    for entry, (pattern, name) in zip(array, overrides, strict=False):
        if name not in known:
            raise ModelLoadError(
                f"no buffer type {name!r}; there are {', '.join(known)}"
            )
        text = ctypes.create_string_buffer(pattern.encode("utf-8"))
        held.append(text)
        entry.pattern = ctypes.cast(text, ctypes.c_char_p)
        entry.buft = known[name]
    held.append(array)
    native.tensor_buft_overrides = array


def _buffer_types() -> dict[str, Any]:
    """Return the buffer type of each device by its name, as llama-server does."""
    found = {}
    for index in range(C.ggml_backend_dev_count()):
        buffer_type = C.ggml_backend_dev_buffer_type(C.ggml_backend_dev_get(index))
        if buffer_type:
            name = C.ggml_backend_buft_name(buffer_type) or b""
            found[name.decode("utf-8", "replace")] = buffer_type
    return found
