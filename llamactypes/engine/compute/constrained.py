"""Tokens that a grammar allows: sampled freely first, and again when refused.

The order of common/sampling.cpp (`common_sampler_sample`), so that a seed gives
llama-server's text: the chain draws from all tokens, and only when the grammar refuses
what it drew, a second time from those that may come. Asking about one token takes
microseconds, a mask of all of them a hundred.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as SequenceOf
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from llamactypes.candidates import TOKEN_DATA, Candidates
from llamactypes.constraints.constraint import Matcher
from llamactypes.context import Context
from llamactypes.engine.planning.sequence import MOST_FORCED, Sequence
from llamactypes.errors import ConstraintError, SamplingError
from llamactypes.sampling import SamplerChain
from llamactypes.sampling_params import RANDOM_SEED

__all__ = ("NO_TOKEN", "ConstrainedChain")

NO_TOKEN = -1


class ConstrainedChain:
    """A sequence's chain, and where its text is in its grammar. One thread at a time.

    Nothing raises: a whole step is sampled together, and the others have drawn already.
    """

    @classmethod
    def for_sequence(
        cls,
        sequence: Sequence,
        chain: SamplerChain,
        end_tokens: AbstractSet[int],
        n_ctx: int,
    ) -> ConstrainedChain | None:
        """Begin a sequence's text; None when it may be any.

        Args:
            sequence: Its request has the constraint.
            chain: Stays the caller's.
            end_tokens: Which end a text.
            n_ctx: Most tokens of a sequence.
        """
        request = sequence.request
        if request.constraint is None:
            return None
        sampling = request.sampling
        forbidden = {token for token, bias in sampling.logit_bias if bias == -np.inf}
        may_force = sampling.seed == RANDOM_SEED and not sampling.n_probs
        n_room = partial(_n_room, sequence, n_ctx) if may_force else None
        made = cls(chain, request.constraint.matcher(), end_tokens, forbidden, n_room)
        made._resume(request.generated)
        return made

    def __init__(
        self,
        chain: SamplerChain,
        matcher: Matcher,
        end_tokens: AbstractSet[int],
        forbidden: AbstractSet[int],
        n_room: Callable[[], int] | None = None,
    ) -> None:
        """Draw with `chain` what `matcher` allows.

        Args:
            chain: Has the biases that forbid tokens.
            matcher: At the beginning of the text.
            end_tokens: Which end a text; a grammar that has come to its end gets one
                even where they are forbidden.
            forbidden: What the chain can never draw.
            n_room: Says how many tokens of text without a choice need not be drawn;
                None: all are. A seed gives another text so, and nobody knows how likely
                those tokens were: not for requests that ask for either.
        """
        self._chain = chain
        self._matcher = matcher
        self._end_tokens = end_tokens
        self._forbidden = forbidden
        self._n_room = n_room
        self.forced: SequenceOf[int] = ()
        """What must follow the last answer; it is drawn and accepted already."""
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
        self.forced = ()
        if self.error is not None:
            return NO_TOKEN
        try:
            token = self._chain.draw(logits)
            if not self._matcher.allows(token):
                token = self._draw_allowed(logits)
            self._accept(token)
            if self._n_room is not None:
                self.forced = self._force(token, self._n_room())
        except (ConstraintError, SamplingError) as error:
            return self._fail(error)
        return token

    def accept_drawn(self, token: int) -> int:
        """Go on behind a token that somebody else drew; return it, or `NO_TOKEN`."""
        self.forced = ()
        if self.error is not None:
            return NO_TOKEN
        try:
            if token not in self._end_tokens and not self._matcher.allows(token):
                raise ConstraintError(
                    "the thinking cannot be ended where the constraint forbids it"
                )
            self._accept(token)
        except (ConstraintError, SamplingError) as error:
            return self._fail(error)
        return token

    def _resume(self, generated: SequenceOf[int]) -> None:
        """Go on behind what an earlier generation has written."""
        try:
            for token in generated:
                if token not in self._end_tokens:
                    self._matcher.consume(token)
        except ConstraintError as error:
            self._fail(error)

    def _force(self, token: int, n_room: int) -> SequenceOf[int]:
        """Return what must follow `token`, accepted."""
        if token in self._end_tokens:
            return ()
        forced = list(self._matcher.forced(token)[: max(0, min(n_room, MOST_FORCED))])
        if not self._forbidden.isdisjoint(forced):
            forced = list(takewhile(lambda each: each not in self._forbidden, forced))
        for each in forced:
            self._accept(each)
        return forced

    def apply(self, logits: NDArray[np.float32]) -> Candidates | None:
        """Do the same, but return all that the chain left; None: `NO_TOKEN`."""
        if self.error is not None:
            return None
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


def _n_room(sequence: Sequence, n_ctx: int) -> int:
    """Return how many tokens may be forced behind the one that is sampled now.

    One place of the context stays free for what is sampled next: only then a full one
    loses its middle.
    """
    n_room = n_ctx - len(sequence.tokens) - 2
    n_left = sequence.n_remaining
    return n_room if n_left < 0 else min(n_room, n_left - 1)
