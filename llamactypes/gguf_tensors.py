"""Small tensors of a GGUF file, read without the library (ggml/include/gguf.h).

magic, version, counts ─► metadata (skipped, but for the alignment) ─► names, shapes
and offsets of tensors ─► padding ─► data
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from llamactypes.errors import ModelLoadError

__all__ = ("read_vectors",)

_SCALAR_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""``enum gguf_type`` → size; strings and arrays have others."""
_UINT32, _STRING, _ARRAY = 4, 8, 9
_F32 = 0
_MAX_DIMS = 4
_MAX_COUNT = 1 << 20
_MAX_TEXT = 1 << 24
_VERSIONS = (2, 3)
_ALIGNMENT = "general.alignment"


@dataclass(frozen=True, slots=True)
class _TensorInfo:
    name: str
    shape: tuple[int, ...]
    type: int
    offset: int
    """From the start of the data."""


def read_vectors(path: str) -> dict[str, NDArray[np.float32]]:
    """Return the tensors of a file that holds float32 vectors only.

    Raises:
        ModelLoadError: It cannot be read, is no GGUF file, or holds other tensors.
    """
    try:
        with open(path, "rb") as file:
            return _Reader(file).vectors()
    except (OSError, ValueError, struct.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelLoadError(f"{path} cannot be read as GGUF: {reason}") from error


class _Reader:
    """Reads one file from its start; ValueError for what makes no sense."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._n_bytes = os.fstat(file.fileno()).st_size
        self._alignment = 32

    def vectors(self) -> dict[str, NDArray[np.float32]]:
        if self._file.read(4) != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        version = self._number("<I")
        if version not in _VERSIONS:
            raise ValueError(f"version {version} is not known")
        n_tensors, n_values = self._count(), self._count()
        for _ in range(n_values):
            self._skip_entry()
        infos = [self._info() for _ in range(n_tensors)]
        start = -(-self._file.tell() // self._alignment) * self._alignment
        return {info.name: self._vector(info, start) for info in infos}

    def _vector(self, info: _TensorInfo, start: int) -> NDArray[np.float32]:
        if info.type != _F32 or len(info.shape) != 1:
            raise ValueError(f"{info.name} is no vector of float32")
        n_bytes = 4 * info.shape[0]
        if start + info.offset + n_bytes > self._n_bytes:
            raise ValueError(f"{info.name} reaches beyond the end of the file")
        self._file.seek(start + info.offset)
        return np.frombuffer(self._file.read(n_bytes), "<f4").astype(np.float32)

    def _info(self) -> _TensorInfo:
        name = self._text()
        n_dims = self._number("<I")
        if n_dims > _MAX_DIMS:
            raise ValueError(f"{name} has {n_dims} dimensions")
        shape = tuple(self._number("<Q") for _ in range(n_dims))
        return _TensorInfo(name, shape, self._number("<I"), self._number("<Q"))

    def _skip_entry(self) -> None:
        key, kind = self._text(), self._number("<I")
        if key == _ALIGNMENT and kind == _UINT32:
            self._alignment = max(1, self._number("<I"))
        else:
            self._skip_value(kind)

    def _skip_value(self, kind: int) -> None:
        if kind == _STRING:
            self._text()
        elif kind == _ARRAY:
            item, count = self._number("<I"), self._count()
            if item == _ARRAY:
                raise ValueError("an array of arrays")
            for _ in range(count):
                self._skip_value(item)
        elif kind in _SCALAR_BYTES:
            self._file.seek(_SCALAR_BYTES[kind], os.SEEK_CUR)
        else:
            raise ValueError(f"metadata of type {kind}")

    def _text(self) -> str:
        n_bytes = self._number("<Q")
        if n_bytes > _MAX_TEXT:
            raise ValueError(f"a text of {n_bytes} bytes")
        return self._file.read(n_bytes).decode("utf-8", "replace")

    def _count(self) -> int:
        count = self._number("<Q")
        if count > _MAX_COUNT:
            raise ValueError(f"a count of {count}")
        return count

    def _number(self, form: str) -> int:
        raw = self._file.read(struct.calcsize(form))
        return int(struct.unpack(form, raw)[0])
