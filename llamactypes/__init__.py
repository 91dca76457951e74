"""llama.cpp inference from Python with nothing to compile.

Importing this package loads no native code; the first `Model` (or `start_backend`) does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llamactypes import errors
from llamactypes.errors import *  # noqa: F403
from llamactypes.sampling_params import DEFAULT_SAMPLERS, RANDOM_SEED, SamplingParams

if TYPE_CHECKING:
    from llamactypes.adapter import LoraAdapter
    from llamactypes.batch import Batch
    from llamactypes.context import AbortFlag, Context
    from llamactypes.context_params import ContextParams
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
    from llamactypes.sampling import Candidates, SamplerChain
    from llamactypes.state import (
        restore_sequence,
        restore_sequence_file,
        save_sequence,
        save_sequence_file,
    )
    from llamactypes.vocab import Vocab

__version__ = "0.1.0"
