"""Thinking that ends when it is too long: its end is drawn from one token at a time.

As common/sampling.cpp does it: every other token is made impossible, and the chain
draws all the same, so that a seed gives llama-server's text.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as SequenceOf

import numpy as np
from numpy.typing import NDArray

from llamactypes.candidates import Candidates
from llamactypes.context import Context
from llamactypes.engine.compute.constrained import NO_TOKEN, ConstrainedChain
from llamactypes.engine.planning.sequence import Sequence
from llamactypes.engine.text.thinking import ThinkingWatch
from llamactypes.errors import ConstraintError, SamplingError
from llamactypes.sampling import SamplerChain

__all__ = ("LimitedChain",)


class LimitedChain:
    """A sequence's chain or constrained chain, and a watch over its thinking.

    One thread at a time. Like `ConstrainedChain`, whose answers it gives, too.
    """

    @classmethod
    def for_sequence(
        cls,
        sequence: Sequence,
        chain: SamplerChain,
        constrained: ConstrainedChain | None,
        piece: Callable[[int], bytes],
    ) -> LimitedChain | None:
        """Begin a sequence's text; None when its thinking has no limit."""
        limit = sequence.request.thinking
        if limit is None:
            return None
        watch = ThinkingWatch(limit, piece)
        for token in sequence.request.generated:
            watch.accept(token)
        return cls(chain, constrained, watch)

    def __init__(
        self,
        chain: SamplerChain,
        constrained: ConstrainedChain | None,
        watch: ThinkingWatch,
    ) -> None:
        """Draw with `chain`, through `constrained` where the text has a grammar."""
        self._chain = chain
        self._constrained = constrained
        self._watch = watch
        self.forced: SequenceOf[int] = ()
        """What must follow the last answer; it is drawn and accepted already."""

    @property
    def error(self) -> ConstraintError | None:
        """Why the last answer was no token."""
        return None if self._constrained is None else self._constrained.error

    @property
    def is_quick(self) -> bool:
        """Whether a draw looks at too little to be worth another thread."""
        return self._chain.is_quick

    def sample(self, context: Context, row: int) -> int:
        """Pick the next token from an output row and go on behind it."""
        if self._constrained is None and self._watch.forced() is None:
            token = self._chain.sample(context, row)
            self._watch.accept(token)
            return token
        return self.take(context.logits(row))

    def take(self, logits: NDArray[np.float32]) -> int:
        """Do the same for a row that was looked up; also on another thread."""
        self.forced = ()
        must = self._watch.forced()
        if must is not None:
            return self._accept(self._draw_only(must, logits))
        if self._constrained is None:
            return self._accept(self._chain.draw(logits))
        token = self._constrained.take(logits)
        if token == NO_TOKEN:
            return token
        self.forced = self._constrained.forced
        for each in (token, *self.forced):
            self._watch.accept(each)
        return token

    def apply(self, logits: NDArray[np.float32]) -> Candidates | None:
        """Do the same, but return all that the chain left; None: no token."""
        must = self._watch.forced()
        if must is None and self._constrained is not None:
            candidates = self._constrained.apply(logits)
            if candidates is not None:
                self._watch.accept(candidates.selected)
            return candidates
        left = self._chain.apply(logits, None if must is None else np.array([must]))
        return None if self._accept(left.selected) == NO_TOKEN else left

    def _draw_only(self, token: int, logits: NDArray[np.float32]) -> int:
        try:
            return self._chain.draw(logits, np.array([token]))
        except SamplingError:
            return token  # forbidden by a bias: thinking ends all the same

    def _accept(self, token: int) -> int:
        """Go on behind a token that was drawn but not accepted."""
        self._watch.accept(token)
        if self._constrained is None:
            self._chain.accept(token)
            return token
        return self._constrained.accept_drawn(token)
