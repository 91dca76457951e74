"""Load a library in a process of its own and see how that ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_LOAD = """
import sys
from llamactypes.bindings import _loader
from llamactypes.errors import LlamaError
try:
    library = _loader.load(*sys.argv[1:])
except LlamaError as error:
    sys.exit(f"{type(error).__name__}: {error}")
print(library.origin, library.abi, library.path)
"""

_DECODE = """
import sys
from llamactypes import bindings as C
from llamactypes.bindings import _backends, _loader
library = _loader.load(sys.argv[2])
silent = C.ggml_log_callback(lambda *_: None)
C.llama_log_set(silent, None)
_backends.load_backends(library)
file = sys.argv[1].encode()
model = C.llama_model_load_from_file(file, C.llama_model_default_params())
params = C.llama_context_default_params()
params.n_ctx, params.n_threads, params.n_threads_batch = 64, 1, 1
context = C.llama_init_from_model(model, params)
sampler = C.llama_sampler_init_greedy()
tokens = (C.llama_token * 2)(1, 300)
batch, answer = C.llama_batch_get_one(tokens, 2), []
for _ in range(4):
    if C.llama_decode(context, batch):
        sys.exit("llama_decode failed")
    answer.append(C.llama_sampler_sample(sampler, context, -1))
    tokens = (C.llama_token * 1)(answer[-1])
    batch = C.llama_batch_get_one(tokens, 1)
print(library.abi, answer)
"""


def run_python(
    code: str, *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `code` in a new interpreter that finds the project; wait at most 60 s.

    No library is named, whatever ``LLAMACTYPES_LIB`` says here.
    """
    ours = {"PYTHONPATH": str(ROOT), "LLAMACTYPES_LIB": ""}
    variables = {**os.environ, **ours, **(environment or {})}
    return subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments],
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def load_in_process(
    path: str | Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Load `path`: status 0 and "origin abi path", or status 1 and the message."""
    arguments = () if path is None else (str(path),)
    return run_python(_LOAD, *arguments, environment=environment)


def decode_in_process(
    path: str | Path, model: Path
) -> subprocess.CompletedProcess[str]:
    """Load `path`, decode four tokens greedily: status 0 and "abi [tokens]"."""
    return run_python(_DECODE, str(model), str(path))
