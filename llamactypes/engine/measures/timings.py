"""How long a request took: llama-server's ``timings`` object, always finite. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ("Timings", "Progress")


class Timings(NamedTuple):
    """Token counts and durations of one request, as of one moment.

    PERF: one for each delta; a frozen dataclass takes three times as long.
    """

    cache_n: int = 0
    """Prompt tokens taken from the KV cache."""
    prompt_n: int = 0
    """Prompt tokens computed (cache hits excluded)."""
    prompt_ms: float = 0.0
    """From the start in a slot to the first sampled token, in milliseconds."""
    predicted_n: int = 0
    """Tokens sampled, the end-of-generation token included."""
    predicted_ms: float = 0.0
    """From the first sampled token to the last, in milliseconds."""

    @property
    def prompt_per_second(self) -> float:
        """Prompt tokens computed per second; 0.0 when unknown."""
        return 1e3 / self.prompt_ms * self.prompt_n if self.prompt_ms > 0 else 0.0

    @property
    def predicted_per_second(self) -> float:
        """Decode steps per second; the first token comes free with the prompt."""
        return 1e3 / self.predicted_ms * self._n_steps if self.predicted_ms > 0 else 0.0

    @property
    def _n_steps(self) -> int:
        return max(0, self.predicted_n - 1)

    def as_dict(self) -> dict[str, int | float]:
        """Return the keys of llama-server's ``timings``."""
        return {
            "cache_n": self.cache_n,
            "prompt_n": self.prompt_n,
            "prompt_ms": self.prompt_ms,
            "prompt_per_token_ms": self.prompt_ms / self.prompt_n
            if self.prompt_n
            else 0.0,
            "prompt_per_second": self.prompt_per_second,
            "predicted_n": self.predicted_n,
            "predicted_ms": self.predicted_ms,
            "predicted_per_token_ms": self.predicted_ms / self._n_steps
            if self._n_steps
            else 0.0,
            "predicted_per_second": self.predicted_per_second,
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the prompt is: llama-server's ``prompt_progress``."""

    total: int
    """Prompt tokens."""
    cache: int
    """Of these, taken from the KV cache."""
    processed: int
    """Of these, in the KV cache now (cached ones included)."""
    time_ms: float
    """Since the start in a slot, in milliseconds."""
