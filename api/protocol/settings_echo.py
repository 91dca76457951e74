"""``generation_settings``: the parameters that a generation ran with. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from api.protocol.lora import lora_object
from api.protocol.options import CompletionOptions
from llamactypes.engine.request import GenerationRequest
from llamactypes.sampling_params import SamplingParams

__all__ = ("generation_settings", "reduced_settings")

_SAMPLING_KEYS = (
    "temperature",
    "dynatemp_range",
    "dynatemp_exponent",
    "top_k",
    "top_p",
    "min_p",
    "top_n_sigma",
    "xtc_probability",
    "xtc_threshold",
    "typical_p",
    "repeat_last_n",
    "repeat_penalty",
    "presence_penalty",
    "frequency_penalty",
    "dry_multiplier",
    "dry_base",
    "dry_allowed_length",
    "dry_penalty_last_n",
    "mirostat",
    "mirostat_tau",
    "mirostat_eta",
    "adaptive_target",
    "adaptive_decay",
)


def generation_settings(
    options: CompletionOptions, seed: int, eog_tokens: Sequence[int]
) -> dict[str, Any]:
    """Return the full echo of a finished generation.

    Args:
        options: The request's parameters.
        seed: The seed in use.
        eog_tokens: End-of-generation tokens, which ``ignore_eos`` forbids.
    """
    sampling = options.sampling
    bias = sampling.logit_bias
    if options.ignore_eos:
        bias += tuple((token, -math.inf) for token in eog_tokens)
    return {
        **reduced_settings(_request(options), seed=seed, stream=options.stream),
        "dry_sequence_breakers": list(sampling.dry_sequence_breakers),
        "stop": list(options.stop),
        # Minus infinity has no JSON: null stands for it, as in llama-server.
        "logit_bias": [
            {"bias": value if math.isfinite(value) else None, "token": token}
            for token, value in bias
        ],
        "grammar": "" if options.form is None else options.form.shown,
        "grammar_lazy": False,
        "grammar_triggers": [],
        "preserved_tokens": [],
        "timings_per_token": options.timings_per_token,
    }


def reduced_settings(
    request: GenerationRequest, *, seed: int | None = None, stream: bool = False
) -> dict[str, Any]:
    """Return the echo used by ``/props`` and ``/slots``: no texts, no token lists."""
    sampling = request.sampling
    return {
        "seed": sampling.seed if seed is None else seed,
        **_sampling(sampling),
        "max_tokens": request.max_tokens,
        "n_predict": request.max_tokens,
        "n_keep": request.n_keep,
        "n_discard": request.n_discard,
        "ignore_eos": request.ignore_eos,
        "stream": stream,
        "n_probs": sampling.n_probs,
        "min_keep": sampling.min_keep,
        "chat_format": "Content-only",
        "reasoning_format": "none",
        "reasoning_in_content": False,
        "generation_prompt": "",
        "samplers": list(sampling.samplers),
        "speculative.types": "none",
        "timings_per_token": False,
        "post_sampling_probs": request.post_sampling_probs,
        "backend_sampling": sampling.backend_sampling,
        "lora": lora_object(request.lora or ()),
    }


def _sampling(sampling: SamplingParams) -> dict[str, Any]:
    return {key: getattr(sampling, key) for key in _SAMPLING_KEYS}


def _request(options: CompletionOptions) -> GenerationRequest:
    return options.requests([()])[0]
