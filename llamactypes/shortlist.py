"""The few tokens of a large vocabulary that a sampler chain can still pick.

A chain walks all candidates once per sampler: 0.17 ms for 49,152 tokens, of which
``top_k`` then keeps 40. numpy finds a set that certainly holds these 40 in 0.01 ms, and
the chain picks from it exactly what it would have picked from all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from llamactypes.sampling_params import SamplingParams

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ("MOST_CANDIDATES", "Shortlist", "candidates_needed")

MOST_CANDIDATES = 2048
"""Longer lists save too little."""
_LEAST_VOCABULARY = 4096
"""A smaller vocabulary is not worth a list."""
_FIRST_MARGIN = 8.0
_WIDER, _NARROWER = 1.5, 0.97
"""Too narrow costs a second look at all logits, too wide nearly nothing: the margin
grows at once and shrinks slowly."""
_PLENTY = 8
"""Times the tokens needed: then the margin shrinks."""
_WIDEST = 1e4

_KEEP_THE_BEST = frozenset(("top_n_sigma", "top_k", "top_p", "min_p", "temperature"))


def candidates_needed(
    params: SamplingParams, biases: tuple[tuple[int, float], ...]
) -> int | None:
    """Return how many of the largest logits decide what a chain picks.

    None when all of them do. Tokens whose bias raises them come in addition.

    Args:
        params: What the chain is made from.
        biases: All of its logit biases.
    """
    tokens = [token for token, _ in biases]
    if params.mirostat or len(set(tokens)) != len(tokens):
        return None  # of two biases for one token the library may see only the first
    lowered = sum(bias < 0 for _, bias in biases)
    is_greedy, is_cut = params.is_greedy(), False
    for name in params.samplers:
        if name in ("penalties", "dry"):
            more = _lowered_by(name, params)
            if more is None or (more and is_cut):
                return None
            lowered += more
        elif is_greedy and name in _KEEP_THE_BEST:
            is_cut = True  # whatever they remove, the best one stays
        elif name == "top_k" and params.top_k > 0:
            return params.top_k + lowered  # what follows sees the same as ever
        elif not _is_off(name, params):
            return None
    return 1 + lowered if is_greedy else None


def _lowered_by(name: str, params: SamplingParams) -> int | None:
    """Return how many logits a sampler may lower; None when it may raise some."""
    if name == "dry":
        return params.dry_penalty_last_n if params.dry_multiplier else 0
    changes = (
        params.repeat_penalty - 1.0,
        params.presence_penalty,
        params.frequency_penalty,
    )
    if not params.repeat_last_n or not any(changes):
        return 0
    return params.repeat_last_n if min(changes) >= 0 else None


def _is_off(name: str, params: SamplingParams) -> bool:
    match name:
        case "top_k":
            return params.top_k <= 0
        case "top_n_sigma":
            return params.top_n_sigma <= 0
        case "top_p":
            return params.top_p >= 1
        case "typ_p":
            return params.typical_p >= 1
        case "min_p":
            return params.min_p <= 0
        case "xtc":
            return params.xtc_probability <= 0
    return False


class Shortlist:
    """Finds the largest logits of row after row. One thread at a time.

    Logits of one text keep their scale: a margin below the largest that fitted the last
    row fits the next one, and one comparison does instead of a partition.
    """

    @classmethod
    def for_chain(
        cls, params: SamplingParams, biases: tuple[tuple[int, float], ...], n_vocab: int
    ) -> Shortlist | None:
        """Return one for this chain; None when it must see every token."""
        n_needed = candidates_needed(params, biases)
        raised = [token for token, bias in biases if bias > 0]
        is_short = n_needed is not None and n_needed + len(raised) < MOST_CANDIDATES / 2
        if n_needed is None or not is_short or n_vocab < _LEAST_VOCABULARY:
            return None
        return cls(n_needed, raised)

    def __init__(self, n_needed: int, raised: list[int]) -> None:
        """List at least the `n_needed` largest, and `raised` in any case."""
        self._n_needed = n_needed
        self._raised = np.array(sorted(raised), dtype=np.int64)
        self._limit = MOST_CANDIDATES - len(raised)
        self._margin = np.float32(_FIRST_MARGIN)

    def pick(self, logits: NDArray[np.float32]) -> NDArray[np.int64] | None:
        """Return ascending token ids; None when these logits have no order.

        Args:
            logits: Shape (n_vocab,).
        """
        largest = logits.max()
        if not np.isfinite(largest):
            return None
        tokens = self._within_margin(logits, largest)
        if len(tokens) > self._limit:
            tokens = tokens[_largest(logits[tokens], self._n_needed)]
        if len(tokens) > _PLENTY * self._n_needed:
            self._margin *= np.float32(_NARROWER)
        if len(self._raised):
            return np.union1d(tokens, self._raised)
        return tokens

    def _within_margin(
        self, logits: NDArray[np.float32], largest: np.float32
    ) -> NDArray[np.int64]:
        """Return at least as many tokens as are needed."""
        tokens: NDArray[np.int64]
        while self._margin < _WIDEST:
            tokens = (logits > largest - self._margin).nonzero()[0]
            if len(tokens) >= self._n_needed:
                return tokens
            self._margin *= np.float32(_WIDER)
        self._margin = np.float32(_FIRST_MARGIN)
        return _largest(logits, self._n_needed)


def _largest(values: NDArray[np.float32], n: int) -> NDArray[np.int64]:
    """Return where the `n` largest values lie, in ascending order."""
    places: NDArray[np.int64] = np.argpartition(values, -n)[-n:]
    places.sort()
    return places
