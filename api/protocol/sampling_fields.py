"""Sampling parameters of a request: llama-server's names, ranges and defaults. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

from api.protocol.fields import Body, Integer, Number, boolean, strings, whole_number
from api.protocol.invalid import InvalidRequest
from llamactypes.sampling_params import (
    DEFAULT_SEQUENCE_BREAKERS,
    RANDOM_SEED,
    SAMPLER_NAMES,
    SamplingParams,
)

__all__ = ("INTEGERS", "NUMBERS", "Tokenizer", "read_sampling")


class Tokenizer(Protocol):
    """What the protocol needs of a vocabulary; any thread may call it."""

    @property
    def n_tokens(self) -> int:
        """Size of the vocabulary."""

    def tokenize(
        self, text: str, *, add_special: bool = False, parse_special: bool = True
    ) -> list[int]:
        """Return the tokens of `text`."""

    def piece(self, token: int, *, special: bool = True) -> bytes:
        """Return the bytes of one token."""


NUMBERS = {
    "temperature": Number(("temperature",), minimum=0.0),
    "dynatemp_range": Number(("dynatemp_range",)),
    "dynatemp_exponent": Number(("dynatemp_exponent",)),
    "top_p": Number(("top_p",), 0.0, 1.0),
    "min_p": Number(("min_p",), 0.0, 1.0),
    "top_n_sigma": Number(("top_n_sigma",)),
    "xtc_probability": Number(("xtc_probability",), 0.0, 1.0),
    "xtc_threshold": Number(("xtc_threshold",), 0.0, 1.0),
    "typical_p": Number(("typical_p",)),
    "repeat_penalty": Number(("repeat_penalty",)),
    "frequency_penalty": Number(("frequency_penalty",)),
    "presence_penalty": Number(("presence_penalty",)),
    "dry_multiplier": Number(("dry_multiplier",)),
    "mirostat_tau": Number(("mirostat_tau",)),
    "mirostat_eta": Number(("mirostat_eta",)),
    "adaptive_target": Number(("adaptive_target",), maximum=1.0),
    "adaptive_decay": Number(("adaptive_decay",), 0.0, 0.99, hard=True),
}

INTEGERS = {
    "top_k": Integer(("top_k",), minimum=0, hard=False),
    "repeat_last_n": Integer(("repeat_last_n",), minimum=0),
    "dry_allowed_length": Integer(("dry_allowed_length",), minimum=0),
    "dry_penalty_last_n": Integer(("dry_penalty_last_n",), minimum=0),
    "mirostat": Integer(("mirostat",), 0, 2, hard=False),
    "min_keep": Integer(("min_keep",), minimum=0),
}

_SAMPLER_LETTERS = {
    "d": "dry",
    "k": "top_k",
    "y": "typ_p",
    "p": "top_p",
    "s": "top_n_sigma",
    "m": "min_p",
    "t": "temperature",
    "x": "xtc",
    "i": "infill",
    "e": "penalties",
    "a": "adaptive_p",
}

_SAMPLER_ALIASES = {
    "nucleus": "top_p",
    "temp": "temperature",
    "typ": "typ_p",
    **{name.replace("_", "-"): name for name in SAMPLER_NAMES},
    **{name.replace("_", ""): name for name in SAMPLER_NAMES},
    **{name: name for name in SAMPLER_NAMES},
}


def read_sampling(
    body: Body, defaults: SamplingParams, vocab: Tokenizer
) -> SamplingParams:
    """Return the sampling parameters of a request, `defaults` where it is silent.

    Raises:
        InvalidRequest: A field has the wrong type or is out of a hard range.
    """
    values: dict[str, Any] = {}
    for name, number in NUMBERS.items():
        values[name] = number.read(body, getattr(defaults, name))
    for name, integer in INTEGERS.items():
        values[name] = integer.read(body, getattr(defaults, name))
    values["backend_sampling"] = boolean(
        body, "backend_sampling", defaults.backend_sampling
    )
    return replace(
        defaults,
        **values,
        seed=_seed(body, defaults.seed),
        dry_base=_dry_base(body, defaults.dry_base),
        dry_sequence_breakers=_breakers(body, defaults.dry_sequence_breakers),
        logit_bias=_logit_bias(body, defaults.logit_bias, vocab),
        samplers=_samplers(body, defaults.samplers),
        n_probs=_n_probs(body, defaults.n_probs, vocab.n_tokens),
    )


def _seed(body: Body, default: int) -> int:
    value = body.get("seed")
    # As in C: -1 is 4294967295, which draws a seed; larger numbers wrap around.
    return default if value is None else whole_number("seed", value) & RANDOM_SEED


def _dry_base(body: Body, default: float) -> float:
    value = Number(("dry_base",)).read(body, default)
    return default if value < 1.0 else value


def _breakers(body: Body, default: tuple[str, ...]) -> tuple[str, ...]:
    value = strings(body, "dry_sequence_breakers")
    if value is None:
        return default or DEFAULT_SEQUENCE_BREAKERS
    if not value:
        raise InvalidRequest.field(
            "dry_sequence_breakers",
            "Error: dry_sequence_breakers must be a non-empty array of strings",
        )
    return value


def _n_probs(body: Body, default: int, n_vocab: int) -> int:
    for name in ("n_probs", "logprobs"):
        value = body.get(name)
        if value is not None:
            count = int(value) if value is True or value is False else value
            count = whole_number(name, count)
            if count < 0:
                raise InvalidRequest.field(name, "Value must not be negative")
            return min(count, n_vocab)
    return default


def _samplers(body: Body, default: tuple[str, ...]) -> tuple[str, ...]:
    value = body.get("samplers")
    if value is None:
        return default
    if isinstance(value, str):
        names = [_SAMPLER_LETTERS.get(letter) for letter in value]
    else:
        listed = strings(body, "samplers") or ()
        names = [_SAMPLER_ALIASES.get(name.lower()) for name in listed]
    return tuple(name for name in names if name is not None)


def _logit_bias(
    body: Body, default: tuple[tuple[int, float], ...], vocab: Tokenizer
) -> tuple[tuple[int, float], ...]:
    value = body.get("logit_bias")
    if value is None:
        return default
    if not isinstance(value, list | dict):
        raise InvalidRequest.field("logit_bias", "Value must be an array or an object")
    return tuple(_biases(value, vocab))


def _biases(
    value: list[Any] | dict[str, Any], vocab: Tokenizer
) -> Iterator[tuple[int, float]]:
    pairs = (
        [(_token_key(key), bias) for key, bias in value.items()]
        if isinstance(value, dict)
        else [tuple(e) for e in value if isinstance(e, list) and len(e) == 2]
    )
    for key, raw in pairs:
        bias = _bias_value(raw)
        if bias is None:
            continue
        for token in _bias_tokens(key, vocab):
            yield token, bias


def _token_key(key: str) -> int | str:
    digits = key.strip()
    return int(digits) if digits.isdecimal() and len(digits) < 11 else key


def _bias_value(raw: object) -> float | None:
    if raw is False:
        return -math.inf
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    return float(min(max(raw, -3.4e38), 3.4e38))


def _bias_tokens(key: object, vocab: Tokenizer) -> list[int]:
    if isinstance(key, str):
        return vocab.tokenize(key, add_special=False, parse_special=False)
    if isinstance(key, int) and not isinstance(key, bool) and 0 <= key < vocab.n_tokens:
        return [key]
    return []
