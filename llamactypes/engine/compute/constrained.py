"""Tokens that a grammar allows: sampled freely first, and again when refused.

The order of common/sampling.cpp (`common_sampler_sample`), so that a seed gives
llama-server's text: the chain draws from all tokens, and only when the grammar refuses
what it drew, a second time from those that may come. Asking about one token takes
microseconds, a mask of all of them a hundred.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from llamactypes.candidates import TOKEN_DATA, Candidates
from llamactypes.constraints.constraint import Matcher
from llamactypes.context import Context
from llamactypes.engine.request import GenerationRequest
from llamactypes.errors import ConstraintError, SamplingError
from llamactypes.sampling import SamplerChain

__all__ = ("NO_TOKEN", "ConstrainedChain")

NO_TOKEN = -1


class ConstrainedChain:
    """A sequence's chain, and where its text is in its grammar. One thread at a time.

    Nothing raises: a whole step is sampled together, and the others have drawn already.
    """

    @classmethod
    def for_request(
        cls,
        request: GenerationRequest,
        chain: SamplerChain,
        end_tokens: AbstractSet[int],
    ) -> ConstrainedChain | None:
        """Begin a request's text; None when it may be any.

        Args:
            request: Has the constraint.
            chain: Stays the caller's.
            end_tokens: Which end a text.
        """
        if request.constraint is None:
            return None
        biases = request.sampling.logit_bias
        forbidden = {token for token, bias in biases if bias == -np.inf}
        matcher = request.constraint.matcher()
        for token in request.generated:
            matcher.consume(token)
        return cls(chain, matcher, end_tokens, forbidden)

    def __init__(
        self,
        chain: SamplerChain,
        matcher: Matcher,
        end_tokens: AbstractSet[int],
        forbidden: AbstractSet[int],
    ) -> None:
        """Draw with `chain` what `matcher` allows.

        Args:
            chain: Has the biases that forbid tokens.
            matcher: At the beginning of the text.
            end_tokens: Which end a text; a grammar that has come to its end gets one
                even where they are forbidden.
            forbidden: What the chain can never draw.
        """
        self._chain = chain
        self._matcher = matcher
        self._end_tokens = end_tokens
        self._forbidden = forbidden
        self.error: ConstraintError | None = None
        """Why the last answer was `NO_TOKEN`."""

    @property
    def is_quick(self) -> bool:
        """Whether a draw looks at too little to be worth another thread."""
        return self._chain.is_quick

    def sample(self, context: Context, row: int) -> int:
        """Pick the next token from an output row and go on behind it."""
        return self.take(context.logits(row))

    def take(self, logits: NDArray[np.float32]) -> int:
        """Do the same for a row that was looked up; also on another thread."""
        try:
            token = self._chain.draw(logits)
            if not self._matcher.allows(token):
                token = self._draw_allowed(logits)
            self._accept(token)
        except (ConstraintError, SamplingError) as error:
            return self._fail(error)
        return token

    def apply(self, logits: NDArray[np.float32]) -> Candidates | None:
        """Do the same, but return all that the chain left; None: `NO_TOKEN`."""
        try:
            candidates = self._chain.apply(logits)
            if not self._matcher.allows(candidates.selected):
                candidates = self._apply_allowed(logits)
            self._accept(candidates.selected)
        except (ConstraintError, SamplingError) as error:
            self._fail(error)
            return None
        return candidates

    def _accept(self, token: int) -> None:
        if token not in self._end_tokens:
            self._matcher.consume(token)
        self._chain.accept(token)

    def _draw_allowed(self, logits: NDArray[np.float32]) -> int:
        """Draw from what may come next.

        PERF: whether a token is impossible is asked of the one drawn, not of all: most
        masks leave thousands.
        """
        allowed = self._allowed(logits)
        if len(allowed):
            token = self._chain.draw(logits, allowed)
            if token not in self._forbidden and np.isfinite(logits[token]):
                return token
        possible = self._possible(allowed, logits)
        if len(possible):
            return self._chain.draw(logits, possible)
        return self._forced_end(allowed)

    def _apply_allowed(self, logits: NDArray[np.float32]) -> Candidates:
        allowed = self._allowed(logits)
        possible = self._possible(allowed, logits)
        if len(possible):
            return self._chain.apply(logits, possible)
        token = self._forced_end(allowed)
        return Candidates(np.array([(token, 0.0, 1.0)], TOKEN_DATA), token, True)

    def _allowed(self, logits: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the tokens that may come next, in ascending order."""
        mask = np.frombuffer(self._matcher.mask(), np.uint8)
        return np.flatnonzero(np.unpackbits(mask, count=len(logits), bitorder="little"))

    def _possible(
        self, allowed: NDArray[np.int64], logits: NDArray[np.float32]
    ) -> NDArray[np.int64]:
        """Return those of `allowed` that the chain can draw."""
        forbidden = np.fromiter(self._forbidden, np.int64, len(self._forbidden))
        finite = allowed[np.isfinite(logits[allowed])]
        return finite[~np.isin(finite, forbidden)]

    def _forced_end(self, allowed: NDArray[np.int64]) -> int:
        """Return what ends the text, which only `GenerationRequest.ignore_eos` forbids.

        Raises:
            ConstraintError: The text may not end here.
        """
        tokens: list[int] = allowed.tolist()
        for token in tokens:
            if token in self._end_tokens:
                return token
        raise ConstraintError(
            "the output cannot go on as it must: every token that the constraint "
            "allows here is forbidden (logit_bias), or impossible for the model"
        )

    def _fail(self, error: ConstraintError | SamplingError) -> int:
        self.error = (
            error if isinstance(error, ConstraintError) else ConstraintError(str(error))
        )
        return NO_TOKEN
