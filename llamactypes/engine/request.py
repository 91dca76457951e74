"""What goes into the engine and what comes out of it: plain values. Pure."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import NamedTuple

from llamactypes.constraints.constraint import CompiledConstraint
from llamactypes.engine.measures.timings import Progress, Timings
from llamactypes.engine.text.thinking import ThinkingControl, ThinkingLimit
from llamactypes.errors import LlamaError
from llamactypes.sampling_params import SamplingParams

__all__ = (
    "GenerationRequest",
    "FinishReason",
    "ThinkingControl",
    "ThinkingLimit",
    "TokenProbs",
    "Delta",
    "Result",
    "Timings",
    "Progress",
)


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One prompt to continue. Defaults are llama-server's."""

    prompt_tokens: tuple[int, ...]
    sampling: SamplingParams = field(default_factory=SamplingParams)
    generated: tuple[int, ...] = ()
    """Tokens that an earlier generation of this request made: this one goes on behind
    them. They count for every limit, and no delta tells of them again."""
    max_tokens: int = -1
    """Tokens to generate; -1: until the model ends or the context is full; 0: evaluate
    the prompt only."""
    stop: tuple[str, ...] = ()
    """Stop sequences: generation ends before the first of them, which is not sent."""
    ignore_eos: bool = False
    """Forbid every end-of-generation token."""
    cache_prompt: bool = True
    """Start from the longest prefix the slot has already computed."""
    n_cache_reuse: int = 0
    """Move chunks of at least so many computed tokens to where the prompt has them, if
    the memory can: quicker, but only nearly the same answer; 0: do not."""
    id_slot: int = -1
    """Wait for this slot (modulo the number of slots); -1: any."""
    n_keep: int = 0
    """Tokens kept at a context shift; -1: the whole prompt."""
    n_discard: int = 0
    """Tokens dropped at a context shift; 0: half of what may be dropped."""
    n_indent: int = 0
    """End when a new line is indented less than this many blanks."""
    t_max_predict_ms: int = -1
    """End at the first new line after this time; -1: no limit."""
    post_sampling_probs: bool = False
    """Report probabilities after the sampler chain instead of raw logprobs."""
    return_progress: bool = False
    """Append a progress delta for each computed part of the prompt."""
    special_pieces: bool = False
    """Emit the text of control tokens, too."""
    preserved_tokens: frozenset[int] = frozenset()
    """Control tokens whose text is emitted all the same."""
    constraint: CompiledConstraint | None = None
    """What the output must match, from `Engine.compile_constraint`."""
    thinking: ThinkingLimit | None = None
    """How long the model may think, and what ends it."""
    lora: tuple[tuple[int, float], ...] | None = None
    """(adapter, scale) to compute with, the others off; None: the engine's."""
    prompt_probs: int | None = None
    """Report the logprobs of the prompt's tokens, too, with this many best rivals for
    each; None: do not. The whole prompt is computed then, nothing is reused."""


class FinishReason(enum.Enum):
    """Why a generation ended."""

    STOP_EOS = "eos"
    STOP_WORD = "word"
    LENGTH = "limit"
    CANCELLED = "cancelled"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class TokenProbs:
    """A sampled token and its best rivals."""

    token: int
    piece: bytes
    value: float
    """Logprob (natural) of the raw logits; with `post_sampling_probs` a probability."""
    top: tuple[tuple[int, bytes, float], ...]
    """(token, piece, value), best first."""


class Delta(NamedTuple):
    """One increment of a generation.

    Text may be empty when only tokens were added (an end-of-generation token, or text
    held back because it may be a stop sequence), and in deltas about the prompt.

    PERF: made between two decodes; a frozen dataclass takes three times as long.
    """

    text: str
    tokens: tuple[int, ...]
    probs: tuple[TokenProbs, ...]
    n_decoded: int
    timings: Timings
    progress: Progress | None = None
    prompt_probs: tuple[TokenProbs, ...] = ()
    """Of the prompt's tokens after those in earlier deltas, always raw logprobs; from
    the second one on, for nothing comes before the first."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a generation ended."""

    finish: FinishReason
    stopping_word: str
    n_prompt: int
    n_decoded: int
    n_cached: int
    """Prompt tokens taken from the KV cache."""
    n_tokens_in_slot: int
    """Tokens the slot held in the KV cache at the end."""
    truncated: bool
    """The context was full: generation ended there, or was shifted."""
    has_new_line: bool
    timings: Timings
    id_slot: int
    seed: int
    """The random seed in use."""
    error: LlamaError | None = None
