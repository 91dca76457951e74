"""A loaded model: weights, vocabulary, metadata."""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llamactypes import _native_log, runtime
from llamactypes import bindings as C  # noqa: N812
from llamactypes._handle import NativeObject
from llamactypes._text import decode, read_string
from llamactypes.adapter import LoraAdapter
from llamactypes.errors import (
    ClosedError,
    ModelLoadCancelled,
    ModelLoadError,
    SymbolMissing,
)
from llamactypes.gate import Gate
from llamactypes.model_overrides import (
    MetadataValue,
    fill_metadata,
    fill_placement,
)
from llamactypes.split_names import why_split_fails
from llamactypes.vocab import Vocab

__all__ = ("Model", "ModelParams", "Progress")

logger = logging.getLogger("llamactypes.objects")

Progress = Callable[[float], "bool | None"]
"""Called with 0.0 … 1.0 while loading; returning False cancels."""

_SPLIT_MODES = {
    "none": C.LLAMA_SPLIT_MODE_NONE,
    "layer": C.LLAMA_SPLIT_MODE_LAYER,
    "row": C.LLAMA_SPLIT_MODE_ROW,
    "tensor": C.LLAMA_SPLIT_MODE_TENSOR,
}
_LAZY_MODES = {
    "off": C.LLAMA_LAZY_MODE_OFF,
    "auto": C.LLAMA_LAZY_MODE_AUTO,
    "on": C.LLAMA_LAZY_MODE_ON,
}
_ROPE_TYPES = {
    C.LLAMA_ROPE_TYPE_NONE: "none",
    C.LLAMA_ROPE_TYPE_NORM: "norm",
    C.LLAMA_ROPE_TYPE_NEOX: "neox",
    C.LLAMA_ROPE_TYPE_MROPE: "mrope",
    C.LLAMA_ROPE_TYPE_IMROPE: "imrope",
    C.LLAMA_ROPE_TYPE_VISION: "vision",
}
_VOCAB_USERS_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class ModelParams:
    """How to load a model; the defaults are the library's."""

    n_gpu_layers: int | None = None
    """Layers to put on a GPU; None or a negative value means all that fit the rule."""
    split_mode: str | None = None
    """How several GPUs share: "none", "layer", "row" or "tensor"."""
    main_gpu: int = 0
    tensor_split: tuple[float, ...] = ()
    """Share of the model per device; empty lets the library decide."""
    use_mmap: bool = True
    use_mlock: bool = False
    check_tensors: bool = False
    vocab_only: bool = False
    """Load no weights: tokenizing works, a context cannot be made."""
    devices: tuple[str, ...] = ()
    """Names from `runtime.devices()`; empty means all, ``("none",)`` only the CPU."""
    direct_io: bool = False
    """Read past the system's file cache, where it can be; instead of mapping."""
    lazy_mode: str = "auto"
    """Read rows of large tensors, such as embeddings of each layer, when they are
    needed: "on", "off", or "auto" for those above 4 GiB."""
    repack: bool = True
    """Let weights be laid out anew for what computes them."""
    no_host: bool = False
    """Leave out a GPU's pinned host memory, so that weights may be repacked there."""
    metadata_overrides: tuple[tuple[str, MetadataValue], ...] = ()
    """Values to use instead of those of the file."""
    tensor_placement: tuple[tuple[str, str], ...] = ()
    """(regular expression, buffer type): where tensors go that it matches."""


class Model(NativeObject[C.llama_model_p]):
    """A model in memory; contexts, adapters and samplers keep it alive.

    Loading blocks the calling thread and releases the GIL. The facts below may be read
    from any thread. Closing frees contexts and adapters first.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        params: ModelParams = ModelParams(),
        *,
        progress: Progress | None = None,
    ) -> None:
        """Load `path` (for a split model: its first file).

        Raises:
            ModelLoadError: The message says what is wrong with the file.
            ModelLoadCancelled: `progress` returned False.
            LibraryError: There is no usable native library.

        C: llama.h `llama_model_load_from_file`.
        """
        runtime.start_backend()
        self.path = os.fspath(path)
        self.params = params
        _require_gguf(self.path)
        handle = _load(self.path, params, progress)
        gate = Gate(_closed)
        self._own(handle, _free_model, self.path, gate)
        runtime.register_model(self)
        self._read_facts(handle)
        self.vocab = Vocab(handle, self._lifeline, gate)

    @property
    def adapters(self) -> tuple[LoraAdapter, ...]:
        """The LoRA adapters loaded for this model and still open, oldest first."""
        adapters = (
            one for one in self._live_children() if isinstance(one, LoraAdapter)
        )
        return tuple(adapter for adapter in adapters if not adapter.closed)

    def _read_facts(self, handle: C.llama_model_p) -> None:
        self.description = read_string(C.llama_model_desc, handle) or ""
        self.size_bytes: int = C.llama_model_size(handle)
        self.n_params: int = C.llama_model_n_params(handle)
        self.n_ctx_train: int = C.llama_model_n_ctx_train(handle)
        self.n_embd: int = C.llama_model_n_embd(handle)
        self.n_layer: int = C.llama_model_n_layer(handle)
        # The library aborts when asked for the heads of a layer that was not read.
        has_layers = self.n_layer > 0 and not self.params.vocab_only
        self.n_head: int = C.llama_model_n_head(handle) if has_layers else 0
        self.n_head_kv: int = C.llama_model_n_head_kv(handle) if has_layers else 0
        self.n_swa: int = C.llama_model_n_swa(handle)
        rope_type: int = C.llama_model_rope_type(handle)
        self.rope_type = _ROPE_TYPES.get(rope_type, "unknown")
        self.has_encoder: bool = C.llama_model_has_encoder(handle)
        self.has_decoder: bool = C.llama_model_has_decoder(handle)
        self.is_recurrent: bool = C.llama_model_is_recurrent(handle)
        self.is_hybrid: bool = C.llama_model_is_hybrid(handle)
        self.is_diffusion: bool = C.llama_model_is_diffusion(handle)
        self.metadata = _read_metadata(handle)
        self.is_causal = _is_causal(self.metadata)
        self.ftype = _read_ftype(handle)

    def chat_template(self, name: str | None = None) -> str | None:
        """Return the model's own chat template, or None.

        Args:
            name: A further template of the file, such as "tool_use".
        """
        raw_name = None if name is None else name.encode("utf-8")
        template: bytes | None = C.llama_model_chat_template(self.raw, raw_name)
        return None if template is None else decode(template)


def _require_gguf(path: str) -> None:
    """Refuse what is plainly no model with a better message than the library's."""
    if os.path.isdir(path):
        raise ModelLoadError(f"{path} is a folder; name the .gguf file inside it")
    try:
        with open(path, "rb") as file:
            magic = file.read(4)
    except FileNotFoundError:
        raise ModelLoadError(f"{path} does not exist; check the path") from None
    except (OSError, ValueError) as error:
        raise ModelLoadError(f"{path} cannot be read: {error}") from error
    if not magic:
        raise ModelLoadError(f"{path} is empty; download or convert the model again")
    if magic != b"GGUF":
        raise ModelLoadError(
            f"{path} is not a GGUF file (it starts with {magic!r}); "
            "convert the model with llama.cpp's convert_hf_to_gguf.py"
        )


def _load(path: str, params: ModelParams, progress: Progress | None) -> Any:
    native = C.llama_model_default_params()
    held = _fill(native, params)
    watch = _ProgressWatch(progress)
    if progress is not None:
        native.progress_callback = watch.callback
    with _native_log.collect_problems() as problems:
        handle = C.llama_model_load_from_file(os.fsencode(path), native)
    del held
    if watch.error is not None:
        if handle:
            C.llama_model_free(handle)
        raise watch.error
    if handle:
        return handle
    if watch.is_cancelled:
        raise ModelLoadCancelled(f"loading {path} was cancelled")
    wrong_part = why_split_fails(path)
    if wrong_part is not None:
        raise ModelLoadError(f"{path} cannot be loaded: {wrong_part}")
    raise ModelLoadError(
        f"{path} cannot be loaded: {_native_log.reason(problems)}. "
        "Is the file complete, and does this llama.cpp know its architecture?"
    )


class _ProgressWatch:
    """Keeps what a progress callback did: an exception cannot cross the C frames."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self.is_cancelled = False
        self.error: BaseException | None = None
        self.callback = C.llama_progress_callback(self._step)

    def _step(self, done: float, _user_data: object) -> bool:
        if self._progress is None:
            return True
        try:
            self.is_cancelled = self._progress(done) is False
        except BaseException as error:  # raised again once the library has returned
            self.error = error
            return False
        return not self.is_cancelled


def _fill(native: Any, params: ModelParams) -> list[object]:
    """Set the native parameters; return the arrays they point to."""
    held: list[object] = []
    if params.n_gpu_layers is not None:
        native.n_gpu_layers = params.n_gpu_layers
    if params.split_mode is not None:
        native.split_mode = _choose("split_mode", params.split_mode, _SPLIT_MODES)
    native.main_gpu = params.main_gpu
    native.load_mode = _load_mode(params, native.load_mode)
    native.check_tensors = params.check_tensors
    native.vocab_only = params.vocab_only
    native.lazy_mode = _choose("lazy_mode", params.lazy_mode, _LAZY_MODES)
    native.use_extra_bufts = params.repack
    native.no_host = params.no_host
    if params.metadata_overrides:
        fill_metadata(native, params.metadata_overrides, held)
    if params.tensor_placement:
        fill_placement(native, params.tensor_placement, held)
    if params.tensor_split:
        native.tensor_split = _tensor_split(params.tensor_split, held)
    if params.devices:
        native.devices = _device_list(params.devices, held)
    return held


def _choose(name: str, value: str, known: dict[str, int]) -> int:
    if value not in known:
        raise ModelLoadError(f"{name} {value!r} is unknown; use {', '.join(known)}")
    return known[value]


def _load_mode(params: ModelParams, default: int) -> int:
    if params.direct_io:
        return C.LLAMA_LOAD_MODE_DIRECT_IO
    if params.use_mmap:
        # Without mlock the default stands: the library maps where the device allows.
        return C.LLAMA_LOAD_MODE_MMAP_MLOCK if params.use_mlock else default
    return C.LLAMA_LOAD_MODE_MLOCK if params.use_mlock else C.LLAMA_LOAD_MODE_NONE


def _tensor_split(shares: tuple[float, ...], held: list[object]) -> Any:
    limit: int = C.llama_max_devices()
    if len(shares) > limit:
        raise ModelLoadError(f"tensor_split names {len(shares)} devices of {limit}")
    array = (ctypes.c_float * limit)(*shares)
    held.append(array)
    return array


def _device_list(names: tuple[str, ...], held: list[object]) -> Any:
    array = (C.ggml_backend_dev_t * (len(names) + 1))()  # NULL ends the list
    if names != ("none",):
        for index, name in enumerate(names):
            device = C.ggml_backend_dev_by_name(name.encode("utf-8"))
            if not device:
                known = ", ".join(known.name for known in runtime.devices())
                raise ModelLoadError(f"no device {name!r}; there are {known}")
            array[index] = device
    held.append(array)
    return array


def _read_metadata(handle: C.llama_model_p) -> dict[str, str]:
    """Return the scalar values of the file; the library leaves arrays out."""
    metadata = {}
    for index in range(C.llama_model_meta_count(handle)):
        key = read_string(C.llama_model_meta_key_by_index, handle, index)
        value = read_string(C.llama_model_meta_val_str_by_index, handle, index)
        if key is not None and value is not None:
            metadata[key] = value
    return metadata


def _is_causal(metadata: dict[str, str]) -> bool:
    """Whether a token attends only to earlier ones (embedding models: to all)."""
    architecture = metadata.get("general.architecture", "")
    return metadata.get(f"{architecture}.attention.causal") != "false"


def _read_ftype(handle: C.llama_model_p) -> str:
    try:
        name: bytes | None = C.llama_ftype_name(C.llama_model_ftype(handle))
    except SymbolMissing:
        return (
            read_string(C.llama_model_meta_val_str, handle, b"general.file_type") or ""
        )
    return decode(name or b"").removeprefix("(guessed) ")


def _closed() -> ClosedError:
    return ClosedError("the model of this vocabulary was closed")


def _free_model(handle: C.llama_model_p, path: str, gate: Gate) -> None:
    if not gate.close(_VOCAB_USERS_TIMEOUT_S):
        logger.warning("model not freed: %s (a thread still tokenizes with it)", path)
        return
    C.llama_model_free(handle)
    logger.info("model freed: %s", path)
