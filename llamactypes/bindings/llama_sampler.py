"""llama.h: samplers.

A sampler belongs to whoever made it until ``llama_sampler_chain_add`` hands it to a
chain. One thread at a time may use a sampler.
"""
# mypy: disable-error-code="empty-body"

from __future__ import annotations

from ctypes import POINTER, c_bool, c_char_p, c_float, c_int32, c_size_t, c_uint32
from typing import TYPE_CHECKING

from llamactypes.bindings._declare import c_function
from llamactypes.bindings.structs import (
    llama_logit_bias,
    llama_sampler_chain_params,
    llama_sampler_i,
    llama_token_data_array,
)
from llamactypes.bindings.types import (
    llama_context_p,
    llama_sampler_context_t,
    llama_sampler_p,
    llama_seq_id,
    llama_token,
    llama_vocab_p,
)

if TYPE_CHECKING:
    from llamactypes.bindings.types import Pointer

__all__ = (
    "llama_set_sampler",
    "llama_sampler_init",
    "llama_sampler_name",
    "llama_sampler_accept",
    "llama_sampler_apply",
    "llama_sampler_reset",
    "llama_sampler_clone",
    "llama_sampler_copy",
    "llama_sampler_free",
    "llama_sampler_chain_init",
    "llama_sampler_chain_add",
    "llama_sampler_chain_get",
    "llama_sampler_chain_n",
    "llama_sampler_chain_remove",
    "llama_sampler_init_greedy",
    "llama_sampler_init_dist",
    "llama_sampler_init_top_k",
    "llama_sampler_init_top_p",
    "llama_sampler_init_min_p",
    "llama_sampler_init_typical",
    "llama_sampler_init_temp",
    "llama_sampler_init_temp_ext",
    "llama_sampler_init_xtc",
    "llama_sampler_init_top_n_sigma",
    "llama_sampler_init_mirostat",
    "llama_sampler_init_mirostat_v2",
    "llama_sampler_init_grammar",
    "llama_sampler_init_grammar_lazy_patterns",
    "llama_sampler_init_penalties",
    "llama_sampler_init_dry",
    "llama_sampler_init_adaptive_p",
    "llama_sampler_init_logit_bias",
    "llama_sampler_init_infill",
    "llama_sampler_get_seed",
    "llama_sampler_sample",
)


@c_function(
    "bool llama_set_sampler(struct llama_context * ctx, llama_seq_id seq_id, "
    "struct llama_sampler * smpl)",
    argtypes=[llama_context_p, llama_seq_id, llama_sampler_p],
    restype=c_bool,
)
def llama_set_sampler(
    ctx: llama_context_p | None, seq_id: int, smpl: llama_sampler_p | None
) -> bool:
    """Let the backend sample for a sequence; NULL ends it. Experimental.

    Returns False when the backend cannot run it; sample on the CPU then. The caller keeps
    the chain alive.
    """


@c_function(
    "struct llama_sampler * llama_sampler_init(struct llama_sampler_i * iface, "
    "llama_sampler_context_t ctx)",
    argtypes=[POINTER(llama_sampler_i), llama_sampler_context_t],
    restype=llama_sampler_p,
)
def llama_sampler_init(
    iface: Pointer[llama_sampler_i], ctx: int | None
) -> llama_sampler_p:
    """Make a sampler from functions written by the caller, who keeps `iface` alive."""


@c_function(
    "const char * llama_sampler_name(const struct llama_sampler * smpl)",
    argtypes=[llama_sampler_p],
    restype=c_char_p,
)
def llama_sampler_name(smpl: llama_sampler_p | None) -> bytes | None:
    """Return the sampler's name; it lives as long as the sampler."""


@c_function(
    "void llama_sampler_accept(struct llama_sampler * smpl, llama_token token)",
    argtypes=[llama_sampler_p, llama_token],
    restype=None,
)
def llama_sampler_accept(smpl: llama_sampler_p | None, token: int) -> None:
    """Tell the sampler which token was chosen."""


@c_function(
    "void llama_sampler_apply(struct llama_sampler * smpl, "
    "llama_token_data_array * cur_p)",
    argtypes=[llama_sampler_p, POINTER(llama_token_data_array)],
    restype=None,
)
def llama_sampler_apply(
    smpl: llama_sampler_p | None, cur_p: Pointer[llama_token_data_array]
) -> None:
    """Let the sampler change, cut or choose among the candidates."""


@c_function(
    "void llama_sampler_reset(struct llama_sampler * smpl)",
    argtypes=[llama_sampler_p],
    restype=None,
)
def llama_sampler_reset(smpl: llama_sampler_p | None) -> None:
    """Forget accepted tokens and restore the seed."""


@c_function(
    "struct llama_sampler * llama_sampler_clone(const struct llama_sampler * smpl)",
    argtypes=[llama_sampler_p],
    restype=llama_sampler_p,
)
def llama_sampler_clone(smpl: llama_sampler_p | None) -> llama_sampler_p:
    """Copy a sampler with its state; the caller owns the copy."""


@c_function(
    "void llama_sampler_copy(const struct llama_sampler * src, "
    "struct llama_sampler * dst)",
    argtypes=[llama_sampler_p, llama_sampler_p],
    restype=None,
)
def llama_sampler_copy(
    src: llama_sampler_p | None, dst: llama_sampler_p | None
) -> None:
    """Copy the state of one sampler into another of the same kind and configuration."""


@c_function(
    "void llama_sampler_free(struct llama_sampler * smpl)",
    argtypes=[llama_sampler_p],
    restype=None,
)
def llama_sampler_free(smpl: llama_sampler_p | None) -> None:
    """Free a sampler and what its chain owns; never one that a chain owns."""


@c_function(
    "struct llama_sampler * llama_sampler_chain_init("
    "struct llama_sampler_chain_params params)",
    argtypes=[llama_sampler_chain_params],
    restype=llama_sampler_p,
)
def llama_sampler_chain_init(params: llama_sampler_chain_params) -> llama_sampler_p:
    """Make an empty chain; the caller owns it."""


@c_function(
    "void llama_sampler_chain_add(struct llama_sampler * chain, "
    "struct llama_sampler * smpl)",
    argtypes=[llama_sampler_p, llama_sampler_p],
    restype=None,
)
def llama_sampler_chain_add(
    chain: llama_sampler_p | None, smpl: llama_sampler_p | None
) -> None:
    """Append a sampler; the chain owns it from now on."""


@c_function(
    "struct llama_sampler * llama_sampler_chain_get("
    "struct llama_sampler * chain, int32_t i)",
    argtypes=[llama_sampler_p, c_int32],
    restype=llama_sampler_p,
)
def llama_sampler_chain_get(chain: llama_sampler_p | None, i: int) -> llama_sampler_p:
    """Return sampler `i` of the chain (-1: the chain itself), NULL if there is none."""


@c_function(
    "int32_t llama_sampler_chain_n(const struct llama_sampler * chain)",
    argtypes=[llama_sampler_p],
    restype=c_int32,
)
def llama_sampler_chain_n(chain: llama_sampler_p | None) -> int:
    """Return the number of samplers in the chain."""


@c_function(
    "struct llama_sampler * llama_sampler_chain_remove("
    "struct llama_sampler * chain, int32_t i)",
    argtypes=[llama_sampler_p, c_int32],
    restype=llama_sampler_p,
)
def llama_sampler_chain_remove(
    chain: llama_sampler_p | None, i: int
) -> llama_sampler_p:
    """Take sampler `i` out of the chain; the caller owns it. NULL if there is none."""


@c_function(
    "struct llama_sampler * llama_sampler_init_greedy(void)",
    argtypes=[],
    restype=llama_sampler_p,
)
def llama_sampler_init_greedy() -> llama_sampler_p:
    """Choose the most likely token."""


@c_function(
    "struct llama_sampler * llama_sampler_init_dist(uint32_t seed)",
    argtypes=[c_uint32],
    restype=llama_sampler_p,
)
def llama_sampler_init_dist(seed: int) -> llama_sampler_p:
    """Choose at random by probability; ``LLAMA_DEFAULT_SEED`` takes a random seed."""


@c_function(
    "struct llama_sampler * llama_sampler_init_top_k(int32_t k)",
    argtypes=[c_int32],
    restype=llama_sampler_p,
)
def llama_sampler_init_top_k(k: int) -> llama_sampler_p:
    """Keep the `k` most likely tokens; `k` of 0 or less keeps all."""


@c_function(
    "struct llama_sampler * llama_sampler_init_top_p(float p, size_t min_keep)",
    argtypes=[c_float, c_size_t],
    restype=llama_sampler_p,
)
def llama_sampler_init_top_p(p: float, min_keep: int) -> llama_sampler_p:
    """Keep the fewest tokens that reach probability `p` together, at least `min_keep`."""


@c_function(
    "struct llama_sampler * llama_sampler_init_min_p(float p, size_t min_keep)",
    argtypes=[c_float, c_size_t],
    restype=llama_sampler_p,
)
def llama_sampler_init_min_p(p: float, min_keep: int) -> llama_sampler_p:
    """Keep tokens of at least `p` times the highest probability, at least `min_keep`."""


@c_function(
    "struct llama_sampler * llama_sampler_init_typical(float p, size_t min_keep)",
    argtypes=[c_float, c_size_t],
    restype=llama_sampler_p,
)
def llama_sampler_init_typical(p: float, min_keep: int) -> llama_sampler_p:
    """Keep tokens of typical surprise up to probability `p`, at least `min_keep`."""


@c_function(
    "struct llama_sampler * llama_sampler_init_temp(float t)",
    argtypes=[c_float],
    restype=llama_sampler_p,
)
def llama_sampler_init_temp(t: float) -> llama_sampler_p:
    """Divide logits by `t`; with `t` of 0 or less only the highest stays."""


@c_function(
    "struct llama_sampler * llama_sampler_init_temp_ext(float t, float delta, "
    "float exponent)",
    argtypes=[c_float, c_float, c_float],
    restype=llama_sampler_p,
)
def llama_sampler_init_temp_ext(
    t: float, delta: float, exponent: float
) -> llama_sampler_p:
    """Set the temperature by entropy, within `delta` of `t`."""


@c_function(
    "struct llama_sampler * llama_sampler_init_xtc(float p, float t, "
    "size_t min_keep, uint32_t seed)",
    argtypes=[c_float, c_float, c_size_t, c_uint32],
    restype=llama_sampler_p,
)
def llama_sampler_init_xtc(
    p: float, t: float, min_keep: int, seed: int
) -> llama_sampler_p:
    """With chance `p`, drop all but the last token above threshold `t`."""


@c_function(
    "struct llama_sampler * llama_sampler_init_top_n_sigma(float n)",
    argtypes=[c_float],
    restype=llama_sampler_p,
)
def llama_sampler_init_top_n_sigma(n: float) -> llama_sampler_p:
    """Keep tokens within `n` standard deviations of the highest logit."""


@c_function(
    "struct llama_sampler * llama_sampler_init_mirostat(int32_t n_vocab, "
    "uint32_t seed, float tau, float eta, int32_t m)",
    argtypes=[c_int32, c_uint32, c_float, c_float, c_int32],
    restype=llama_sampler_p,
)
def llama_sampler_init_mirostat(
    n_vocab: int, seed: int, tau: float, eta: float, m: int
) -> llama_sampler_p:
    """Choose with surprise held near `tau` (version 1); must be last in a chain.

    `eta` is the learning rate, `m` the number of tokens for the estimate (100 in the
    paper).
    """


@c_function(
    "struct llama_sampler * llama_sampler_init_mirostat_v2(uint32_t seed, "
    "float tau, float eta)",
    argtypes=[c_uint32, c_float, c_float],
    restype=llama_sampler_p,
)
def llama_sampler_init_mirostat_v2(
    seed: int, tau: float, eta: float
) -> llama_sampler_p:
    """Choose with surprise held near `tau` (version 2); must be last in a chain."""


@c_function(
    "struct llama_sampler * llama_sampler_init_grammar("
    "const struct llama_vocab * vocab, const char * grammar_str, "
    "const char * grammar_root)",
    argtypes=[llama_vocab_p, c_char_p, c_char_p],
    restype=llama_sampler_p,
)
def llama_sampler_init_grammar(
    vocab: llama_vocab_p | None, grammar_str: bytes | None, grammar_root: bytes | None
) -> llama_sampler_p:
    """Forbid tokens that a GBNF grammar does not allow; NULL when it does not parse."""


@c_function(
    "struct llama_sampler * llama_sampler_init_grammar_lazy_patterns("
    "const struct llama_vocab * vocab, const char * grammar_str, "
    "const char * grammar_root, const char ** trigger_patterns, "
    "size_t num_trigger_patterns, const llama_token * trigger_tokens, "
    "size_t num_trigger_tokens)",
    argtypes=[
        llama_vocab_p,
        c_char_p,
        c_char_p,
        POINTER(c_char_p),
        c_size_t,
        POINTER(llama_token),
        c_size_t,
    ],
    restype=llama_sampler_p,
)
def llama_sampler_init_grammar_lazy_patterns(
    vocab: llama_vocab_p | None,
    grammar_str: bytes | None,
    grammar_root: bytes | None,
    trigger_patterns: Pointer[c_char_p],
    num_trigger_patterns: int,
    trigger_tokens: Pointer[llama_token],
    num_trigger_tokens: int,
) -> llama_sampler_p:
    """As ``llama_sampler_init_grammar``, but sleeping until a trigger.

    A pattern (regular expression, matched from the start of the output) or a token
    wakes it; the grammar sees the text from the first match group or the token on.
    """


@c_function(
    "struct llama_sampler * llama_sampler_init_penalties(int32_t n_vocab, "
    "int32_t penalty_last_n, float penalty_repeat, float penalty_freq, "
    "float penalty_present)",
    argtypes=[c_int32, c_int32, c_float, c_float, c_float],
    restype=llama_sampler_p,
)
def llama_sampler_init_penalties(
    n_vocab: int,
    penalty_last_n: int,
    penalty_repeat: float,
    penalty_freq: float,
    penalty_present: float,
) -> llama_sampler_p:
    """Penalise tokens among the last `penalty_last_n` accepted ones (0 or less: off)."""


@c_function(
    "struct llama_sampler * llama_sampler_init_dry("
    "const struct llama_vocab * vocab, float dry_multiplier, float dry_base, "
    "int32_t dry_allowed_length, int32_t dry_penalty_last_n, "
    "const char ** seq_breakers, size_t num_breakers)",
    argtypes=[
        llama_vocab_p,
        c_float,
        c_float,
        c_int32,
        c_int32,
        POINTER(c_char_p),
        c_size_t,
    ],
    restype=llama_sampler_p,
)
def llama_sampler_init_dry(
    vocab: llama_vocab_p | None,
    dry_multiplier: float,
    dry_base: float,
    dry_allowed_length: int,
    dry_penalty_last_n: int,
    seq_breakers: Pointer[c_char_p],
    num_breakers: int,
) -> llama_sampler_p:
    """Penalise tokens that would repeat an earlier passage (DRY).

    `seq_breakers` are strings that end a passage.
    """


@c_function(
    "struct llama_sampler * llama_sampler_init_adaptive_p(float target, "
    "float decay, uint32_t seed)",
    argtypes=[c_float, c_float, c_uint32],
    restype=llama_sampler_p,
)
def llama_sampler_init_adaptive_p(
    target: float, decay: float, seed: int
) -> llama_sampler_p:
    """Choose tokens near a target probability; must be last in a chain.

    `target` 0.0 to 1.0, negative: off. `decay` 0.0 to 0.99.
    """


@c_function(
    "struct llama_sampler * llama_sampler_init_logit_bias(int32_t n_vocab, "
    "int32_t n_logit_bias, const llama_logit_bias * logit_bias)",
    argtypes=[c_int32, c_int32, POINTER(llama_logit_bias)],
    restype=llama_sampler_p,
)
def llama_sampler_init_logit_bias(
    n_vocab: int, n_logit_bias: int, logit_bias: Pointer[llama_logit_bias]
) -> llama_sampler_p:
    """Add numbers to the logits of some tokens; the array is copied."""


@c_function(
    "struct llama_sampler * llama_sampler_init_infill("
    "const struct llama_vocab * vocab)",
    argtypes=[llama_vocab_p],
    restype=llama_sampler_p,
)
def llama_sampler_init_infill(vocab: llama_vocab_p | None) -> llama_sampler_p:
    """Choose for fill-in-the-middle; goes after top-k and top-p."""


@c_function(
    "uint32_t llama_sampler_get_seed(const struct llama_sampler * smpl)",
    argtypes=[llama_sampler_p],
    restype=c_uint32,
)
def llama_sampler_get_seed(smpl: llama_sampler_p | None) -> int:
    """Return the seed in use, ``LLAMA_DEFAULT_SEED`` for samplers without one."""


@c_function(
    "llama_token llama_sampler_sample(struct llama_sampler * smpl, "
    "struct llama_context * ctx, int32_t idx)",
    argtypes=[llama_sampler_p, llama_context_p, c_int32],
    restype=llama_token,
)
def llama_sampler_sample(
    smpl: llama_sampler_p | None, ctx: llama_context_p | None, idx: int
) -> int:
    """Sample from the output at batch index `idx` (-1: last), accept and return the token.

    Builds the candidates from the logits, applies `smpl`, and accepts its choice. The
    process aborts when the token gave no output.
    """
