"""Kinds of value that only one or two flags take: layers, samplers, biases. Pure."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable

from api.hub.choice import HubModel
from api.settings.flags import Kind, choice, parse_boolean
from llamactypes.sampling_params import SAMPLER_NAMES

__all__ = (
    "CACHE_TYPE",
    "FLASH_ATTN",
    "GPU_LAYERS",
    "HUB_REPO",
    "FFN_LAYERS",
    "INVERSE",
    "METADATA",
    "MOE_LAYERS",
    "PLACEMENT",
    "LOAD_MODE",
    "LAYER_RANGE",
    "LOGIT_BIAS",
    "LORA",
    "LORA_SCALED",
    "RATIOS",
    "REASONING",
    "REASONING_FORMAT",
    "SAMPLERS",
    "SAMPLER_LETTERS",
    "SEED",
    "SEQUENCE_BREAKER",
    "experts_on_cpu",
    "load_mode_settings",
)

LETTERS = {
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
_EXPERTS = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
"""Names of a mixture's experts (common/common.h, ``LLM_FFN_EXPS_REGEX``)."""
_FFN = r"\.ffn_(up|down|gate)\."
_MAX_LAYERS = 1000
_ALIASES = {"nucleus": "top_p", "temp": "temperature", "typ": "typ_p"}
_BIAS = re.compile(r"\s*(\d+)\s*([+-])\s*(\d+(?:\.\d*)?(?:e[+-]?\d+)?|inf)\s*", re.I)


def _gpu_layers(text: str) -> int | None:
    """``auto`` leaves the choice to the library; ``all`` is any negative number."""
    if text == "auto":
        return None
    return -1 if text == "all" else int(text, 10)


def _three_way(text: str) -> str:
    if text in ("auto", "-1"):
        return "auto"
    return "on" if parse_boolean(text) else "off"


def _inverse(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return 1.0 / value


def _ratios(text: str) -> tuple[float, ...]:
    values = tuple(float(item) for item in re.split(r"[,/]+", text))
    if not all(0 <= value < float("inf") for value in values) or not any(values):
        raise ValueError(text)
    return values


def _sampler_name(name: str) -> str:
    """Accept top_k, top-k and topk, as common/sampling.cpp does."""
    word = name.strip().lower()
    if word in _ALIASES:
        return _ALIASES[word]
    for known in SAMPLER_NAMES:
        if word in (known, known.replace("_", "-"), known.replace("_", "")):
            return known
    raise ValueError(name)


def _samplers(text: str) -> tuple[str, ...]:
    return tuple(_sampler_name(name) for name in re.split("[;,]", text) if name)


def _sampler_letters(text: str) -> tuple[str, ...]:
    if not set(text) <= set(LETTERS):
        raise ValueError(text)
    return tuple(LETTERS[letter] for letter in text)


def _logit_bias(text: str) -> tuple[tuple[int, float], ...]:
    match = _BIAS.fullmatch(text)
    if match is None:
        raise ValueError(text)
    bias = float(match[2] + match[3])
    if bias == float("inf"):
        raise ValueError(text)
    return ((int(match[1]), bias),)


def _seed(text: str) -> int:
    """-1 is the same as 2**32 - 1: the library draws a seed."""
    value = int(text, 10)
    if not -1 <= value < 2**32:
        raise ValueError(text)
    return value % 2**32


def _lora(text: str) -> tuple[tuple[str, float], ...]:
    return tuple((path.strip(), 1.0) for path in text.split(",") if path.strip())


def _lora_scaled(text: str) -> tuple[tuple[str, float], ...]:
    pairs = (item.rpartition(":") for item in text.split(",") if item.strip())
    adapters = tuple((path.strip(), float(scale)) for path, _, scale in pairs)
    if not all(path for path, _ in adapters):
        raise ValueError(text)
    return adapters


def _layer_range(text: str) -> tuple[int, int]:
    first, last = (int(word, 10) for word in text.split())
    if not 0 < first <= last <= _MAX_LAYERS:
        raise ValueError(text)
    return first, last


def _sequence_breaker(text: str) -> tuple[str, ...]:
    return () if text == "none" else (text,)


def load_mode_settings(mode: object) -> dict[str, object]:
    """Return the two switches a load mode stands for."""
    return {
        "engine.use_mmap": mode in ("auto", "mmap", "mmap+mlock"),
        "engine.use_mlock": mode in ("mlock", "mmap+mlock"),
        "engine.direct_io": mode == "dio",
    }


def _metadata(text: str) -> tuple[tuple[str, object], ...]:
    """Read ``KEY=TYPE:VALUE``; several are separated by commas outside quotes."""
    return tuple(_metadata_item(item) for item in next(csv.reader([text])))


def _metadata_item(text: str) -> tuple[str, object]:
    key, _, typed = text.partition("=")
    kind, colon, value = typed.partition(":")
    if not key or not colon or kind not in _METADATA_TYPES:
        raise ValueError(text)
    return key, _METADATA_TYPES[kind](value)


def _truth(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


_METADATA_TYPES: dict[str, Callable[[str], object]] = {
    "int": int,
    "float": float,
    "bool": _truth,
    "str": str,
}


def _placement(text: str) -> tuple[tuple[str, str], ...]:
    """Read ``PATTERN=BUFFER TYPE``, of which several are separated by commas."""
    pairs = tuple(item.partition("=") for item in text.split(","))
    if not all(pattern and name for pattern, _, name in pairs):
        raise ValueError(text)
    return tuple((pattern, name) for pattern, _, name in pairs)


def _first_layers(tensors: str) -> Callable[[str], tuple[tuple[str, str], ...]]:
    """Return a parser of N: `tensors` of the first N layers go to the CPU."""

    def parse(text: str) -> tuple[tuple[str, str], ...]:
        n = int(text, 10)
        if not 0 <= n <= _MAX_LAYERS:
            raise ValueError(text)
        return tuple((rf"blk\.{layer}{tensors}", "CPU") for layer in range(n))

    return parse


def experts_on_cpu(is_wanted: object) -> dict[str, object]:
    """Return the placement that ``--cpu-moe`` stands for."""
    return {"engine.tensor_placement": ((_EXPERTS, "CPU"),) if is_wanted else ()}


HUB_REPO = Kind(HubModel.parse, "user/model, or user/model:TAG")
GPU_LAYERS = Kind(_gpu_layers, "a whole number, auto or all")
FLASH_ATTN = Kind(_three_way, "on, off or auto")
REASONING = Kind(_three_way, FLASH_ATTN.allowed)
REASONING_FORMAT = choice("none", "auto", "deepseek", "deepseek-legacy")
INVERSE = Kind(_inverse, "a number greater than 0")
RATIOS = Kind(_ratios, "a comma-separated list of numbers, not all 0")
CACHE_TYPE = choice(
    "f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"
)
LOAD_MODE = choice("auto", "none", "mmap", "mlock", "mmap+mlock", "dio")
METADATA = Kind(_metadata, "KEY=TYPE:VALUE with a type of int, float, bool or str")
PLACEMENT = Kind(_placement, "PATTERN=BUFFER, such as \\.ffn_.*=CPU")
MOE_LAYERS = Kind(_first_layers(_EXPERTS), f"a whole number within 0 … {_MAX_LAYERS}")
FFN_LAYERS = Kind(_first_layers(_FFN), MOE_LAYERS.allowed)
SAMPLERS = Kind(_samplers, "names out of " + ", ".join(sorted(SAMPLER_NAMES)))
SAMPLER_LETTERS = Kind(_sampler_letters, "letters out of " + "".join(sorted(LETTERS)))
LOGIT_BIAS = Kind(_logit_bias, "TOKEN+BIAS or TOKEN-BIAS, such as 15043+1")
SEED = Kind(_seed, "a whole number within -1 … 4294967295")
LAYER_RANGE = Kind(_layer_range, "two layers, the first one from 1 on")
LORA = Kind(_lora, "a comma-separated list of files")
LORA_SCALED = Kind(_lora_scaled, "a comma-separated list of FILE:SCALE")
SEQUENCE_BREAKER = Kind(_sequence_breaker, "text, or none")
