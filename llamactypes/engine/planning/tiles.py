"""Lengths of prompt chunks that the library computes fast. Pure.

Flash attention on the CPU takes queries in tiles of 64 (ggml-cpu/common.h,
``GGML_FA_TILE_Q``). A micro-batch with fewer tokens of a sequence goes another way: 63
tokens at depth 3,000 take 2.7 times as long as 64 (0.94 s against 0.35 s measured, a
135M model, AMX). Whole tiles hurt nowhere else.
"""

from __future__ import annotations

__all__ = ("TILE", "chunk_length", "whole_tiles")

TILE = 64
_COSTLY_REST = 48
"""As many tokens outside of a tile take as long as a tile."""


def whole_tiles(n_max: int, n_generating: int, *, is_unified: bool) -> int:
    """Return the length nearest below `n_max` that makes whole tiles; at least one.

    With one KV buffer, the tokens of running streams lie in the same tiles. With a
    buffer each, the library computes the first token of the prompt together with
    theirs, and what remains of it alone (llama-batch.cpp, ``split_equal``).

    Args:
        n_max: Prompt tokens there is room for; below a tile it is returned as it is.
        n_generating: Running streams in the same decode.
        is_unified: One KV buffer for all sequences.
    """
    if n_max < TILE or not n_generating:
        return n_max
    if is_unified:
        n_tiles = max(n_generating // TILE + 1, (n_max + n_generating) // TILE)
        return n_tiles * TILE - n_generating
    return max(1, (n_max - 1) // TILE) * TILE + 1


def chunk_length(n_missing: int, n_max: int, n_room: int) -> int:
    """Return how much of a prompt to take so that no costly rest remains for later.

    Args:
        n_missing: Tokens of the prompt still to be computed.
        n_max: Most to take; less than a tile more is taken when that ends the prompt
            and would cost more than a tile by itself.
        n_room: Tokens that fit the batch.
    """
    is_costly_rest = _COSTLY_REST <= n_missing - n_max < TILE <= n_max
    return min(n_missing if is_costly_rest else n_max, n_missing, n_room)
