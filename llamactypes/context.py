"""A context: the KV cache of a model and the computation over it."""

from __future__ import annotations

import ctypes
import logging
from _thread import get_ident
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from llamactypes import _native_log
from llamactypes import bindings as C  # noqa: N812
from llamactypes._handle import NativeObject
from llamactypes.batch import Batch
from llamactypes.context_params import ContextParams, fill, threads
from llamactypes.errors import (
    ContextError,
    DecodeError,
    InvalidBatch,
    ThreadMisuse,
)
from llamactypes.memory import Memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from llamactypes.adapter import LoraAdapter
    from llamactypes.model import Model
    from llamactypes.offload import OffloadableChain
    from llamactypes.sampling import SamplerChain

__all__ = ("AbortFlag", "Context", "ContextParams")

logger = logging.getLogger("llamactypes.objects")


_DEFAULTS = ContextParams()


class AbortFlag:
    """A flag the compute threads read without Python: set it to abort a decode.

    PERF: a Python abort callback is called after every graph node and takes the GIL
    each time; this one costs nothing. It is C's ``strlen`` over a two-byte buffer: the
    length is 0 (go on) or 1 (abort). Any thread may `set` and `clear` it.
    """

    __slots__ = ("_buffer", "native")

    def __init__(self) -> None:
        self._buffer = ctypes.create_string_buffer(2)
        self.native = ctypes.cast(_c_library().strlen, C.ggml_abort_callback)

    @property
    def address(self) -> int:
        """What the library passes to the callback."""
        return ctypes.addressof(self._buffer)

    def set(self) -> None:
        """Abort the running decode, and each further one until `clear`."""
        self._buffer[0] = b"\1"

    def clear(self) -> None:
        """Let decodes run again."""
        self._buffer[0] = b"\0"

    def is_set(self) -> bool:
        """Whether decodes are being aborted."""
        return self._buffer[0] != b"\0"


class Context(NativeObject[C.llama_context_p]):
    """Computes batches over one KV cache.

    One thread owns it: the creator, until another calls `adopt`. Every method but
    `close` raises `ThreadMisuse` from another thread and `ClosedError` after `close`.
    """

    def __init__(
        self,
        model: Model,
        params: ContextParams = _DEFAULTS,
    ) -> None:
        """Allocate the KV cache and the compute buffers.

        Raises:
            ContextError: The parameters do not fit the model or the memory; the message
                ends in the library's own words.

        C: llama.h `llama_init_from_model`.
        """
        self.model = model
        self.params = params
        if model.params.vocab_only:
            raise ContextError(f"{model.path} was loaded with vocab_only: no weights")
        self._owner = get_ident()
        self._abort: object = None
        self._abort_flag: AbortFlag | None = None
        self._adapters: tuple[tuple[LoraAdapter, float], ...] = ()
        self._samplers: dict[int, SamplerChain] = {}
        handle = _create(model, params)
        self._own(handle, _free_context, parent=model)
        self._row_type = ctypes.c_float * model.vocab.n_tokens
        self.n_ctx: int = C.llama_n_ctx(handle)
        self.n_ctx_seq: int = C.llama_n_ctx_seq(handle)
        self.n_batch: int = C.llama_n_batch(handle)
        self.n_ubatch: int = C.llama_n_ubatch(handle)
        self.n_seq_max: int = C.llama_n_seq_max(handle)
        self.has_memory = bool(C.llama_get_memory(handle))
        """Whether it has a KV cache or a state; encoders have none."""
        # The library asserts that what attends to later tokens too fits one ubatch.
        is_whole = not (self.has_memory and model.is_causal)
        self._n_tokens_max = self.n_ubatch if is_whole else self.n_batch

    @property
    def memory(self) -> Memory:
        """A view of the KV cache; it keeps this context alive, therefore not kept."""
        return Memory(self)

    # -- ownership -----------------------------------------------------------------

    def adopt(self) -> None:
        """Make the calling thread the owner; the previous one must have stopped."""
        self._owner = get_ident()

    def check_owner(self) -> None:
        """Raise unless the caller owns this open context.

        Raises:
            ThreadMisuse: Another thread owns it.
            ClosedError: It was closed.
        """
        self._use()

    def _use(self) -> C.llama_context_p:
        if get_ident() != self._owner:
            raise ThreadMisuse(
                "a Context belongs to one thread; call adopt() from the new one first"
            )
        return self.raw

    # -- computing -----------------------------------------------------------------

    def decode(self, batch: Batch) -> None:
        """Compute a batch; the GIL is released meanwhile.

        Raises:
            KVCacheFull: No room; the memory is as before.
            DecodeAborted: The abort callback said so; what was computed stays.
            InvalidBatch: Refused (empty, larger than `n_batch`, unknown tokens or
                sequences, positions out of order); the memory is as before.
            DecodeFatal: Anything else; what was computed stays.

        C: llama.h `llama_decode`.
        """
        handle = self._use()
        if not 0 < batch.n_tokens <= self._n_tokens_max:
            raise _wrong_size(batch, self._n_tokens_max)
        flag = self._abort_flag
        if flag is None:
            code = C.llama_decode(handle, batch.raw)
        else:
            with _native_log.expecting_problems(flag.is_set):
                code = C.llama_decode(handle, batch.raw)
        if code:
            raise DecodeError.from_code(code)

    def encode(self, batch: Batch) -> None:
        """Compute a batch without the KV cache (encoders).

        Raises:
            DecodeError: As in `decode`.

        C: llama.h `llama_encode`.
        """
        handle = self._use()
        if self.has_memory and not self.model.has_encoder:
            raise InvalidBatch("this model has no encoder; use decode()", -1)
        if not 0 < batch.n_tokens <= self.n_ubatch:
            raise _wrong_size(batch, self.n_ubatch)
        code = C.llama_encode(handle, batch.raw)
        if code:
            raise DecodeError.from_code(code)

    def logits(self, index: int) -> NDArray[np.float32]:
        """Return the logits of one output row.

        Args:
            index: Position in the last batch; that token must have asked for logits.
                Negative counts outputs from the end.

        Returns:
            float32 array of shape (n_vocab,). A view: valid until the next `decode`.

        Raises:
            IndexError: The token at `index` produced no logits.

        C: llama.h `llama_get_logits_ith`.
        """
        row = self.logits_row(index)
        # PERF: 0.5 µs; np.ctypeslib.as_array takes 2.
        array = self._row_type.from_address(ctypes.addressof(row.contents))
        return np.frombuffer(cast("memoryview[int]", array), dtype=np.float32)

    def logits_row(self, index: int) -> Any:
        """Return `logits` as a C pointer, with the same checks and lifetime."""
        row = C.llama_get_logits_ith(self._use(), index)
        if not row:
            raise IndexError(f"token {index} of the last batch produced no logits")
        return row

    def synchronize(self) -> None:
        """Wait until all computation is done; reading results does so by itself."""
        C.llama_synchronize(self._use())

    def warm_up(self) -> None:
        """Run the model once on BOS and EOS, then forget it: first use costs most.

        Raises:
            DecodeError: The run failed; so would the first request.
        """
        vocab, model = self.model.vocab, self.model
        tokens = [token for token in (vocab.bos, vocab.eos) if token is not None] or [0]
        tokens = tokens[: self.n_ubatch]
        with Batch(len(tokens)) as batch:
            # Contexts for embeddings complain of tokens that are no outputs.
            batch.add_each(tokens, range(len(tokens)), [0] * len(tokens))
            if model.has_encoder:
                self.encode(batch)
                start: int = C.llama_model_decoder_start_token(model.raw)
                batch.clear()
                batch.add(tokens[0] if start < 0 else start, 0, 0, True)
            if model.has_decoder:
                self.decode(batch)
        self.memory.clear(True)
        self.synchronize()

    # -- settings ------------------------------------------------------------------

    @property
    def n_threads(self) -> int:
        """Inference threads for one token."""
        return int(C.llama_n_threads(self._use()))

    @property
    def n_threads_batch(self) -> int:
        """Inference threads for many tokens."""
        return int(C.llama_n_threads_batch(self._use()))

    def set_threads(self, n: int | None, n_batch: int | None = None) -> None:
        """Set the inference threads for one token and for many.

        Args:
            n: Threads for generation; None chooses.
            n_batch: Threads for prompts; None means as many as `n`.

        Raises:
            ContextError: Outside 1 … 512.
        """
        n, n_batch = threads(n, n_batch)
        C.llama_set_n_threads(self._use(), n, n_batch)

    def set_abort(self, callback: Callable[[], bool] | AbortFlag | None) -> None:
        """Abort decodes when `callback` says so; works on the CPU only.

        Args:
            callback: Called often, from compute threads, and must not raise; an
                `AbortFlag` does the same without Python; None removes it.
        """
        handle = self._use()
        native, address = _abort_callback(callback)
        C.llama_set_abort_callback(handle, native, address)
        self._abort = (callback, native)  # C may call it from now on
        self._abort_flag = callback if isinstance(callback, AbortFlag) else None

    def set_adapters(self, adapters: Sequence[tuple[LoraAdapter, float]]) -> None:
        """Apply these LoRA adapters, each with its scale, and no others.

        Raises:
            ContextError: An adapter belongs to another model, or the library refuses.

        C: llama.h `llama_set_adapters_lora`.
        """
        handle = self._use()
        if any(adapter.model is not self.model for adapter, _ in adapters):
            raise ContextError(
                "a LoRA adapter works only on the model it was loaded for"
            )
        count = len(adapters)
        handles = (C.llama_adapter_lora_p * count)(*(a.raw for a, _ in adapters))
        scales = (ctypes.c_float * count)(*(scale for _, scale in adapters))
        if C.llama_set_adapters_lora(handle, handles, count, scales):
            raise ContextError("the library refused the LoRA adapters")
        self._adapters = tuple(adapters)
        for adapter, _ in adapters:
            adapter.used_by(self)

    def set_control_vector(
        self, rows: NDArray[np.float32], layers: tuple[int, int] | None = None
    ) -> None:
        """Add a direction to what each layer gives on, from now on.

        Args:
            rows: Shape (n_layer - 1, n_embd): one per layer from layer 1 on; see
                `read_control_vectors`.
            layers: First and last layer that is steered; None: all.

        Raises:
            ContextError: The shape is another model's, or the library refuses.

        C: llama.h `llama_set_adapter_cvec`.
        """
        handle = self._use()
        shape = (max(0, self.model.n_layer - 1), self.model.n_embd)
        if rows.shape != shape:
            raise ContextError(f"a control vector has shape {shape}, not {rows.shape}")
        data = np.ascontiguousarray(rows, np.float32)  # the library copies it
        first, last = layers or (1, self.model.n_layer)
        pointer = data.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        if C.llama_set_adapter_cvec(
            handle, pointer, data.size, self.model.n_embd, first, last
        ):
            raise ContextError("the library refused the control vector")

    def set_sampler(self, seq_id: int, chain: SamplerChain | None) -> bool:
        """Run a chain inside the compute graph for one sequence, as far as possible.

        ``chain.sample`` then takes what the graph left and runs the rest on it; it is
        right for this sequence's outputs only, of which a decode may have one. Their
        logits are not copied out: `logits` of them is worth nothing. The graphs are
        built anew at the next decode, which costs about a millisecond for ten layers.

        Args:
            seq_id: Its previous chain, if any, is taken out.
            chain: Kept alive while set. None sets none.

        Returns:
            Whether the device runs any of the chain. If not, nothing is set, and the
            chain samples as ever.

        Raises:
            ContextError: No such sequence, or the chain is for another model.
            SamplingError: The chain was set before; see `SamplerChain.clone`.

        C: llama.h `llama_set_sampler`.
        """
        handle = self._use()
        if not 0 <= seq_id < self.n_seq_max:
            raise ContextError(f"sequences are 0 … {self.n_seq_max - 1}, not {seq_id}")
        if chain is not None:
            self._check_chain(chain)
        self._take_out(handle, seq_id)
        if chain is None or not C.llama_set_sampler(handle, seq_id, chain.raw):
            return False
        self._samplers[seq_id] = chain
        if not chain._enter_graph(self):
            self._take_out(handle, seq_id)
            return False
        return True

    def _check_chain(self, chain: SamplerChain) -> None:
        if chain.model is not self.model:
            raise ContextError("a sampler chain works only on the model it is made for")
        chain.check_offloadable()

    def _take_out(self, handle: C.llama_context_p, seq_id: int) -> None:
        chain = self._samplers.pop(seq_id, None)
        if chain is not None:
            C.llama_set_sampler(handle, seq_id, None)
            chain._leave_graph()

    def remove_sampler(self, chain: OffloadableChain) -> None:
        """Take a chain out of the graph, whatever sequence it is set for."""
        handle = self._use()
        for seq_id in [key for key, one in self._samplers.items() if one is chain]:
            self._take_out(handle, seq_id)

    @property
    def samplers(self) -> dict[int, SamplerChain]:
        """Sequence to the chain that the graph runs for it; a copy."""
        return dict(self._samplers)

    @property
    def adapters(self) -> tuple[tuple[LoraAdapter, float], ...]:
        """The LoRA adapters in use, with their scales."""
        return self._adapters


def _wrong_size(batch: Batch, n_tokens_max: int) -> InvalidBatch:
    return InvalidBatch(
        f"the batch has {batch.n_tokens} tokens; this context takes 1 … {n_tokens_max}",
        -1,
    )


def _create(model: Model, params: ContextParams) -> Any:
    native = C.llama_context_default_params()
    fill(native, params, model)
    with _native_log.collect_problems() as problems:
        handle = C.llama_init_from_model(model.raw, native)
    if not handle:
        raise ContextError(
            f"no context of {params.n_ctx or model.n_ctx_train} tokens for "
            f"{model.path}: {_native_log.reason(problems)}. "
            "A smaller n_ctx or n_batch needs less memory"
        )
    return handle


def _abort_callback(callback: Callable[[], bool] | AbortFlag | None) -> tuple[Any, Any]:
    if callback is None:
        return C.ggml_abort_callback(), None  # NULL
    if isinstance(callback, AbortFlag):
        return callback.native, callback.address
    return C.ggml_abort_callback(lambda _: bool(callback())), None


def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL("msvcrt" if ctypes.sizeof(ctypes.c_wchar) == 2 else None)


def _free_context(handle: C.llama_context_p) -> None:
    C.llama_free(handle)
    logger.info("context freed")
