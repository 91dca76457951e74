"""What the headers have and the bindings leave out, with the reason.

``build_scripts/check_abi.py`` reads this: whatever is neither declared, nor deprecated
in the header, nor explained here fails the check.
"""

from __future__ import annotations

__all__ = ("OMITTED", "PARTIAL_HEADERS")

OMITTED: dict[str, str] = {
    "ggml_backend_load_all": (
        "searches the executable's directory and the working directory for libraries "
        "to run; ggml_backend_load_all_from_path says where"
    ),
    "ggml_backend_cpu_init": (
        "belongs to graph computing; contexts open their own streams, and loadable "
        "CPU backends do not export it to us"
    ),
}
"""Functions that are left out on purpose, by name."""

PARTIAL_HEADERS: dict[str, str] = {
    "ggml.h": (
        "tensor and graph building is the library's own business; declared are "
        "version, clock, log, types, thread pool parameters and the fatal error callback"
    ),
    "ggml-alloc.h": "allocation of graphs is the library's own business",
    "ggml-backend.h": (
        "declared are devices, the registry and loading; buffers, graphs and the "
        "scheduler are the library's own business"
    ),
    "ggml-cpu.h": "declared is the thread pool for llama_attach_threadpool",
    "ggml-opt.h": "declared is what llama_opt_init and llama_opt_epoch need",
    "ggml-rpc.h": "declared wholly; every function is optional",
    "gguf.h": "files are read through models; the gguf package edits them",
}
"""Headers that are declared only as far as we call them, and why."""
