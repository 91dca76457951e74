"""Every structure of ``llama.h``, ``mtmd.h``, ``mtmd-helper.h``, and the ggml ones we use.

In header order, verbatim names. ``__slots__ = ()`` makes a misspelt field raise instead
of being ignored. ``build_scripts/check_abi.py`` proves every size, offset and field type
with the compiler. A structure does not keep alive what its pointers point to: whoever
sets them does.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    Union,
    c_bool,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int8,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint32,
    c_void_p,
)
from typing import TYPE_CHECKING

from llamactypes.bindings.enums import GGML_MAX_N_THREADS
from llamactypes.bindings.types import (
    ggml_abort_callback,
    ggml_backend_buffer_type_t,
    ggml_backend_dev_t,
    ggml_backend_reg_t,
    ggml_backend_sched_eval_callback,
    ggml_cgraph_p,
    ggml_context_p,
    ggml_tensor_p,
    llama_context_p,
    llama_opt_param_filter,
    llama_pos,
    llama_progress_callback,
    llama_sampler,
    llama_sampler_context_t,
    llama_sampler_p,
    llama_seq_id,
    llama_token,
    mtmd_bitmap_p,
    mtmd_helper_video_p,
    mtmd_progress_callback,
)

if TYPE_CHECKING:
    from llamactypes.bindings.types import Callback, HandleField, PointerField

__all__ = (
    "ggml_threadpool_params",
    "ggml_backend_dev_caps",
    "ggml_backend_dev_props",
    "ggml_backend_feature",
    "ggml_backend_get_features_t",
    "ggml_opt_optimizer_params_adamw",
    "ggml_opt_optimizer_params_sgd",
    "ggml_opt_optimizer_params",
    "ggml_opt_get_optimizer_params",
    "llama_token_data",
    "llama_token_data_array",
    "llama_batch",
    "llama_model_kv_override_value",
    "llama_model_kv_override",
    "llama_model_tensor_buft_override",
    "llama_model_params",
    "llama_sampler_seq_config",
    "llama_context_params",
    "llama_context_params_160",
    "CONTEXT_LAYOUTS",
    "llama_model_tensor_override",
    "llama_model_imatrix_data",
    "llama_model_quantize_params",
    "llama_logit_bias",
    "llama_sampler_chain_params",
    "llama_chat_message",
    "llama_embd",
    "llama_sampler_data",
    "llama_sampler_i",
    "llama_perf_context_data",
    "llama_perf_context_data_returned",
    "llama_perf_sampler_data",
    "llama_opt_params",
    "mtmd_input_text",
    "mtmd_input_part",
    "mtmd_context_params",
    "mtmd_decoder_pos",
    "mtmd_caps",
    "mtmd_gen_audio_info",
    "mtmd_gen_inp",
    "mtmd_gen_inp_returned",
    "mtmd_gen_out",
    "mtmd_helper_video_init_params",
    "mtmd_helper_init_opt",
    "mtmd_helper_bitmap_wrapper",
    "mtmd_helper_embd_batch",
    "mtmd_helper_post_decode_callback",
    "mtmd_helper_video_info",
    "mtmd_helper_gen_audio_inp",
    "GROWING_RETURNS",
)

# -- ggml.h ------------------------------------------------------------------------


class ggml_threadpool_params(Structure):
    """How to make a thread pool; start from ``ggml_threadpool_params_default``."""

    __slots__ = ()
    cpumask: ctypes.Array[c_bool]
    n_threads: int
    prio: int
    poll: int
    strict_cpu: bool
    paused: bool
    _fields_ = [
        ("cpumask", c_bool * GGML_MAX_N_THREADS),
        ("n_threads", c_int),
        ("prio", c_int),
        ("poll", c_uint32),
        ("strict_cpu", c_bool),
        ("paused", c_bool),
    ]


# -- ggml-backend.h ----------------------------------------------------------------


class ggml_backend_dev_caps(Structure):
    """What a device can do. C calls the first field ``async``."""

    __slots__ = ()
    async_: bool
    host_buffer: bool
    buffer_from_host_ptr: bool
    events: bool
    mmap_support: bool
    _fields_ = [
        ("async_", c_bool),
        ("host_buffer", c_bool),
        ("buffer_from_host_ptr", c_bool),
        ("events", c_bool),
        ("mmap_support", c_bool),
    ]


class ggml_backend_dev_props(Structure):
    """Facts about a device; strings live as long as the device. Memory in bytes."""

    __slots__ = ()
    name: bytes | None
    description: bytes | None
    memory_free: int
    memory_total: int
    type: int
    device_id: bytes | None
    caps: ggml_backend_dev_caps
    _fields_ = [
        ("name", c_char_p),
        ("description", c_char_p),
        ("memory_free", c_size_t),
        ("memory_total", c_size_t),
        ("type", c_int),
        ("device_id", c_char_p),
        ("caps", ggml_backend_dev_caps),
    ]


class ggml_backend_feature(Structure):
    """One compiled-in feature of a backend, such as ``AVX2`` = ``1``."""

    __slots__ = ()
    name: bytes | None
    value: bytes | None
    _fields_ = [
        ("name", c_char_p),
        ("value", c_char_p),
    ]


ggml_backend_get_features_t = CFUNCTYPE(
    POINTER(ggml_backend_feature), ggml_backend_reg_t
)
"""``(reg) -> features``: an array that ends with a NULL name.

Its address: ``ggml_backend_reg_get_proc_address(reg, b"ggml_backend_get_features")``.
"""


# -- ggml-opt.h --------------------------------------------------------------------


class ggml_opt_optimizer_params_adamw(Structure):
    """Part of ``ggml_opt_optimizer_params``; unnamed in C."""

    __slots__ = ()
    alpha: float
    beta1: float
    beta2: float
    eps: float
    wd: float
    _fields_ = [
        ("alpha", c_float),
        ("beta1", c_float),
        ("beta2", c_float),
        ("eps", c_float),
        ("wd", c_float),
    ]


class ggml_opt_optimizer_params_sgd(Structure):
    """Part of ``ggml_opt_optimizer_params``; unnamed in C."""

    __slots__ = ()
    alpha: float
    wd: float
    _fields_ = [
        ("alpha", c_float),
        ("wd", c_float),
    ]


class ggml_opt_optimizer_params(Structure):
    """Learning rates and momenta of the optimisers."""

    __slots__ = ()
    adamw: ggml_opt_optimizer_params_adamw
    sgd: ggml_opt_optimizer_params_sgd
    _fields_ = [
        ("adamw", ggml_opt_optimizer_params_adamw),
        ("sgd", ggml_opt_optimizer_params_sgd),
    ]


ggml_opt_get_optimizer_params = CFUNCTYPE(ggml_opt_optimizer_params, c_void_p)
"""``(user_data) -> params``: only a C function can be one (it returns a struct)."""


# -- llama.h -----------------------------------------------------------------------


class llama_token_data(Structure):
    """A candidate token: id, logit, probability (0 until a sampler computes it)."""

    __slots__ = ()
    id: int
    logit: float
    p: float
    _fields_ = [
        ("id", llama_token),
        ("logit", c_float),
        ("p", c_float),
    ]


class llama_token_data_array(Structure):
    """The candidates a sampler works on.

    Samplers may replace `data`, shrink `size` and set `selected`, an index into `data`
    (-1: none yet). Do not assume an order: read `sorted`.
    """

    __slots__ = ()
    data: PointerField[llama_token_data]
    size: int
    selected: int
    sorted: bool
    _fields_ = [
        ("data", POINTER(llama_token_data)),
        ("size", c_size_t),
        ("selected", c_int64),
        ("sorted", c_bool),
    ]


class llama_batch(Structure):
    """Input of ``llama_encode``/``llama_decode``: arrays of `n_tokens` entries.

    Either `token` or `embd` is set. NULL `pos`: positions follow the memory. NULL
    `seq_id`: sequence 0. NULL `logits`: only the last token gives output (all of them
    when the context computes embeddings).
    """

    __slots__ = ()
    n_tokens: int
    token: PointerField[llama_token]
    embd: PointerField[c_float]
    pos: PointerField[llama_pos]
    n_seq_id: PointerField[c_int32]
    seq_id: PointerField[ctypes._Pointer[llama_seq_id]]
    logits: PointerField[c_int8]
    _fields_ = [
        ("n_tokens", c_int32),
        ("token", POINTER(llama_token)),
        ("embd", POINTER(c_float)),
        ("pos", POINTER(llama_pos)),
        ("n_seq_id", POINTER(c_int32)),
        ("seq_id", POINTER(POINTER(llama_seq_id))),
        ("logits", POINTER(c_int8)),
    ]


class llama_model_kv_override_value(Union):
    """Part of ``llama_model_kv_override``; unnamed in C."""

    __slots__ = ()
    _fields_ = [
        ("val_i64", c_int64),
        ("val_f64", c_double),
        ("val_bool", c_bool),
        ("val_str", c_char * 128),
    ]


class llama_model_kv_override(Structure):
    """Replaces one metadata value while a model loads.

    `tag` says which of the ``val_`` fields counts. An entry with an empty `key` ends
    the list.
    """

    __slots__ = ()
    tag: int
    key: bytes
    val_i64: int
    val_f64: float
    val_bool: bool
    val_str: bytes
    _anonymous_ = ("value",)
    _fields_ = [
        ("tag", c_int),
        ("key", c_char * 128),
        ("value", llama_model_kv_override_value),
    ]


class llama_model_tensor_buft_override(Structure):
    """Where to put the tensors whose name matches `pattern` (a regular expression)."""

    __slots__ = ()
    pattern: bytes | None
    buft: HandleField[ggml_backend_buffer_type_t]
    _fields_ = [
        ("pattern", c_char_p),
        ("buft", ggml_backend_buffer_type_t),
    ]


class llama_model_params(Structure):
    """How to load a model; start from ``llama_model_default_params``.

    `devices` and `tensor_buft_overrides` are NULL-terminated lists that must stay alive
    until the load ends. A negative `n_gpu_layers` means all layers.
    """

    __slots__ = ()
    devices: PointerField[ggml_backend_dev_t]
    tensor_buft_overrides: PointerField[llama_model_tensor_buft_override]
    n_gpu_layers: int
    split_mode: int
    load_mode: int
    lazy_mode: int
    main_gpu: int
    tensor_split: PointerField[c_float]
    progress_callback: Callback
    progress_callback_user_data: int | None
    kv_overrides: PointerField[llama_model_kv_override]
    vocab_only: bool
    check_tensors: bool
    use_extra_bufts: bool
    no_host: bool
    no_alloc: bool
    load_mtp: bool
    _fields_ = [
        ("devices", POINTER(ggml_backend_dev_t)),
        ("tensor_buft_overrides", POINTER(llama_model_tensor_buft_override)),
        ("n_gpu_layers", c_int32),
        ("split_mode", c_int),
        ("load_mode", c_int),
        ("lazy_mode", c_int),
        ("main_gpu", c_int32),
        ("tensor_split", POINTER(c_float)),
        ("progress_callback", llama_progress_callback),
        ("progress_callback_user_data", c_void_p),
        ("kv_overrides", POINTER(llama_model_kv_override)),
        ("vocab_only", c_bool),
        ("check_tensors", c_bool),
        ("use_extra_bufts", c_bool),
        ("no_host", c_bool),
        ("no_alloc", c_bool),
        ("load_mtp", c_bool),
    ]


class llama_sampler_seq_config(Structure):
    """The backend sampler chain of one sequence; the caller keeps the chain alive."""

    __slots__ = ()
    seq_id: int
    sampler: HandleField[llama_sampler_p]
    _fields_ = [
        ("seq_id", llama_seq_id),
        ("sampler", llama_sampler_p),
    ]


class llama_context_params(Structure):
    """How to make a context, as b11549 and later lay it out (168 bytes).

    Start from ``llama_context_default_params``, which returns the class that the loaded
    library uses, and set fields by name: ``CONTEXT_LAYOUTS`` lists the classes.
    `n_ctx` 0 means what the model was trained with.
    """

    __slots__ = ()
    n_ctx: int
    n_batch: int
    n_ubatch: int
    n_seq_max: int
    n_rs_seq: int
    n_outputs_max: int
    n_outputs_max_per_seq: int
    n_threads: int
    n_threads_batch: int
    ctx_type: int
    rope_scaling_type: int
    pooling_type: int
    attention_type: int
    flash_attn_type: int
    rope_freq_base: float
    rope_freq_scale: float
    yarn_ext_factor: float
    yarn_attn_factor: float
    yarn_beta_fast: float
    yarn_beta_slow: float
    yarn_orig_ctx: int
    defrag_thold: float
    cb_eval: Callback
    cb_eval_user_data: int | None
    type_k: int
    type_v: int
    moe_cache_size: int
    abort_callback: Callback
    abort_callback_data: int | None
    embeddings: bool
    offload_kqv: bool
    no_perf: bool
    op_offload: bool
    swa_full: bool
    kv_unified: bool
    samplers: PointerField[llama_sampler_seq_config]
    n_samplers: int
    ctx_other: HandleField[llama_context_p]
    _fields_ = [
        ("n_ctx", c_uint32),
        ("n_batch", c_uint32),
        ("n_ubatch", c_uint32),
        ("n_seq_max", c_uint32),
        ("n_rs_seq", c_uint32),
        ("n_outputs_max", c_uint32),
        ("n_outputs_max_per_seq", c_uint32),
        ("n_threads", c_int32),
        ("n_threads_batch", c_int32),
        ("ctx_type", c_int),
        ("rope_scaling_type", c_int),
        ("pooling_type", c_int),
        ("attention_type", c_int),
        ("flash_attn_type", c_int),
        ("rope_freq_base", c_float),
        ("rope_freq_scale", c_float),
        ("yarn_ext_factor", c_float),
        ("yarn_attn_factor", c_float),
        ("yarn_beta_fast", c_float),
        ("yarn_beta_slow", c_float),
        ("yarn_orig_ctx", c_uint32),
        ("defrag_thold", c_float),
        ("cb_eval", ggml_backend_sched_eval_callback),
        ("cb_eval_user_data", c_void_p),
        ("type_k", c_int),
        ("type_v", c_int),
        ("moe_cache_size", c_size_t),
        ("abort_callback", ggml_abort_callback),
        ("abort_callback_data", c_void_p),
        ("embeddings", c_bool),
        ("offload_kqv", c_bool),
        ("no_perf", c_bool),
        ("op_offload", c_bool),
        ("swa_full", c_bool),
        ("kv_unified", c_bool),
        ("samplers", POINTER(llama_sampler_seq_config)),
        ("n_samplers", c_size_t),
        ("ctx_other", llama_context_p),
    ]


class llama_context_params_160(Structure):
    """``llama_context_params`` of b10952 to b11434 (160 bytes): no `moe_cache_size`."""

    __slots__ = ()
    n_ctx: int
    n_batch: int
    n_ubatch: int
    n_seq_max: int
    n_rs_seq: int
    n_outputs_max: int
    n_outputs_max_per_seq: int
    n_threads: int
    n_threads_batch: int
    ctx_type: int
    rope_scaling_type: int
    pooling_type: int
    attention_type: int
    flash_attn_type: int
    rope_freq_base: float
    rope_freq_scale: float
    yarn_ext_factor: float
    yarn_attn_factor: float
    yarn_beta_fast: float
    yarn_beta_slow: float
    yarn_orig_ctx: int
    defrag_thold: float
    cb_eval: Callback
    cb_eval_user_data: int | None
    type_k: int
    type_v: int
    abort_callback: Callback
    abort_callback_data: int | None
    embeddings: bool
    offload_kqv: bool
    no_perf: bool
    op_offload: bool
    swa_full: bool
    kv_unified: bool
    samplers: PointerField[llama_sampler_seq_config]
    n_samplers: int
    ctx_other: HandleField[llama_context_p]
    _fields_ = [
        ("n_ctx", c_uint32),
        ("n_batch", c_uint32),
        ("n_ubatch", c_uint32),
        ("n_seq_max", c_uint32),
        ("n_rs_seq", c_uint32),
        ("n_outputs_max", c_uint32),
        ("n_outputs_max_per_seq", c_uint32),
        ("n_threads", c_int32),
        ("n_threads_batch", c_int32),
        ("ctx_type", c_int),
        ("rope_scaling_type", c_int),
        ("pooling_type", c_int),
        ("attention_type", c_int),
        ("flash_attn_type", c_int),
        ("rope_freq_base", c_float),
        ("rope_freq_scale", c_float),
        ("yarn_ext_factor", c_float),
        ("yarn_attn_factor", c_float),
        ("yarn_beta_fast", c_float),
        ("yarn_beta_slow", c_float),
        ("yarn_orig_ctx", c_uint32),
        ("defrag_thold", c_float),
        ("cb_eval", ggml_backend_sched_eval_callback),
        ("cb_eval_user_data", c_void_p),
        ("type_k", c_int),
        ("type_v", c_int),
        ("abort_callback", ggml_abort_callback),
        ("abort_callback_data", c_void_p),
        ("embeddings", c_bool),
        ("offload_kqv", c_bool),
        ("no_perf", c_bool),
        ("op_offload", c_bool),
        ("swa_full", c_bool),
        ("kv_unified", c_bool),
        ("samplers", POINTER(llama_sampler_seq_config)),
        ("n_samplers", c_size_t),
        ("ctx_other", llama_context_p),
    ]


CONTEXT_LAYOUTS: dict[str, type[Structure]] = {
    "168": llama_context_params,
    "160": llama_context_params_160,
}
"""Every layout of ``llama_context_params`` that can be loaded, by its size in bytes."""


class llama_model_tensor_override(Structure):
    """The quantisation type of the tensors whose name matches `pattern`."""

    __slots__ = ()
    pattern: bytes | None
    type: int
    _fields_ = [
        ("pattern", c_char_p),
        ("type", c_int),
    ]


class llama_model_imatrix_data(Structure):
    """Importance values of one tensor."""

    __slots__ = ()
    name: bytes | None
    data: PointerField[c_float]
    size: int
    _fields_ = [
        ("name", c_char_p),
        ("data", POINTER(c_float)),
        ("size", c_size_t),
    ]


class llama_model_quantize_params(Structure):
    """How to quantise a file; start from ``llama_model_quantize_default_params``."""

    __slots__ = ()
    nthread: int
    ftype: int
    output_tensor_type: int
    token_embedding_type: int
    allow_requantize: bool
    quantize_output_tensor: bool
    only_copy: bool
    pure: bool
    keep_split: bool
    dry_run: bool
    imatrix: PointerField[llama_model_imatrix_data]
    kv_overrides: PointerField[llama_model_kv_override]
    tt_overrides: PointerField[llama_model_tensor_override]
    prune_layers: PointerField[c_int32]
    max_buf_size: int
    _fields_ = [
        ("nthread", c_int32),
        ("ftype", c_int),
        ("output_tensor_type", c_int),
        ("token_embedding_type", c_int),
        ("allow_requantize", c_bool),
        ("quantize_output_tensor", c_bool),
        ("only_copy", c_bool),
        ("pure", c_bool),
        ("keep_split", c_bool),
        ("dry_run", c_bool),
        ("imatrix", POINTER(llama_model_imatrix_data)),
        ("kv_overrides", POINTER(llama_model_kv_override)),
        ("tt_overrides", POINTER(llama_model_tensor_override)),
        ("prune_layers", POINTER(c_int32)),
        ("max_buf_size", c_size_t),
    ]


class llama_logit_bias(Structure):
    """A number added to the logit of one token; -inf forbids it."""

    __slots__ = ()
    token: int
    bias: float
    _fields_ = [
        ("token", llama_token),
        ("bias", c_float),
    ]


class llama_sampler_chain_params(Structure):
    """How to make a sampler chain."""

    __slots__ = ()
    no_perf: bool
    _fields_ = [
        ("no_perf", c_bool),
    ]


class llama_chat_message(Structure):
    """One message for ``llama_chat_apply_template``."""

    __slots__ = ()
    role: bytes | None
    content: bytes | None
    _fields_ = [
        ("role", c_char_p),
        ("content", c_char_p),
    ]


class llama_embd(Structure):
    """Embedding rows, `n_rows` times `n_embd` float32."""

    __slots__ = ()
    data: PointerField[c_float]
    n_rows: int
    n_embd: int
    _fields_ = [
        ("data", POINTER(c_float)),
        ("n_rows", c_size_t),
        ("n_embd", c_size_t),
    ]


class llama_sampler_data(Structure):
    """Graph tensors that a backend sampler reads and replaces."""

    __slots__ = ()
    logits: HandleField[ggml_tensor_p]
    probs: HandleField[ggml_tensor_p]
    sampled: HandleField[ggml_tensor_p]
    candidates: HandleField[ggml_tensor_p]
    _fields_ = [
        ("logits", ggml_tensor_p),
        ("probs", ggml_tensor_p),
        ("sampled", ggml_tensor_p),
        ("candidates", ggml_tensor_p),
    ]


class llama_sampler_i(Structure):
    """The functions of a sampler; only `apply` is required.

    Function types are read from this table: ``dict(llama_sampler_i._fields_)["apply"]``.
    Functions that return a pointer return its address as an int.
    """

    __slots__ = ()
    name: Callback
    accept: Callback
    apply: Callback
    reset: Callback
    clone: Callback
    free: Callback
    backend_init: Callback
    backend_accept: Callback
    backend_apply: Callback
    backend_set_input: Callback
    backend_reset: Callback
    copy_state: Callback
    _fields_ = [
        ("name", CFUNCTYPE(c_void_p, llama_sampler_p)),
        ("accept", CFUNCTYPE(None, llama_sampler_p, llama_token)),
        ("apply", CFUNCTYPE(None, llama_sampler_p, POINTER(llama_token_data_array))),
        ("reset", CFUNCTYPE(None, llama_sampler_p)),
        ("clone", CFUNCTYPE(c_void_p, llama_sampler_p)),
        ("free", CFUNCTYPE(None, llama_sampler_p)),
        (
            "backend_init",
            CFUNCTYPE(c_bool, llama_sampler_p, ggml_backend_buffer_type_t, c_uint32),
        ),
        (
            "backend_accept",
            CFUNCTYPE(
                None, llama_sampler_p, ggml_context_p, ggml_cgraph_p, ggml_tensor_p
            ),
        ),
        (
            "backend_apply",
            CFUNCTYPE(
                None,
                llama_sampler_p,
                ggml_context_p,
                ggml_cgraph_p,
                POINTER(llama_sampler_data),
            ),
        ),
        ("backend_set_input", CFUNCTYPE(None, llama_sampler_p)),
        ("backend_reset", CFUNCTYPE(None, llama_sampler_p)),
        ("copy_state", CFUNCTYPE(None, llama_sampler_p, llama_sampler_p)),
    ]


llama_sampler._fields_ = [
    ("iface", POINTER(llama_sampler_i)),
    ("ctx", llama_sampler_context_t),
]


class llama_perf_context_data(Structure):
    """Timings of a context in milliseconds, and counts. Zero unless ``no_perf`` is false."""

    __slots__ = ()
    t_start_ms: float
    t_load_ms: float
    t_p_eval_ms: float
    t_eval_ms: float
    n_p_eval: int
    n_eval: int
    n_reused: int
    _fields_ = [
        ("t_start_ms", c_double),
        ("t_load_ms", c_double),
        ("t_p_eval_ms", c_double),
        ("t_eval_ms", c_double),
        ("n_p_eval", c_int32),
        ("n_eval", c_int32),
        ("n_reused", c_int32),
    ]


class llama_perf_context_data_returned(llama_perf_context_data):
    """``llama_perf_context_data`` with room to grow; see ``GROWING_RETURNS``."""

    __slots__ = ()
    _fields_ = [("reserved", c_uint8 * 128)]


class llama_perf_sampler_data(Structure):
    """Timing of a sampler chain in milliseconds, and its count."""

    __slots__ = ()
    t_sample_ms: float
    n_sample: int
    _fields_ = [
        ("t_sample_ms", c_double),
        ("n_sample", c_int32),
    ]


class llama_opt_params(Structure):
    """How to train a context."""

    __slots__ = ()
    n_ctx_train: int
    param_filter: Callback
    param_filter_ud: int | None
    get_opt_pars: Callback
    get_opt_pars_ud: int | None
    optimizer_type: int
    _fields_ = [
        ("n_ctx_train", c_uint32),
        ("param_filter", llama_opt_param_filter),
        ("param_filter_ud", c_void_p),
        ("get_opt_pars", ggml_opt_get_optimizer_params),
        ("get_opt_pars_ud", c_void_p),
        ("optimizer_type", c_int),
    ]


# -- mtmd.h ------------------------------------------------------------------------


class mtmd_input_text(Structure):
    """The prompt of ``mtmd_tokenize``: UTF-8 of `text_len` bytes."""

    __slots__ = ()
    text: bytes | None
    text_len: int
    add_special: bool
    parse_special: bool
    _fields_ = [
        ("text", c_char_p),
        ("text_len", c_size_t),
        ("add_special", c_bool),
        ("parse_special", c_bool),
    ]


class mtmd_input_part(Structure):
    """Either a text or a bitmap, never both."""

    __slots__ = ()
    text: PointerField[mtmd_input_text]
    bitmap: HandleField[mtmd_bitmap_p]
    _fields_ = [
        ("text", POINTER(mtmd_input_text)),
        ("bitmap", mtmd_bitmap_p),
    ]


class mtmd_context_params(Structure):
    """How to load a multimodal projector; start from ``mtmd_context_params_default``."""

    __slots__ = ()
    use_gpu: bool
    device: HandleField[ggml_backend_dev_t]
    print_timings: bool
    n_threads: int
    image_marker: bytes | None
    media_marker: bytes | None
    flash_attn_type: int
    warmup: bool
    image_min_tokens: int
    image_max_tokens: int
    cb_eval: Callback
    cb_eval_user_data: int | None
    batch_max_tokens: int
    progress_callback: Callback
    progress_callback_user_data: int | None
    _fields_ = [
        ("use_gpu", c_bool),
        ("device", ggml_backend_dev_t),
        ("print_timings", c_bool),
        ("n_threads", c_int),
        ("image_marker", c_char_p),
        ("media_marker", c_char_p),
        ("flash_attn_type", c_int),
        ("warmup", c_bool),
        ("image_min_tokens", c_int),
        ("image_max_tokens", c_int),
        ("cb_eval", ggml_backend_sched_eval_callback),
        ("cb_eval_user_data", c_void_p),
        ("batch_max_tokens", c_int32),
        ("progress_callback", mtmd_progress_callback),
        ("progress_callback_user_data", c_void_p),
    ]


class mtmd_decoder_pos(Structure):
    """Position of one embedding for M-RoPE models."""

    __slots__ = ()
    t: int
    x: int
    y: int
    z: int
    _fields_ = [
        ("t", c_uint32),
        ("x", c_uint32),
        ("y", c_uint32),
        ("z", c_uint32),
    ]


class mtmd_caps(Structure):
    """What a projector file can take in."""

    __slots__ = ()
    inp_vision: bool
    inp_audio: bool
    _fields_ = [
        ("inp_vision", c_bool),
        ("inp_audio", c_bool),
    ]


class mtmd_gen_audio_info(Structure):
    """Which speech pipeline a projector has; `sample_rate` in Hz."""

    __slots__ = ()
    type: int
    sample_rate: int
    model_variant: bytes | None
    _fields_ = [
        ("type", c_int),
        ("sample_rate", c_int32),
        ("model_variant", c_char_p),
    ]


class mtmd_gen_inp(Structure):
    """Input of one step of speech generation; start from ``mtmd_gen_inp_default``."""

    __slots__ = ()
    type: int
    code0: int
    embd: PointerField[c_float]
    top_k: int
    top_p: float
    seed: int
    temp: float
    codes: PointerField[c_int32]
    n_codes: int
    feats: PointerField[c_float]
    n_feats: int
    state_data: PointerField[c_char]
    state_size: int
    _fields_ = [
        ("type", c_int),
        ("code0", c_int32),
        ("embd", POINTER(c_float)),
        ("top_k", c_int32),
        ("top_p", c_float),
        ("seed", c_uint32),
        ("temp", c_float),
        ("codes", POINTER(c_int32)),
        ("n_codes", c_size_t),
        ("feats", POINTER(c_float)),
        ("n_feats", c_size_t),
        ("state_data", POINTER(c_char)),
        ("state_size", c_size_t),
    ]


class mtmd_gen_inp_returned(mtmd_gen_inp):
    """``mtmd_gen_inp`` with room to grow; see ``GROWING_RETURNS``."""

    __slots__ = ()
    _fields_ = [("reserved", c_uint8 * 128)]


class mtmd_gen_out(Structure):
    """Output of one step of speech generation; valid until the next step."""

    __slots__ = ()
    codes: PointerField[c_int32]
    n_codes: int
    feats: PointerField[c_float]
    n_feats: int
    embd: PointerField[c_float]
    is_eos: bool
    audio: PointerField[c_float]
    n_samples: int
    state_data: PointerField[c_char]
    state_size: int
    _fields_ = [
        ("codes", POINTER(c_int32)),
        ("n_codes", c_size_t),
        ("feats", POINTER(c_float)),
        ("n_feats", c_size_t),
        ("embd", POINTER(c_float)),
        ("is_eos", c_bool),
        ("audio", POINTER(c_float)),
        ("n_samples", c_size_t),
        ("state_data", POINTER(c_char)),
        ("state_size", c_size_t),
    ]


# -- mtmd-helper.h -----------------------------------------------------------------


class mtmd_helper_video_init_params(Structure):
    """How to read a video: frames per second, and timestamps as text."""

    __slots__ = ()
    fps_target: float
    ffmpeg_bin_dir: bytes | None
    timestamp_interval_ms: int
    _fields_ = [
        ("fps_target", c_float),
        ("ffmpeg_bin_dir", c_char_p),
        ("timestamp_interval_ms", c_int64),
    ]


class mtmd_helper_init_opt(Structure):
    """Options of the ``mtmd_helper_bitmap_init_from_*`` functions."""

    __slots__ = ()
    video_params: mtmd_helper_video_init_params
    _fields_ = [
        ("video_params", mtmd_helper_video_init_params),
    ]


class mtmd_helper_bitmap_wrapper(Structure):
    """A bitmap, and the video it reads from (NULL when it is not a video)."""

    __slots__ = ()
    bitmap: HandleField[mtmd_bitmap_p]
    video_ctx: HandleField[mtmd_helper_video_p]
    _fields_ = [
        ("bitmap", mtmd_bitmap_p),
        ("video_ctx", mtmd_helper_video_p),
    ]


class mtmd_helper_embd_batch(Structure):
    """One decoded part of a media chunk, given to the callback after each decode."""

    __slots__ = ()
    n_tokens: int
    embd: PointerField[c_float]
    n_embd: int
    pos: PointerField[llama_pos]
    n_pos: int
    seq_id: int
    _fields_ = [
        ("n_tokens", c_int32),
        ("embd", POINTER(c_float)),
        ("n_embd", c_int32),
        ("pos", POINTER(llama_pos)),
        ("n_pos", c_int32),
        ("seq_id", llama_seq_id),
    ]


mtmd_helper_post_decode_callback = CFUNCTYPE(
    c_int32, POINTER(mtmd_helper_embd_batch), c_void_p
)
"""``(batch, user_data) -> int``: called after each decoded part; 0 goes on."""


class mtmd_helper_video_info(Structure):
    """Facts about a video; `n_frames` is -1 when unknown."""

    __slots__ = ()
    width: int
    height: int
    fps: float
    n_frames: int
    _fields_ = [
        ("width", c_uint32),
        ("height", c_uint32),
        ("fps", c_float),
        ("n_frames", c_int32),
    ]


class mtmd_helper_gen_audio_inp(Structure):
    """What to say and how; a `seed` of 0xFFFFFFFF is random."""

    __slots__ = ()
    seq_id: int
    prompt: bytes | None
    prompt_len: int
    speaker_ref: HandleField[mtmd_bitmap_p]
    lang: bytes | None
    top_k: int
    top_p: float
    seed: int
    out_type: int
    _fields_ = [
        ("seq_id", llama_seq_id),
        ("prompt", c_char_p),
        ("prompt_len", c_size_t),
        ("speaker_ref", mtmd_bitmap_p),
        ("lang", c_char_p),
        ("top_k", c_int32),
        ("top_p", c_float),
        ("seed", c_uint32),
        ("out_type", c_int),
    ]


# -- results that may grow ---------------------------------------------------------

GROWING_RETURNS: dict[type[Structure], type[Structure]] = {
    llama_perf_context_data: llama_perf_context_data_returned,
    mtmd_gen_inp: mtmd_gen_inp_returned,
}
"""Structures that newer libraries return with more fields at the end.

A function that returns a structure of more than 16 bytes writes it to memory that the
caller provides, and writes its own size, not ours: b11739 returns 56 bytes of
``llama_perf_context_data`` where b11549 returns 48. With 128 spare bytes behind the known
fields that is harmless. It would be wrong for structures of up to 16 bytes, which come
back in registers, and impossible for structures that are passed in by value.
"""
