"""What a context that computes embeddings puts out: rows of numbers."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from llamactypes import bindings as C  # noqa: N812
from llamactypes.errors import ContextError, SymbolMissing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from llamactypes.context import Context
    from llamactypes.model import Model

__all__ = ("EmbeddingOutput",)

_POOLING = {
    C.LLAMA_POOLING_TYPE_NONE: "none",
    C.LLAMA_POOLING_TYPE_MEAN: "mean",
    C.LLAMA_POOLING_TYPE_CLS: "cls",
    C.LLAMA_POOLING_TYPE_LAST: "last",
    C.LLAMA_POOLING_TYPE_RANK: "rank",
}


class EmbeddingOutput:
    """A view of a context made with ``embeddings=True``; the context's owner uses it.

    Each method raises `ThreadMisuse` and `ClosedError` as the context does.
    """

    def __init__(self, context: Context) -> None:
        """Look at how `context` pools.

        Raises:
            ContextError: It computes no embeddings, or pools in an unknown way.
        """
        context.check_owner()
        if not context.params.embeddings:
            raise ContextError("this context computes no embeddings; set embeddings")
        kind = C.llama_pooling_type(context.raw)
        if kind not in _POOLING:
            raise ContextError(f"the library pools in an unknown way ({kind})")
        self._context = context
        self.pooling: str = _POOLING[kind]
        """"none" (a row for each token), "mean", "cls", "last" or "rank"."""
        self.width = _width(context.model, self.pooling)
        """Numbers in a row: of an embedding, or the scores of a ranking."""

    def sequence(self, seq_id: int) -> NDArray[np.float32]:
        """Return the pooled row of a sequence in the last batch; a copy.

        Raises:
            IndexError: The batch had no output of it, or nothing is pooled.

        C: llama.h `llama_get_embeddings_seq`.
        """
        row = C.llama_get_embeddings_seq(self._use(), seq_id)
        if not row:
            raise IndexError(f"the last batch has no embedding of sequence {seq_id}")
        return self._copy(row)

    def token(self, index: int) -> NDArray[np.float32]:
        """Return the row of a token, by its index in the last batch; a copy.

        Raises:
            IndexError: The token has no output, or rows are pooled.

        C: llama.h `llama_get_embeddings_ith`.
        """
        row = C.llama_get_embeddings_ith(self._use(), index)
        if not row:
            raise IndexError(f"token {index} of the last batch has no embedding")
        return self._copy(row)

    def _use(self) -> C.llama_context_p:
        self._context.check_owner()
        return self._context.raw

    def _copy(self, row: Any) -> NDArray[np.float32]:
        # The library's buffer is written over by the next decode.
        n_bytes = self.width * ctypes.sizeof(ctypes.c_float)
        return np.frombuffer(ctypes.string_at(row, n_bytes), dtype=np.float32)


def _width(model: Model, pooling: str) -> int:
    if pooling == "rank":
        return int(C.llama_model_n_cls_out(model.raw))
    try:
        return int(C.llama_model_n_embd_out(model.raw))
    except SymbolMissing:  # older libraries: always the size of the hidden state
        return model.n_embd
