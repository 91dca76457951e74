"""How many prompt tokens a decode may take so that it can be interrupted soon. Pure.

The library looks at the abort flag between two operations, and the longest operation
is one layer's attention over one micro-batch: 512 tokens of a 135M model at depth 6,000
take 0.15 s on one CPU thread. Smaller decodes cost nothing in whole tiles (from 512 to
64 tokens: within 2 %), and have smaller operations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from llamactypes.engine.planning.plan import Plan
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.planning.tiles import TILE

__all__ = ("Reaction",)

_LIMIT_S = 0.08
_LEAST_DEPTH = 512
"""Nearer to the start a token's cost hardly depends on its depth."""
_REMEMBERED = 4
"""Decodes of which the cheapest counts: a busy machine only ever adds time, and where a
prompt is cut decides how its sums are rounded."""
_LEAST_KNOWN = 2


class Reaction:
    """Learns what a layer's work on a token costs. Engine thread only.

    A layer's time bounds its longest operation, whatever the model and the machine;
    deep in a context, attention is nearly all of it.
    """

    def __init__(self, n_layer: int, n_ubatch: int) -> None:
        """Make micro-batches of at most 0.08 s a layer.

        Args:
            n_layer: Of the model; 0: unknown, and nothing is limited.
            n_ubatch: Most tokens of a micro-batch.
        """
        self._n_layer = n_layer
        self._n_ubatch = n_ubatch
        self._known: deque[tuple[int, float]] = deque(maxlen=_REMEMBERED)
        """(depth, seconds a token)."""

    def note(self, plan: Plan, seconds: float) -> None:
        """Learn from a decode that was not interrupted."""
        if plan.n_prompt < TILE:
            return
        deepest = max(chunk.start + chunk.n_tokens // 2 for chunk in plan.prompts)
        self._known.append((max(_LEAST_DEPTH, deepest), seconds / plan.n_tokens))

    def n_prompt_max(self, running: Iterable[Sequence]) -> int | None:
        """Return the most prompt tokens, in whole tiles; None: no limit.

        Before a measurement at some depth, costs are taken to grow with it.
        """
        if not self._n_layer or len(self._known) < _LEAST_KNOWN:
            return None
        depth = max((s.n_computed for s in running if not s.is_generating), default=0)
        token_s = min(cost * max(1.0, depth / at) for at, cost in self._known)
        n_max = int(_LIMIT_S / (token_s / self._n_layer))
        return None if n_max >= self._n_ubatch else max(1, n_max // TILE) * TILE
