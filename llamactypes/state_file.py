"""The head of a sequence's file: which tokens the state behind it belongs to.

    magic, version, n words, words …                     llama_state_seq_save_file
    words: tokens …                                      plain
    words: -1, 1, n tokens, tokens …, n media, media …   as llama-server packs them

Every number has four bytes in the machine's own order, as the library writes it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from llamactypes import bindings as C  # noqa: N812
from llamactypes.errors import StateError

__all__ = ("pack_head", "unpack_head")

_HEAD = struct.Struct("=III")
_PACKED = struct.Struct("=iII")
_COUNT = struct.Struct("=I")
_MARK = -1
_PACKED_VERSION = 1


def pack_head(tokens: Sequence[int]) -> bytes:
    """Return what comes before the state of `tokens`, in llama-server's form."""
    words = np.asarray(tokens, dtype=np.int32).tobytes()
    payload = _PACKED.pack(_MARK, _PACKED_VERSION, len(tokens)) + words + _COUNT.pack(0)
    n_words = len(payload) // _COUNT.size
    magic, version = C.LLAMA_STATE_SEQ_MAGIC, C.LLAMA_STATE_SEQ_VERSION
    return _HEAD.pack(magic, version, n_words) + payload


def unpack_head(data: bytes | bytearray) -> tuple[list[int], int]:
    """Return the tokens, and where the state begins.

    Raises:
        StateError: It is no such file, or one of another version or with media.
    """
    if len(data) < _HEAD.size:
        raise StateError("it is too short to be a saved sequence")
    magic, version, n_words = _HEAD.unpack_from(data)
    if magic != C.LLAMA_STATE_SEQ_MAGIC:
        raise StateError("it is no saved sequence")
    if version != C.LLAMA_STATE_SEQ_VERSION:
        raise StateError(
            f"its format has version {version}, this library writes and reads "
            f"{C.LLAMA_STATE_SEQ_VERSION}"
        )
    end = _HEAD.size + n_words * _COUNT.size
    if end > len(data):
        raise StateError("it ends within its list of tokens")
    words = np.frombuffer(data, np.int32, n_words, _HEAD.size)
    return _tokens(words), end


def _tokens(words: np.ndarray[tuple[int], np.dtype[np.int32]]) -> list[int]:
    """Return the tokens of either form."""
    if not len(words) or words[0] != _MARK:
        return [int(word) for word in words]
    if len(words) < 4 or words[1] != _PACKED_VERSION:
        raise StateError("its list of tokens has a form that is not known here")
    n_tokens = int(words[2])
    if not 0 <= n_tokens <= len(words) - 4:
        raise StateError("it ends within its list of tokens")
    if words[3 + n_tokens]:
        raise StateError("Cannot restore media tokens without an mmproj")
    if n_tokens != len(words) - 4:
        raise StateError("something follows its list of tokens that is not known here")
    return [int(word) for word in words[3 : 3 + n_tokens]]
