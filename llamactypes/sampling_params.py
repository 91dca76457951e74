"""How the next token is chosen: plain values, llama-server's names and defaults.

Pure: no ctypes, so that the engine's arithmetic and the HTTP layer can build and
compare them. ``SamplerChain.from_params`` turns them into native samplers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from llamactypes.errors import SamplingError

__all__ = (
    "RANDOM_SEED",
    "DEFAULT_SAMPLERS",
    "SAMPLER_NAMES",
    "DEFAULT_SEQUENCE_BREAKERS",
    "MAX_LAST_N",
    "MAX_SAMPLERS",
    "MAX_SEQUENCE_BREAKERS",
    "SamplingParams",
)

RANDOM_SEED = 0xFFFFFFFF
"""``LLAMA_DEFAULT_SEED``: the library draws a seed of its own."""

DEFAULT_SAMPLERS = (
    "penalties",
    "dry",
    "top_n_sigma",
    "top_k",
    "typ_p",
    "top_p",
    "min_p",
    "xtc",
    "temperature",
)

SAMPLER_NAMES = frozenset((*DEFAULT_SAMPLERS, "infill", "adaptive_p"))
"""Every name `SamplingParams.samplers` may hold (common/sampling.cpp)."""

DEFAULT_SEQUENCE_BREAKERS = ("\n", ":", '"', "*")

MAX_LAST_N = 1 << 20
"""The library allocates the look-back of penalties and DRY up front: a sane limit."""

MAX_SAMPLERS = 64
"""Every sampler of the chain runs for every token, and one may be named repeatedly."""

MAX_SEQUENCE_BREAKERS = 64
"""For each, the library walks the vocabulary: 36 ms with 49,152 tokens."""

_FLOAT32_MAX = 3.4028234663852886e38
_INT32_MAX = 2**31 - 1
_NON_NEGATIVE_COUNTS = ("dry_allowed_length", "min_keep", "n_probs", "top_k")
_LOOK_BACKS = ("repeat_last_n", "dry_penalty_last_n")


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """Sampling parameters under llama-server's names, with its defaults."""

    seed: int = RANDOM_SEED
    """0 … 2**32-1; `RANDOM_SEED` draws one."""
    temperature: float = 0.8
    """0 or less picks the most likely token."""
    dynatemp_range: float = 0.0
    dynatemp_exponent: float = 1.0
    top_k: int = 40
    """0 is off."""
    top_p: float = 0.95
    min_p: float = 0.05
    top_n_sigma: float = -1.0
    """0 or less is off."""
    xtc_probability: float = 0.0
    xtc_threshold: float = 0.1
    typical_p: float = 1.0
    repeat_last_n: int = 64
    """How many tokens the penalties look back; 0 is off."""
    repeat_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    dry_multiplier: float = 0.0
    """0 is off."""
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_penalty_last_n: int = 64
    dry_sequence_breakers: tuple[str, ...] = DEFAULT_SEQUENCE_BREAKERS
    mirostat: int = 0
    """1 or 2 replace the samplers in `samplers` but the temperature."""
    mirostat_tau: float = 5.0
    mirostat_eta: float = 0.1
    adaptive_target: float = -1.0
    """Only with "adaptive_p" among `samplers`; below 0 is off."""
    adaptive_decay: float = 0.9
    min_keep: int = 0
    n_probs: int = 0
    """How many alternatives the caller wants; above 0 never the plain arg-max."""
    logit_bias: tuple[tuple[int, float], ...] = ()
    """(token, bias) pairs; a bias of minus infinity forbids the token."""
    samplers: tuple[str, ...] = DEFAULT_SAMPLERS
    """In the order they run; names from `SAMPLER_NAMES`."""
    backend_sampling: bool = False
    """Ask for sampling inside the compute graph; a context without it samples here."""

    def check(self, n_vocab: int | None = None) -> None:
        """Refuse values on which the native samplers would abort or lose their meaning.

        Args:
            n_vocab: Number of tokens of the vocabulary; when given, every token of
                `logit_bias` must be below it.

        Raises:
            SamplingError: The message names the parameter and what it may be.
        """
        self._check_finite()
        self._check_counts()
        self._check_penalties()
        self._check_samplers()
        self._check_logit_bias(n_vocab)

    def is_greedy(self) -> bool:
        """Whether the chain ends in the plain arg-max (common/sampling.cpp)."""
        if self.mirostat or self.n_probs or not self.samplers:
            return False
        if "adaptive_p" in self.samplers:
            return False
        last = self.samplers[-1]
        if last == "temperature":
            return self.temperature == 0.0 and self.dynatemp_range == 0.0
        return last == "top_k" and self.top_k == 1

    def _check_finite(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, float) and not abs(value) <= _FLOAT32_MAX:
                raise SamplingError(
                    f"{field.name} must be a finite number, not {value}"
                )

    def _check_counts(self) -> None:
        if not 0 <= self.seed <= RANDOM_SEED:
            raise SamplingError(f"seed must be within 0 … {RANDOM_SEED}: {self.seed}")
        if self.mirostat not in (0, 1, 2):
            raise SamplingError(f"mirostat must be 0, 1 or 2, not {self.mirostat}")
        for name in _NON_NEGATIVE_COUNTS:
            _check_range(name, getattr(self, name), _INT32_MAX)
        for name in _LOOK_BACKS:
            _check_range(name, getattr(self, name), MAX_LAST_N)

    def _check_penalties(self) -> None:
        penalty = self.repeat_penalty
        # The library divides by the penalty in float32: its inverse must be finite too.
        if not penalty > 1.0 / _FLOAT32_MAX:
            raise SamplingError(f"repeat_penalty must be greater than 0, not {penalty}")
        if not 0.0 <= self.adaptive_decay <= 0.99:
            raise SamplingError(
                f"adaptive_decay must be within 0 … 0.99, not {self.adaptive_decay}"
            )

    def _check_samplers(self) -> None:
        _check_length("samplers", self.samplers, MAX_SAMPLERS)
        _check_length(
            "dry_sequence_breakers", self.dry_sequence_breakers, MAX_SEQUENCE_BREAKERS
        )
        for name in self.samplers:
            if name not in SAMPLER_NAMES:
                known = ", ".join(sorted(SAMPLER_NAMES))
                raise SamplingError(f"unknown sampler {name!r}; known are {known}")
        for breaker in self.dry_sequence_breakers:
            if "\0" in breaker:
                raise SamplingError(
                    "a DRY sequence breaker cannot contain a NUL character"
                )

    def _check_logit_bias(self, n_vocab: int | None) -> None:
        for token, bias in self.logit_bias:
            if math.isnan(bias) or bias > _FLOAT32_MAX:
                raise SamplingError(
                    f"logit_bias of token {token} must be finite or -inf"
                )
            if token < 0 or (n_vocab is not None and token >= n_vocab):
                limit = "2**31" if n_vocab is None else str(n_vocab)
                raise SamplingError(
                    f"logit_bias names token {token}; tokens are 0 … {limit} - 1"
                )


def _check_range(name: str, value: int, maximum: int) -> None:
    if not 0 <= value <= maximum:
        raise SamplingError(f"{name} must be within 0 … {maximum}, not {value}")


def _check_length(name: str, values: tuple[str, ...], maximum: int) -> None:
    if len(values) > maximum:
        raise SamplingError(f"{name} may hold {maximum} entries, not {len(values)}")
