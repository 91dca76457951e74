"""Computes batches of inputs on a context that embeds. Engine thread only."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from llamactypes.batch import Batch
from llamactypes.context import AbortFlag, Context
from llamactypes.embeddings import EmbeddingOutput
from llamactypes.errors import ContextError

__all__ = ("Embedder", "LlamaEmbedder")

logger = logging.getLogger("llamactypes.engine")


class Embedder(Protocol):
    """The seam between queueing and the library; tests put a fake here."""

    @property
    def pooling(self) -> str:
        """How rows are made: none, mean, cls, last or rank."""

    @property
    def width(self) -> int:
        """Numbers in a row."""

    @property
    def n_tokens_batch(self) -> int:
        """Most tokens of several inputs computed together."""

    @property
    def n_tokens_input(self) -> int:
        """Most tokens of one input."""

    def run(self, inputs: Sequence[tuple[int, ...]]) -> list[NDArray[np.float32]]:
        """Return an array of shape (n_rows, width) for each input.

        Raises:
            KVCacheFull: No room for them; nothing was computed.
            DecodeAborted: Interrupted; nothing is left of it.
            DecodeError: Fatal.
        """

    def interrupt(self) -> None:
        """Make the running computation end early. Any thread."""


class LlamaEmbedder:
    """The real one, over libllama; sequence n is input n of the batch."""

    def __init__(self, context: Context) -> None:
        """Take over `context`; the caller closes it after `close`.

        Raises:
            ContextError: The model cannot be used for embeddings.
        """
        model = context.model
        if model.has_encoder and model.has_decoder:
            raise ContextError(
                f"{model.path} has an encoder and a decoder: such models give no "
                "embeddings; leave out --embeddings"
            )
        self._context = context
        self._output = EmbeddingOutput(context)
        self.pooling = self._output.pooling
        self.width = self._output.width
        n_ctx = min(context.n_ctx_seq, model.n_ctx_train) or context.n_ctx_seq
        self.n_tokens_batch = min(context.n_batch, context.n_ubatch, context.n_ctx)
        is_split = self._can_split
        self.n_tokens_input = n_ctx - 1 if is_split else min(n_ctx, self.n_tokens_batch)
        self._batch = Batch(self.n_tokens_batch)
        self._abort = AbortFlag()
        context.set_abort(self._abort)
        if self.pooling == "rank":
            _warn_of_missing_head(context)

    @property
    def _can_split(self) -> bool:
        """Whether a long input may be computed in parts: only its end is read."""
        is_causal = self._context.has_memory and self._context.model.is_causal
        return is_causal and self.pooling in ("last", "rank")

    def run(self, inputs: Sequence[tuple[int, ...]]) -> list[NDArray[np.float32]]:
        """See `Embedder.run`."""
        try:
            if len(inputs) == 1:
                return [self._run_one(inputs[0])]
            return self._run_together(inputs)
        finally:
            # After, not before: an interrupt for this must not be lost. One that comes
            # late aborts the next run, which is then simply done again.
            self._abort.clear()
            if self._context.has_memory:
                self._context.memory.clear(False)

    def _run_one(self, tokens: tuple[int, ...]) -> NDArray[np.float32]:
        for start in range(0, len(tokens), self.n_tokens_batch):
            part = tokens[start : start + self.n_tokens_batch]
            self._batch.clear()
            self._add(part, start, 0)
            self._context.decode(self._batch)
        return self._rows(0, 0, len(tokens))

    def _run_together(
        self, inputs: Sequence[tuple[int, ...]]
    ) -> list[NDArray[np.float32]]:
        self._batch.clear()
        firsts = [self._add(tokens, 0, seq) for seq, tokens in enumerate(inputs)]
        self._context.decode(self._batch)
        return [
            self._rows(seq, firsts[seq], len(tokens))
            for seq, tokens in enumerate(inputs)
        ]

    def _add(self, tokens: tuple[int, ...], start: int, seq_id: int) -> int:
        positions = range(start, start + len(tokens))
        # Every token is an output: pooling reads all of them.
        return self._batch.add_each(tokens, positions, [seq_id] * len(tokens))

    def _rows(self, seq_id: int, first: int, n_tokens: int) -> NDArray[np.float32]:
        if self.pooling != "none":
            return self._output.sequence(seq_id)[None, :]
        tokens = range(first, first + n_tokens)
        return np.stack([self._output.token(index) for index in tokens])

    def interrupt(self) -> None:
        """See `Embedder.interrupt`."""
        self._abort.set()

    def close(self) -> None:
        """Free the batch; the context stays."""
        self._batch.close()


def _warn_of_missing_head(context: Context) -> None:
    """Say so when ranking can only give numbers without meaning."""
    model, vocab = context.model, context.model.vocab
    has_template = model.chat_template("rerank") is not None
    if not has_template and vocab.eos is None and vocab.sep is None:
        logger.warning(
            "this model has neither an end nor a separator token, nor a template for "
            "reranking: scores will mean nothing"
        )
