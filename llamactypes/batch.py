"""The tokens of one decode, in arrays that C reads in place."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from llamactypes import bindings as C  # noqa: N812
from llamactypes.errors import ClosedError, InvalidBatch

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ("Batch",)

_INVALID = -1  # the code llama_decode gives for the same mistakes
_int32_p = ctypes.POINTER(ctypes.c_int32)
_int8_p = ctypes.POINTER(ctypes.c_int8)


class Batch:
    """Up to `n_tokens_max` tokens for one `Context.decode`. One thread at a time.

    The memory is numpy's; a `llama_batch` points into it and the library copies what it
    needs during the call. Capacity is checked here. Token and sequence ids are checked
    by the library for the whole batch: it answers -1, raised as `InvalidBatch`.
    """

    def __init__(self, n_tokens_max: int, n_seq_max: int = 1) -> None:
        """Allocate room.

        Args:
            n_tokens_max: Capacity in tokens.
            n_seq_max: How many sequences one token may belong to.
        """
        if n_tokens_max < 1 or n_seq_max < 1:
            raise InvalidBatch("a batch holds at least 1 token of 1 sequence", _INVALID)
        self.n_tokens_max = n_tokens_max
        self.n_seq_max = n_seq_max
        self.n_tokens = 0
        self._token = np.zeros(n_tokens_max, dtype=np.int32)
        self._pos = np.zeros(n_tokens_max, dtype=np.int32)
        self._n_seq_id = np.ones(n_tokens_max, dtype=np.int32)
        self._seq_id = np.zeros((n_tokens_max, n_seq_max), dtype=np.int32)
        self._logits = np.zeros(n_tokens_max, dtype=np.int8)
        rows = (
            self._seq_id.ctypes.data + np.arange(n_tokens_max) * self._seq_id.strides[0]
        )
        self._seq_id_rows = rows.astype(np.uintp)
        self._raw: C.llama_batch | None = self._point()

    def _point(self) -> C.llama_batch:
        batch = C.llama_batch()
        batch.token = ctypes.cast(self._token.ctypes.data, _int32_p)
        batch.pos = ctypes.cast(self._pos.ctypes.data, _int32_p)
        batch.n_seq_id = ctypes.cast(self._n_seq_id.ctypes.data, _int32_p)
        batch.seq_id = ctypes.cast(
            self._seq_id_rows.ctypes.data, ctypes.POINTER(_int32_p)
        )
        batch.logits = ctypes.cast(self._logits.ctypes.data, _int8_p)
        return batch

    @property
    def raw(self) -> Any:
        """The `llama_batch` to pass to the library; valid until the next change.

        Raises:
            ClosedError: The batch was closed.
        """
        if self._raw is None:
            raise ClosedError("this Batch was closed")
        self._raw.n_tokens = self.n_tokens
        return self._raw

    def clear(self) -> None:
        """Forget the tokens; the memory stays."""
        self.n_tokens = 0

    def add(
        self, token: int, pos: int, seq_id: int | Sequence[int], logits: bool
    ) -> int:
        """Append one token.

        Args:
            token: Its id.
            pos: Its position in the sequence.
            seq_id: Its sequence, or up to `n_seq_max` that share it.
            logits: Whether this token's output is wanted.

        Returns:
            The token's index in the batch: what `Context.logits` and
            `SamplerChain.sample` take.

        Raises:
            InvalidBatch: The batch is full, or there are too many sequences.
        """
        index = self._reserve(1)
        self._token[index] = token
        self._pos[index] = pos
        self._logits[index] = logits
        if isinstance(seq_id, int):
            self._n_seq_id[index] = 1
            self._seq_id[index, 0] = seq_id
        else:
            self._set_sequences(index, seq_id)
        self.n_tokens = index + 1
        return index

    def add_each(
        self,
        tokens: Sequence[int],
        positions: Sequence[int],
        seq_ids: Sequence[int] | NDArray[np.int32],
    ) -> int:
        """Append one token to each of several sequences; all outputs are wanted.

        PERF: a quarter of the time of as many calls of `add`.

        Returns:
            The index of the first token added.

        Raises:
            InvalidBatch: There is no room for them, or there are none.
        """
        start = self._append(tokens, positions, seq_ids)
        self._logits[start : self.n_tokens] = 1
        return start

    def extend(
        self,
        tokens: Sequence[int],
        start_pos: int,
        seq_id: int,
        *,
        last_logits: bool,
    ) -> int:
        """Append consecutive tokens of one sequence.

        Args:
            tokens: Token ids.
            start_pos: Position of the first.
            seq_id: Their sequence.
            last_logits: Whether the output of the last one is wanted.

        Returns:
            The index of the last token added.

        Raises:
            InvalidBatch: There is no room for them, or there are none.
        """
        positions = np.arange(start_pos, start_pos + len(tokens), dtype=np.int32)
        start = self._append(tokens, positions, seq_id)
        last = self.n_tokens - 1
        self._logits[start:last] = 0
        self._logits[last] = last_logits
        return last

    def _append(
        self,
        tokens: Sequence[int],
        positions: Sequence[int] | NDArray[np.int32],
        seq_ids: int | Sequence[int] | NDArray[np.int32],
    ) -> int:
        """Append tokens of one sequence each; which outputs are wanted stays open."""
        count = len(tokens)
        if not count:
            raise InvalidBatch("no tokens to add to the batch", _INVALID)
        start = self._reserve(count)
        end = start + count
        self._token[start:end] = tokens
        self._pos[start:end] = positions
        self._n_seq_id[start:end] = 1
        self._seq_id[start:end, 0] = seq_ids
        self.n_tokens = end
        return start

    def close(self) -> None:
        """Release the arrays; a second call does nothing."""
        self._raw = None
        self.n_tokens = 0

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _reserve(self, count: int) -> int:
        if self._raw is None:
            raise ClosedError("this Batch was closed")
        if self.n_tokens + count > self.n_tokens_max:
            raise InvalidBatch(
                f"the batch holds {self.n_tokens} of {self.n_tokens_max} tokens; "
                f"{count} more do not fit",
                _INVALID,
            )
        return self.n_tokens

    def _set_sequences(self, index: int, seq_ids: Sequence[int]) -> None:
        if not 1 <= len(seq_ids) <= self.n_seq_max:
            raise InvalidBatch(
                f"a token of this batch belongs to 1 … {self.n_seq_max} sequences, "
                f"not {len(seq_ids)}",
                _INVALID,
            )
        self._n_seq_id[index] = len(seq_ids)
        self._seq_id[index, : len(seq_ids)] = seq_ids
