"""llama.cpp's C interface by ctypes: what the headers say, verbatim names, no behaviour.

``from llamactypes import bindings as C`` gives every function, structure, handle type,
callback type and constant. The first call of a function loads the default library;
``_loader.load`` chooses one. After that each function here is the native one.
"""

# ruff: noqa: F403  # every name of every module is meant

from llamactypes.bindings._declare import REGISTRY as REGISTRY
from llamactypes.bindings._declare import Declaration as Declaration
from llamactypes.bindings._declare import at_address as at_address
from llamactypes.bindings.enums import *
from llamactypes.bindings.ggml import *
from llamactypes.bindings.llama_adapter import *
from llamactypes.bindings.llama_backend import *
from llamactypes.bindings.llama_batch import *
from llamactypes.bindings.llama_chat import *
from llamactypes.bindings.llama_context import *
from llamactypes.bindings.llama_memory import *
from llamactypes.bindings.llama_model import *
from llamactypes.bindings.llama_opt import *
from llamactypes.bindings.llama_perf import *
from llamactypes.bindings.llama_sampler import *
from llamactypes.bindings.llama_state import *
from llamactypes.bindings.llama_vocab import *
from llamactypes.bindings.mtmd import *
from llamactypes.bindings.mtmd_helper import *
from llamactypes.bindings.structs import *
from llamactypes.bindings.types import *
