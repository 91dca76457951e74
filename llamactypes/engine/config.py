"""The engine's configuration: what a person chooses before a model is loaded. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from llamactypes.engine.measures.histogram import HistogramSnapshot
from llamactypes.errors import ContextError

__all__ = ("AdapterInfo", "EngineConfig", "ModelInfo", "SlotState", "EngineMetrics")

DEFAULT_PARALLEL = 4
DEFAULT_PARALLEL_EMBEDDINGS = 32


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """Defaults are llama-server's; see docs/cli.md for each flag."""

    model_path: str
    library: str | None = None
    """Path of libllama or its folder; None: search (README, The native library)."""

    # -- model --
    n_gpu_layers: int | None = None
    """Layers put on a GPU; None: the library's default (all that fit a device)."""
    split_mode: str | None = None
    main_gpu: int = 0
    tensor_split: tuple[float, ...] = ()
    devices: tuple[str, ...] = ()
    numa: str | None = None
    """"distribute", "isolate" or "numactl": where threads go; None: anywhere."""
    use_mmap: bool = True
    use_mlock: bool = False
    check_tensors: bool = False
    direct_io: bool = False
    """Read the file past the system's cache, instead of mapping it."""
    lazy_mode: str = "auto"
    repack: bool = True
    no_host: bool = False
    metadata_overrides: tuple[tuple[str, int | float | bool | str], ...] = ()
    tensor_placement: tuple[tuple[str, str], ...] = ()
    """(regular expression, buffer type) of tensors that go elsewhere."""
    lora: tuple[tuple[str, float], ...] = ()
    """(path, scale) of adapters; the scales are those of requests that name none."""
    control_vectors: tuple[tuple[str, float], ...] = ()
    """(path, scale) of control vectors applied to every request."""
    control_vector_layers: tuple[int, int] | None = None
    """First and last layer that they steer; None: all."""

    # -- context --
    n_ctx: int = 0
    """Tokens in the KV cache, all slots together; 0: what the model was trained on."""
    n_batch: int = 2048
    """Most tokens in one decode."""
    n_ubatch: int = 512
    n_parallel: int = -1
    """Slots; -1: four sharing one KV cache. For embeddings: inputs computed together;
    -1: 32."""
    kv_unified: bool | None = None
    """One KV buffer shared by all slots; None: only when `n_parallel` is -1."""
    n_threads: int | None = None
    """Threads that compute one token; None: what is measured to be best."""
    n_threads_batch: int | None = None
    """Threads that compute many; None: as `n_threads`, or measured when that is."""
    type_k: str = "f16"
    type_v: str = "f16"
    flash_attn: str = "auto"
    swa_full: bool = False
    offload_kqv: bool = True
    op_offload: bool = True
    rope_scaling: str | None = None
    rope_freq_base: float = 0.0
    rope_freq_scale: float = 0.0
    yarn_ext_factor: float = -1.0
    yarn_attn_factor: float = -1.0
    yarn_beta_fast: float = -1.0
    yarn_beta_slow: float = -1.0
    yarn_orig_ctx: int = 0
    warmup: bool = True

    # -- embeddings --
    embeddings: bool = False
    """Compute embeddings, and nothing else."""
    pooling: str | None = None
    """"none", "mean", "cls", "last" or "rank" (scores); None: the model's own."""

    # -- engine --
    deterministic: bool = False
    """What a request is answered depends on nothing else that runs; see
    ``engine/deterministic.py``. Use `resolved`: it decides some of the rest."""
    context_shift: bool = False
    slot_prompt_similarity: float = 0.1
    """Least part of a prompt that a slot must hold to be chosen for it."""
    prefill_gap_ms: int = 200
    """Running streams should not wait longer than this for a step with a prompt in it;
    0: no limit."""
    cache_ram_mib: int = 8192
    """Limit of conversations kept in RAM when their slot is taken; -1: none, 0: off."""
    cache_idle_slots: bool = True
    """An idle conversation that must leave a full KV cache goes to RAM, too."""
    n_ctx_checkpoints: int = 32
    """Most checkpoints of one conversation, for memory that cannot be cut; 0: none."""
    checkpoint_min_step: int = 8192
    """Tokens of a long prompt from one checkpoint to the next; 0: one per decode."""
    queue_size: int = 1024
    """Most requests that may wait for a slot."""
    sleep_idle_s: float = -1.0
    """Unload the model after so many seconds without work; below 0: never."""
    orphan_timeout_s: float = 0.0
    """Cancel a generation that nobody has read for this long; 0: never."""
    watchdog_s: float = 0.0
    """Fail when one step takes longer, for it will never return; 0: wait for ever."""

    @property
    def n_slots(self) -> int:
        """Number of slots, with -1 resolved."""
        if self.n_parallel >= 0:
            return max(1, self.n_parallel)
        return DEFAULT_PARALLEL_EMBEDDINGS if self.embeddings else DEFAULT_PARALLEL

    @property
    def is_unified(self) -> bool:
        """Whether all slots share one KV buffer, with None resolved."""
        return self.n_parallel < 0 if self.kv_unified is None else self.kv_unified

    def resolved(self) -> EngineConfig:
        """Return what an engine really uses: its mode decides some of it.

        What is pooled is computed at once, therefore embeddings have no larger batches.

        A KV buffer for each slot, so that nobody's cells lie between another's; all of
        it for sliding windows, whose cells would be used anew in an order of their own;
        no states in RAM, for they hold generated tokens, too. And for embeddings one
        input at a time, which then has all of the context.

        Raises:
            ContextError: Something chosen cannot be had in this mode.
        """
        if self.pooling is not None and not self.embeddings:
            raise ContextError(
                "--pooling says how embeddings are made, and this server makes none; "
                "add --embeddings"
            )
        if not self.embeddings:
            return self._settled()
        n_batch = min(self.n_batch, self.n_ubatch)
        n_parallel = 1 if self.deterministic else self.n_parallel
        return replace(self, n_batch=n_batch, n_parallel=n_parallel)._settled()

    def _settled(self) -> EngineConfig:
        """Return what deterministic mode makes of it."""
        if not self.deterministic:
            return self
        if self.kv_unified:
            raise ContextError(
                "--deterministic needs a KV buffer for each slot: results would depend "
                "on where a request lies in a shared one; leave out --kv-unified"
            )
        if self.context_shift:
            raise ContextError(
                "--deterministic cannot shift a context: the library moves the others' "
                "cells with it; leave out --context-shift, or raise --ctx-size"
            )
        return replace(self, kv_unified=False, swa_full=True, cache_ram_mib=0)


@dataclass(frozen=True, slots=True)
class AdapterInfo:
    """Facts about a loaded LoRA adapter; its number is its place among all."""

    path: str
    task_name: str = ""
    prompt_prefix: str = ""
    invocation_tokens: tuple[int, ...] = ()
    """What activates an aLoRA within a prompt; empty for an ordinary adapter."""
    invocation_text: str = ""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Facts about the loaded model and its context."""

    path: str
    description: str
    ftype: str
    size_bytes: int
    n_params: int
    n_ctx: int
    """Tokens in the KV cache, all slots together."""
    n_ctx_slot: int
    """Most tokens one request may hold."""
    n_ctx_train: int
    n_embd: int
    n_vocab: int
    vocab_type: int
    """Value of ``enum llama_vocab_type``."""
    vocab_kind: str
    n_slots: int
    bos_token: str
    eos_token: str
    chat_template: str | None
    chat_templates: dict[str, str]
    """Named variants of the template (``tool_use`` …)."""
    library: str
    """Build of the native library, such as ``b11549-86a2835``."""
    devices: tuple[str, ...]
    n_threads: int
    """Threads that compute one token, at this moment."""
    n_threads_batch: int = 1
    """Threads that compute many, at this moment."""
    threads_source: str = "default"
    """Why so many: "asked", "measured", "cached", "default", or "adapted" later."""
    n_layer: int = 0
    """0 when the model does not say."""
    adapters: tuple[AdapterInfo, ...] = ()
    pooling: str | None = None
    """How it makes embeddings; None: it generates."""
    n_embd_out: int = 0
    """Numbers in an embedding, or scores of a ranking; 0: it generates."""
    n_tokens_input: int = 0
    """Most tokens of one input to embed; 0: it generates."""


@dataclass(frozen=True, slots=True)
class SlotState:
    """One slot as seen from outside, at one moment."""

    id: int
    n_ctx: int
    is_processing: bool
    id_task: int = -1
    n_prompt_tokens: int = 0
    n_prompt_tokens_processed: int = 0
    n_prompt_tokens_cache: int = 0
    request: object | None = None
    """The ``GenerationRequest`` last served here; None before the first."""
    n_decoded: int = 0
    n_remain: int = -1
    has_next_token: bool = False
    has_new_line: bool = False


def _empty() -> HistogramSnapshot:
    return HistogramSnapshot()


@dataclass(frozen=True, slots=True)
class EngineMetrics:
    """Counters and histograms since the start, and what is so now."""

    n_decode: int = 0
    """``llama_decode`` calls."""
    prompt_tokens: int = 0
    """Prompt tokens computed."""
    prompt_tokens_cached: int = 0
    """Prompt tokens taken from the KV cache."""
    tokens_generated: int = 0
    prompt_seconds: float = 0.0
    """Time of decodes, the part that fell to prompts."""
    busy_slots_total: int = 0
    """Sum over decodes of the slots in each; over `n_decode`: the mean."""
    n_tokens_max: int = 0
    """Most tokens ever held by one slot."""
    n_slots: int = 0
    requests_processing: int = 0
    requests_waiting: int = 0
    requests_finished: int = 0
    """Ended by themselves: stop, limit, end of the text."""
    requests_cancelled: int = 0
    requests_failed: int = 0
    requests_refused: int = 0
    """Not taken because the queue was full."""
    preemptions: int = 0
    cache_repairs: int = 0
    """Slots found in disagreement with the library: always 0, or we have a bug."""
    mean_slot_s: float = 0.0
    """How long recent requests held their slot; newer ones weigh more."""

    # -- histograms --
    queue_s: HistogramSnapshot = field(default_factory=_empty)
    """From submission to a slot, of every request that got one."""
    time_to_first_token_s: HistogramSnapshot = field(default_factory=_empty)
    """From submission to the first token."""
    inter_token_s: HistogramSnapshot = field(default_factory=_empty)
    """Between two tokens of one request."""
    request_s: HistogramSnapshot = field(default_factory=_empty)
    """From submission to the end, of requests that ended by themselves."""
    prompt_rate: HistogramSnapshot = field(default_factory=_empty)
    """Prompt tokens computed per second, of each such request."""
    generation_rate: HistogramSnapshot = field(default_factory=_empty)
    """Tokens generated per second, of each such request with more than one."""

    @property
    def generation_seconds(self) -> float:
        """Time between the first and the last token, all requests together."""
        return self.inter_token_s.sum
