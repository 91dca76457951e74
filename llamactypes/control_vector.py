"""Control vectors: a direction for each layer, added to what the layer gives on."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from llamactypes.errors import ModelLoadError
from llamactypes.gguf_tensors import read_vectors

__all__ = ("read_control_vectors",)

_NAME = re.compile(r"direction\.(\d+)")


def read_control_vectors(
    files: Iterable[tuple[str, float]], *, n_embd: int, n_layer: int
) -> NDArray[np.float32]:
    """Return the sum of the directions in `files`, each times its scale.

    The shape is (n_layer - 1, n_embd): one row per layer from layer 1 on, as
    `Context.set_control_vector` takes it. Directions of later layers are left out, as
    the library does (common/common.cpp, ``common_control_vector_load``).

    Raises:
        ModelLoadError: A file cannot be read, holds no directions or is for another
            model.
    """
    rows = np.zeros((max(0, n_layer - 1), n_embd), np.float32)
    for path, scale in files:
        vectors = read_vectors(path)
        if not vectors:
            raise ModelLoadError(f"control vector {path} holds no directions")
        for name, vector in vectors.items():
            layer = _layer(path, name)
            if vector.shape != (n_embd,):
                raise ModelLoadError(
                    f"control vector {path} is for another model: {name} has "
                    f"{vector.shape[0]} values, a layer {n_embd}"
                )
            if layer < n_layer:
                rows[layer - 1] += np.float32(scale) * vector
    return rows


def _layer(path: str, name: str) -> int:
    match = _NAME.fullmatch(name)
    if match is None or int(match[1]) == 0:
        raise ModelLoadError(
            f"control vector {path} holds {name}; expected direction.1 and so on"
        )
    return int(match[1])
