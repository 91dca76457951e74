"""Rows of logits that tell how likely a prompt's tokens were. Engine thread only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from llamactypes.batch import Batch
from llamactypes.context import Context
from llamactypes.engine.compute.logprobs import top_logprobs
from llamactypes.engine.planning.plan import Chunk, PromptProbs
from llamactypes.engine.request import TokenProbs
from llamactypes.vocab import Vocab

__all__ = ("PromptRows", "token_probs")


class PromptRows:
    """The chunks of one batch whose prompts' logprobs are wanted."""

    def __init__(self, context: Context, vocab: Vocab) -> None:
        self._context = context
        self._vocab = vocab
        self._chunks: list[tuple[Chunk, int]] = []

    def clear(self) -> None:
        """Forget the chunks of the last batch."""
        self._chunks.clear()

    def fill(self, batch: Batch, chunk: Chunk, slot: int) -> None:
        """Add a chunk's tokens to `batch`, and ask for the logits of its rows."""
        self._chunks.append((chunk, batch.n_tokens))
        tokens, end = chunk.sequence.tokens, chunk.start + chunk.n_tokens
        for position in range(chunk.start, end):
            is_sampled = chunk.wants_logits and position == end - 1
            wants = is_sampled or position in chunk.prompt_rows
            batch.add(tokens[position], position, slot, wants)

    def probs(self) -> list[PromptProbs]:
        """Return what the rows tell, until the next decode."""
        return [
            PromptProbs(chunk.sequence, tuple(self._of_chunk(chunk, index)))
            for chunk, index in self._chunks
        ]

    def _of_chunk(self, chunk: Chunk, index: int) -> Iterator[TokenProbs]:
        """Yield the next prompt tokens' logprobs; `index` is the chunk's in the batch.

        PERF: row after row, 0.1 ms each at a vocabulary of 49k; all rows of a chunk at
        once are no faster and would need as much memory again.
        """
        sequence, first = chunk.sequence, index - chunk.start
        n_top = sequence.request.prompt_probs or 0
        for position in chunk.prompt_rows:
            token = sequence.tokens[position + 1]
            logits = self._context.logits(first + position)
            value, top = top_logprobs(logits, token, n_top)
            yield token_probs(self._vocab, token, value, top)


def token_probs(
    vocab: Vocab, token: int, value: float, top: Iterable[tuple[int, float]]
) -> TokenProbs:
    """Return the values of a token and its rivals, with their pieces."""
    piece = vocab.piece
    rivals = tuple((id, piece(id), each) for id, each in top)
    return TokenProbs(token, piece(token), value, rivals)
