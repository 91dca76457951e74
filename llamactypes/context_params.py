"""The parameters of a context, checked before C can abort on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llamactypes import bindings as C  # noqa: N812
from llamactypes.cpus import default_thread_count
from llamactypes.errors import ContextError

if TYPE_CHECKING:
    from llamactypes.model import Model

__all__ = ("CACHE_TYPES", "ContextParams")

CACHE_TYPES = {
    "f32": C.GGML_TYPE_F32,
    "f16": C.GGML_TYPE_F16,
    "bf16": C.GGML_TYPE_BF16,
    "q8_0": C.GGML_TYPE_Q8_0,
    "q4_0": C.GGML_TYPE_Q4_0,
    "q4_1": C.GGML_TYPE_Q4_1,
    "iq4_nl": C.GGML_TYPE_IQ4_NL,
    "q5_0": C.GGML_TYPE_Q5_0,
    "q5_1": C.GGML_TYPE_Q5_1,
}
"""What the KV cache may be stored as (common/arg.cpp)."""

_FLASH_ATTN = {
    "auto": C.LLAMA_FLASH_ATTN_TYPE_AUTO,
    "on": C.LLAMA_FLASH_ATTN_TYPE_ENABLED,
    "off": C.LLAMA_FLASH_ATTN_TYPE_DISABLED,
}
_POOLING = {
    "none": C.LLAMA_POOLING_TYPE_NONE,
    "mean": C.LLAMA_POOLING_TYPE_MEAN,
    "cls": C.LLAMA_POOLING_TYPE_CLS,
    "last": C.LLAMA_POOLING_TYPE_LAST,
    "rank": C.LLAMA_POOLING_TYPE_RANK,
}
_ROPE_SCALING = {
    "none": C.LLAMA_ROPE_SCALING_TYPE_NONE,
    "linear": C.LLAMA_ROPE_SCALING_TYPE_LINEAR,
    "yarn": C.LLAMA_ROPE_SCALING_TYPE_YARN,
    "longrope": C.LLAMA_ROPE_SCALING_TYPE_LONGROPE,
}
_UNQUANTIZED = frozenset(("f32", "f16", "bf16"))
_BLOCK = 32  # values per block of every quantized cache type
_MAX_THREADS = 512  # GGML_MAX_N_THREADS
_MAX_SEQUENCES = 256  # LLAMA_MAX_SEQ
_UINT32_MAX = 2**32 - 1
_COPIED = (
    "n_ctx",
    "n_batch",
    "n_ubatch",
    "n_seq_max",
    "kv_unified",
    "swa_full",
    "offload_kqv",
    "op_offload",
    "embeddings",
    "no_perf",
    "rope_freq_base",
    "rope_freq_scale",
    "yarn_ext_factor",
    "yarn_attn_factor",
    "yarn_beta_fast",
    "yarn_beta_slow",
    "yarn_orig_ctx",
)


@dataclass(frozen=True, slots=True)
class ContextParams:
    """How large a context is and how it computes."""

    n_ctx: int = 0
    """Tokens of all sequences together; 0 is what the model was trained with."""
    n_batch: int = 2048
    """Most tokens of one `decode`."""
    n_ubatch: int = 512
    """Most tokens computed at once."""
    n_seq_max: int = 1
    n_threads: int | None = None
    """Threads for one token; None leaves one physical core free."""
    n_threads_batch: int | None = None
    """Threads for many tokens; None means `n_threads`."""
    kv_unified: bool = False
    """One cache shared by all sequences instead of an equal part for each."""
    type_k: str = "f16"
    """A name of `CACHE_TYPES`."""
    type_v: str = "f16"
    flash_attn: str = "auto"
    """"auto", "on" or "off"."""
    swa_full: bool = False
    offload_kqv: bool = True
    op_offload: bool = True
    embeddings: bool = False
    pooling: str | None = None
    """"none", "mean", "cls", "last" or "rank"; None is the model's own."""
    rope_scaling: str | None = None
    """"none", "linear", "yarn" or "longrope"; None is the model's own."""
    rope_freq_base: float = 0.0
    """0 is the model's own, here and below; the YaRN numbers use a negative value."""
    rope_freq_scale: float = 0.0
    yarn_ext_factor: float = -1.0
    yarn_attn_factor: float = -1.0
    yarn_beta_fast: float = -1.0
    yarn_beta_slow: float = -1.0
    yarn_orig_ctx: int = 0
    no_perf: bool = True
    """Do not measure inside the library."""


def fill(native: Any, params: ContextParams, model: Model) -> None:
    """Set the native structure from `params`.

    Raises:
        ContextError: A value is out of range; the message names it.
    """
    _check(params, model)
    for name in _COPIED:
        setattr(native, name, getattr(params, name))
    native.n_threads, native.n_threads_batch = threads(
        params.n_threads, params.n_threads_batch
    )
    native.type_k = _choose("type_k", params.type_k, CACHE_TYPES)
    native.type_v = _choose("type_v", params.type_v, CACHE_TYPES)
    native.flash_attn_type = _choose("flash_attn", params.flash_attn, _FLASH_ATTN)
    if params.pooling is not None:
        native.pooling_type = _choose("pooling", params.pooling, _POOLING)
    if params.rope_scaling is not None:
        native.rope_scaling_type = _choose(
            "rope_scaling", params.rope_scaling, _ROPE_SCALING
        )


def threads(n: int | None, n_batch: int | None) -> tuple[int, int]:
    """Return both thread counts, chosen where not given.

    Raises:
        ContextError: Outside 1 … 512.
    """
    chosen = default_thread_count() if n is None else n
    chosen_batch = chosen if n_batch is None else n_batch
    for count in (chosen, chosen_batch):
        if not 1 <= count <= _MAX_THREADS:
            raise ContextError(f"threads must be within 1 … {_MAX_THREADS}: {count}")
    return chosen, chosen_batch


def _check(params: ContextParams, model: Model) -> None:
    limits = {
        "n_ctx": (0, _UINT32_MAX // 2),
        "n_batch": (1, _UINT32_MAX // 2),
        "n_ubatch": (1, _UINT32_MAX // 2),
        "n_seq_max": (1, _MAX_SEQUENCES),
        "yarn_orig_ctx": (0, _UINT32_MAX),
    }
    for name, (least, most) in limits.items():
        value = getattr(params, name)
        if not least <= value <= most:
            raise ContextError(f"{name} must be within {least} … {most}, not {value}")
    for name in ("type_k", "type_v"):
        _check_cache_type(name, getattr(params, name), model)


def _check_cache_type(name: str, cache_type: str, model: Model) -> None:
    if cache_type in _UNQUANTIZED or cache_type not in CACHE_TYPES or not model.n_head:
        return
    width = model.n_embd // model.n_head * model.n_head_kv
    if width % _BLOCK:
        raise ContextError(
            f"{name} {cache_type!r} needs rows of a multiple of {_BLOCK} values; "
            f"this model's have {width}. Use f16"
        )


def _choose(name: str, value: str, known: dict[str, int]) -> int:
    if value not in known:
        raise ContextError(f"{name} {value!r} is unknown; use {', '.join(known)}")
    return known[value]
