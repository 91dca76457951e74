"""llama.h: timings, for diagnosis only."""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from llamactypes.bindings._declare import c_function
from llamactypes.bindings.structs import (
    llama_perf_context_data,
    llama_perf_context_data_returned,
    llama_perf_sampler_data,
)
from llamactypes.bindings.types import llama_context_p, llama_sampler_p

__all__ = (
    "llama_perf_context",
    "llama_perf_context_print",
    "llama_perf_context_reset",
    "llama_perf_sampler",
    "llama_perf_sampler_print",
    "llama_perf_sampler_reset",
)


@c_function(
    "struct llama_perf_context_data llama_perf_context("
    "const struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=llama_perf_context_data_returned,
)
def llama_perf_context(ctx: llama_context_p | None) -> llama_perf_context_data:
    """Return timings of a context; zero when it was made with `no_perf`."""


@c_function(
    "void llama_perf_context_print(const struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=None,
)
def llama_perf_context_print(ctx: llama_context_p | None) -> None:
    """Log the timings of a context."""


@c_function(
    "void llama_perf_context_reset(struct llama_context * ctx)",
    argtypes=[llama_context_p],
    restype=None,
)
def llama_perf_context_reset(ctx: llama_context_p | None) -> None:
    """Start the timings of a context afresh."""


@c_function(
    "struct llama_perf_sampler_data llama_perf_sampler("
    "const struct llama_sampler * chain)",
    argtypes=[llama_sampler_p],
    restype=llama_perf_sampler_data,
)
def llama_perf_sampler(chain: llama_sampler_p | None) -> llama_perf_sampler_data:
    """Return timings of a chain made by ``llama_sampler_chain_init``."""


@c_function(
    "void llama_perf_sampler_print(const struct llama_sampler * chain)",
    argtypes=[llama_sampler_p],
    restype=None,
)
def llama_perf_sampler_print(chain: llama_sampler_p | None) -> None:
    """Log the timings of a chain."""


@c_function(
    "void llama_perf_sampler_reset(struct llama_sampler * chain)",
    argtypes=[llama_sampler_p],
    restype=None,
)
def llama_perf_sampler_reset(chain: llama_sampler_p | None) -> None:
    """Start the timings of a chain afresh."""
