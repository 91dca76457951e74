"""The shortest loop that generates text, for tests that compare continuations."""

from __future__ import annotations

import numpy as np

from llamactypes import Batch, Context


def prefill(context: Context, tokens: list[int], seq_id: int = 0, pos: int = 0) -> None:
    with Batch(len(tokens)) as batch:
        batch.extend(tokens, pos, seq_id, last_logits=True)
        context.decode(batch)


def continue_greedily(
    context: Context, token: int, pos: int, n: int, seq_id: int = 0
) -> list[int]:
    """Decode `token` at `pos`, then `n` arg-max tokens; return those."""
    made: list[int] = []
    with Batch(1) as batch:
        for step in range(n):
            batch.clear()
            batch.add(token, pos + step, seq_id, True)
            context.decode(batch)
            token = int(np.argmax(context.logits(0)))
            made.append(token)
    return made
