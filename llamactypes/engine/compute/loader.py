"""From a configuration to something that runs: library, model, context, runner."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Protocol

from llamactypes import legacy_template, runtime
from llamactypes.adapter import LoraAdapter
from llamactypes.context import Context, ContextParams
from llamactypes.control_vector import read_control_vectors
from llamactypes.cpus import CpuLoad
from llamactypes.engine.compute.dry_prototypes import DryPrototypes
from llamactypes.engine.compute.runner import LlamaRunner, Runner
from llamactypes.engine.config import AdapterInfo, EngineConfig, ModelInfo
from llamactypes.engine.embedding.embedder import Embedder, LlamaEmbedder
from llamactypes.engine.prefixes.checkpoints import MemoryTraits
from llamactypes.engine.request import GenerationRequest
from llamactypes.engine.threads.choice import choose_threads, warn_of_too_many
from llamactypes.engine.threads.keeper import ThreadKeeper
from llamactypes.errors import ContextError
from llamactypes.model import Model, ModelParams
from llamactypes.sampling import SamplerChain
from llamactypes.vocab import Vocab

__all__ = ("LoadedModel", "Loader", "LlamaModel", "load_model")

logger = logging.getLogger("llamactypes.engine")

Progress = Callable[[float], bool]


class LoadedModel(Protocol):
    """What the engine drives. Tests put a fake here, through `Loader`."""

    @property
    def runner(self) -> Runner:
        """Carries out plans; engine thread only."""

    @property
    def embedder(self) -> Embedder | None:
        """Computes embeddings, where the engine is for them; else None."""

    @property
    def vocab(self) -> Vocab:
        """Of the model; any thread."""

    @property
    def info(self) -> ModelInfo:
        """Facts; only the numbers of threads may change."""

    @property
    def n_batch(self) -> int:
        """Most tokens in one decode."""

    @property
    def memory(self) -> MemoryTraits:
        """What the context's memory can do."""

    def make_sampler(self, request: GenerationRequest) -> SamplerChain:
        """Build a request's samplers, its prompt accepted. Any thread."""

    def render_legacy(
        self, template: str, messages: Sequence[tuple[str, str]], add_prompt: bool
    ) -> str:
        """Render a chat by libllama's built-in renderer. Any thread."""

    def close(self) -> None:
        """Free contexts, then the model, then the backend. Engine thread."""


Loader = Callable[[EngineConfig, Progress], LoadedModel]


def load_model(config: EngineConfig, progress: Progress) -> LoadedModel:
    """Load what `config` names, on the thread that will own the context.

    Raises:
        LibraryError: No usable library.
        ModelLoadError: The model file; `ModelLoadCancelled` when `progress` said no.
        ContextError: The context's parameters.
    """
    load = CpuLoad()
    with ExitStack() as undo:
        runtime.acquire_backend(config.library)
        undo.callback(runtime.release_backend)
        if config.numa is not None:
            runtime.use_numa(config.numa)
        model = Model(config.model_path, _model_params(config), progress=progress)
        undo.callback(model.close)
        context = Context(model, _context_params(config))
        undo.callback(context.close)
        if not config.embeddings and _n_batch(model, context) < config.n_slots:
            name = "--ubatch-size" if model.n_swa else "--batch-size"
            raise ContextError(
                f"{name} {_n_batch(model, context)} is smaller than the number of "
                f"slots ({config.n_slots}); raise it, or lower --parallel"
            )
        adapters = [LoraAdapter(model, path) for path, _ in config.lora]
        scales = [scale for _, scale in config.lora]
        if adapters:
            context.set_adapters(list(zip(adapters, scales, strict=True)))
        if config.control_vectors:
            rows = read_control_vectors(
                config.control_vectors, n_embd=model.n_embd, n_layer=model.n_layer
            )
            context.set_control_vector(rows, config.control_vector_layers)
        if config.warmup:
            context.warm_up()
        warn_of_too_many(config)
        keeper = ThreadKeeper(context, choose_threads(context, config, load), load)
        loaded = LlamaModel(config, model, context, keeper, adapters)
        undo.pop_all()
    return loaded


class LlamaModel:
    """A model, its one context and the runner over it."""

    def __init__(
        self,
        config: EngineConfig,
        model: Model,
        context: Context,
        keeper: ThreadKeeper,
        adapters: Sequence[LoraAdapter] = (),
    ) -> None:
        self._model = model
        self._context = context
        self._keeper = keeper
        self.memory = MemoryTraits(
            n_swa=model.n_swa,
            is_swa_full=config.swa_full,
            is_recurrent=model.is_recurrent or model.is_hybrid,
            can_shift=context.memory.can_shift,
        )
        self.runner = LlamaRunner(context, model.vocab, self.memory, adapters)
        self.vocab = model.vocab
        self._dry_prototypes = DryPrototypes(model)
        self.n_batch = _n_batch(model, context)
        self.info = _model_info(config, model, context)
        known = tuple(_adapter_info(adapter, model.vocab) for adapter in adapters)
        self.info = replace(self.info, adapters=known)
        self.embedder = LlamaEmbedder(context) if config.embeddings else None
        if self.embedder is not None:
            self.info = _with_embeddings(self.info, self.embedder)
        self._use_threads()
        keeper.on_change = self._use_threads

    def _use_threads(self) -> None:
        """Let the runner and the facts follow a change of threads."""
        n, n_batch = self._keeper.counts
        is_watching = self._keeper.is_watching
        self.runner.use_threads(max(n, n_batch), self._keeper if is_watching else None)
        self.info = replace(
            self.info,
            n_threads=n,
            n_threads_batch=n_batch,
            threads_source=self._keeper.source,
        )

    def make_sampler(self, request: GenerationRequest) -> SamplerChain:
        """See `LoadedModel.make_sampler`."""
        sampling = request.sampling
        dry = self._dry_prototypes.get(sampling)
        chain = SamplerChain.from_params(self._model, sampling, dry=dry)
        history = request.prompt_tokens + request.generated
        for token in history[_history_start(request) :]:
            chain.accept(token)
        return chain

    def render_legacy(
        self, template: str, messages: Sequence[tuple[str, str]], add_prompt: bool
    ) -> str:
        """See `LoadedModel.render_legacy`."""
        return legacy_template.apply(
            template, messages, add_generation_prompt=add_prompt
        )

    def close(self) -> None:
        """See `LoadedModel.close`."""
        self.runner.close()
        if self.embedder is not None:
            self.embedder.close()
        self._context.close()
        self._model.close()
        runtime.release_backend()


def _n_batch(model: Model, context: Context) -> int:
    """Return how many tokens one decode may have.

    With a sliding window not more than the library computes together: it plans the
    cells of all parts first (llama-kv-cache.cpp, ``prepare``), and what a later part
    will push out of the window is then missing for an earlier one.
    """
    return min(context.n_batch, context.n_ubatch) if model.n_swa else context.n_batch


def _history_start(request: GenerationRequest) -> int:
    """Return the first prompt token that penalties or DRY still look back to.

    PERF: accepting a token costs about a microsecond per sampler, so a prompt is
    accepted only as far as a sampler with a memory needs it.
    """
    sampling = request.sampling
    n_history = len(request.prompt_tokens) + len(request.generated)
    look_back = 0
    if "penalties" in sampling.samplers and (
        sampling.repeat_penalty != 1.0
        or sampling.frequency_penalty
        or sampling.presence_penalty
    ):
        look_back = sampling.repeat_last_n
    if "dry" in sampling.samplers and sampling.dry_multiplier:
        look_back = max(look_back, sampling.dry_penalty_last_n)
    return 0 if look_back < 0 else max(0, n_history - look_back)


def _model_params(config: EngineConfig) -> ModelParams:
    return ModelParams(
        n_gpu_layers=config.n_gpu_layers,
        split_mode=config.split_mode,
        main_gpu=config.main_gpu,
        tensor_split=config.tensor_split,
        use_mmap=config.use_mmap,
        use_mlock=config.use_mlock,
        check_tensors=config.check_tensors,
        direct_io=config.direct_io,
        lazy_mode=config.lazy_mode,
        repack=config.repack,
        no_host=config.no_host,
        metadata_overrides=config.metadata_overrides,
        tensor_placement=config.tensor_placement,
        devices=config.devices,
    )


def _context_params(config: EngineConfig) -> ContextParams:
    return ContextParams(
        n_ctx=config.n_ctx,
        n_batch=config.n_batch,
        n_ubatch=config.n_ubatch,
        n_seq_max=config.n_slots,
        n_threads=config.n_threads,
        n_threads_batch=config.n_threads_batch,
        kv_unified=config.is_unified,
        type_k=config.type_k,
        type_v=config.type_v,
        flash_attn=config.flash_attn,
        swa_full=config.swa_full,
        offload_kqv=config.offload_kqv,
        op_offload=config.op_offload,
        rope_scaling=config.rope_scaling,
        rope_freq_base=config.rope_freq_base,
        rope_freq_scale=config.rope_freq_scale,
        yarn_ext_factor=config.yarn_ext_factor,
        yarn_attn_factor=config.yarn_attn_factor,
        yarn_beta_fast=config.yarn_beta_fast,
        yarn_beta_slow=config.yarn_beta_slow,
        yarn_orig_ctx=config.yarn_orig_ctx,
        embeddings=config.embeddings,
        pooling=config.pooling,
    )


def _model_info(config: EngineConfig, model: Model, context: Context) -> ModelInfo:
    vocab = model.vocab
    return ModelInfo(
        path=str(model.path),
        description=model.description,
        ftype=model.ftype,
        size_bytes=model.size_bytes,
        n_params=model.n_params,
        n_ctx=context.n_ctx,
        n_ctx_slot=_n_ctx_slot(model, context),
        n_ctx_train=model.n_ctx_train,
        n_embd=model.n_embd,
        n_layer=model.n_layer,
        n_vocab=vocab.n_tokens,
        vocab_type=vocab.type,
        vocab_kind=vocab.kind,
        n_slots=config.n_slots,
        bos_token=_special_piece(vocab, vocab.bos),
        eos_token=_special_piece(vocab, vocab.eos),
        chat_template=model.chat_template(),
        chat_templates=_named_templates(model),
        library=runtime.build_info(),
        devices=tuple(device.name for device in runtime.devices()),
        n_threads=context.n_threads,
    )


def _with_embeddings(info: ModelInfo, embedder: Embedder) -> ModelInfo:
    return replace(
        info,
        pooling=embedder.pooling,
        n_embd_out=embedder.width,
        n_tokens_input=embedder.n_tokens_input,
    )


def _adapter_info(adapter: LoraAdapter, vocab: Vocab) -> AdapterInfo:
    tokens = adapter.alora_tokens
    text = b"".join(vocab.piece(token, special=True) for token in tokens)
    return AdapterInfo(
        path=adapter.path,
        task_name=adapter.metadata.get("adapter.lora.task_name", ""),
        prompt_prefix=adapter.metadata.get("adapter.lora.prompt_prefix", ""),
        invocation_tokens=tokens,
        invocation_text=text.decode("utf-8", "replace"),
    )


def _n_ctx_slot(model: Model, context: Context) -> int:
    """A slot never holds more than the model was trained on."""
    return min(context.n_ctx_seq, model.n_ctx_train) or context.n_ctx_seq


def _special_piece(vocab: Vocab, token: int | None) -> str:
    if token is None:
        return ""
    return vocab.piece(token, special=True).decode("utf-8", "replace")


def _named_templates(model: Model) -> dict[str, str]:
    prefix = "tokenizer.chat_template."
    names = (key[len(prefix) :] for key in model.metadata if key.startswith(prefix))
    found = ((name, model.chat_template(name)) for name in names)
    return {name: text for name, text in found if text}
