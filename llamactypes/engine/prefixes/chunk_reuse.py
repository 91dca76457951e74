"""Which computed chunks of an older prompt a new one has elsewhere. Pure.

When a client drops the middle of a conversation, what follows is the same again, at
lower positions. Its cells can be moved there: nearly right, for they were computed with
what is gone. Therefore only on request (``n_cache_reuse``).

    computed  p p p p a a a b b b b b b
    prompt    p p p p b b b b b b x x        b moves down by 3
"""

from __future__ import annotations

from typing import NamedTuple

from llamactypes.engine.prefixes.length import common_prefix_length

__all__ = ("Move", "find_moves")


class Move(NamedTuple):
    """Computed tokens [start, start + n_tokens) belong to position `to` and on."""

    start: int
    to: int
    n_tokens: int

    @property
    def end(self) -> int:
        """First position after the chunk, where it goes."""
        return self.to + self.n_tokens


def find_moves(
    computed: list[int], prompt: list[int], n_common: int, least: int, limit: int
) -> tuple[Move, ...]:
    """Return the chunks that continue `prompt` without a gap after `n_common` tokens.

    Args:
        computed: Tokens in the KV cache.
        prompt: Tokens wanted.
        n_common: Leading tokens of both that stay where they are.
        least: Shortest chunk worth moving, at least 1.
        limit: Most tokens of the prompt that may be taken over.
    """
    moves: list[Move] = []
    start, to = n_common, n_common
    while start + least <= len(computed) and to + least <= limit:
        if computed[start : start + least] != prompt[to : to + least]:
            start += 1
            continue
        length = common_prefix_length(computed[start:], prompt[to:limit])
        moves.append(Move(start, to, length))
        start, to = start + length, to + length
    return tuple(moves)
