"""llama.cpp inference from Python with nothing to compile.

Importing this package loads no native code: the first `Model` does (or `start_backend`,
which can choose the library). Names load their module when first used.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llamactypes.adapter import LoraAdapter
    from llamactypes.batch import Batch
    from llamactypes.candidates import Candidates
    from llamactypes.context import AbortFlag, Context
    from llamactypes.context_params import ContextParams
    from llamactypes.errors import (
        AbiMismatch,
        ClosedError,
        ContextError,
        DecodeAborted,
        DecodeError,
        DecodeFatal,
        EngineError,
        EngineFailed,
        EngineLoading,
        EngineOverloaded,
        EngineStopped,
        InvalidBatch,
        KVCacheFull,
        LibraryError,
        LibraryNotFound,
        LlamaError,
        ModelLoadCancelled,
        ModelLoadError,
        PromptTooLong,
        SamplingError,
        StateError,
        SymbolMissing,
        TemplateError,
        ThreadMisuse,
        TokenizeError,
    )
    from llamactypes.memory import Memory
    from llamactypes.model import Model, ModelParams
    from llamactypes.runtime import (
        Device,
        backend_is_started,
        devices,
        free_backend,
        start_backend,
        supports_gpu_offload,
        system_info,
    )
    from llamactypes.sampling import SamplerChain
    from llamactypes.sampling_params import SamplingParams
    from llamactypes.state import (
        restore_sequence,
        restore_sequence_file,
        save_sequence,
        save_sequence_file,
    )
    from llamactypes.vocab import Vocab

__all__ = (
    "__version__",
    # process
    "Device",
    "backend_is_started",
    "devices",
    "free_backend",
    "start_backend",
    "supports_gpu_offload",
    "system_info",
    # objects
    "AbortFlag",
    "Batch",
    "Candidates",
    "Context",
    "ContextParams",
    "LoraAdapter",
    "Memory",
    "Model",
    "ModelParams",
    "SamplerChain",
    "SamplingParams",
    "Vocab",
    "restore_sequence",
    "restore_sequence_file",
    "save_sequence",
    "save_sequence_file",
    # errors
    "LlamaError",
    "LibraryError",
    "LibraryNotFound",
    "AbiMismatch",
    "SymbolMissing",
    "ModelLoadError",
    "ModelLoadCancelled",
    "ContextError",
    "ThreadMisuse",
    "ClosedError",
    "TokenizeError",
    "SamplingError",
    "StateError",
    "TemplateError",
    "DecodeError",
    "KVCacheFull",
    "DecodeAborted",
    "InvalidBatch",
    "DecodeFatal",
    "EngineError",
    "PromptTooLong",
    "EngineOverloaded",
    "EngineLoading",
    "EngineStopped",
    "EngineFailed",
)

__version__ = "0.1.0"

# A library prints nothing by itself: without this, Python shows warnings on stderr.
logging.getLogger(__name__).addHandler(logging.NullHandler())

_MODULES = {
    "AbortFlag": "context",
    "Batch": "batch",
    "Candidates": "candidates",
    "Context": "context",
    "ContextParams": "context_params",
    "Device": "runtime",
    "LoraAdapter": "adapter",
    "Memory": "memory",
    "Model": "model",
    "ModelParams": "model",
    "SamplerChain": "sampling",
    "SamplingParams": "sampling_params",
    "Vocab": "vocab",
    "backend_is_started": "runtime",
    "devices": "runtime",
    "free_backend": "runtime",
    "restore_sequence": "state",
    "restore_sequence_file": "state",
    "save_sequence": "state",
    "save_sequence_file": "state",
    "start_backend": "runtime",
    "supports_gpu_offload": "runtime",
    "system_info": "runtime",
}


def __getattr__(name: str) -> Any:
    """Import the module of a public name when it is first asked for (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_MODULES.get(name, 'errors')}")
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
