"""llama-server's flags that this server refuses, each group with what to do instead."""

from __future__ import annotations

__all__ = ("GROUPS", "UNSUPPORTED")

_DOWNLOAD = "name the model with --hf-repo or --model"
_CPU = "the system places threads; choose their number with --threads, or use taskset"
GROUPS: tuple[tuple[str, str], ...] = (
    (
        "-mu --model-url -dr "
        "--docker-repo -cl --cache-list --embd-gemma-default --fim-qwen-1.5b-default "
        "--fim-qwen-3b-default --fim-qwen-7b-default --fim-qwen-7b-spec "
        "--fim-qwen-14b-spec --fim-qwen-30b-default --gpt-oss-20b-default "
        "--gpt-oss-120b-default --vision-gemma-4b-default --vision-gemma-12b-default",
        _DOWNLOAD,
    ),
    (
        "-mm --mmproj -mmu --mmproj-url --mmproj-auto --no-mmproj --no-mmproj-auto "
        "--mmproj-offload --no-mmproj-offload -mmdev --mmproj-device "
        "--image-min-tokens --image-max-tokens --mtmd-batch-max-tokens --video-fps "
        "--video-timestamp-interval --video-ffmpeg-dir --media-path",
        "images, audio and video are not served",
    ),
    (
        "-md --model-draft --spec-draft-model --spec-type --spec-default "
        "--spec-draft-n-max --spec-draft-n-min --spec-draft-hf --spec-draft-ngl "
        "--spec-draft-device --spec-synth-len --spec-synth-rates --draft --draft-n "
        "--draft-max --draft-min --draft-n-min -lcs --lookup-cache-static -lcd "
        "--lookup-cache-dynamic --spec-draft-p-min --spec-draft-p-split",
        "there is no speculative decoding",
    ),
    (
        "--grammar --grammar-file -j --json-schema -jf --json-schema-file",
        "output cannot be constrained by a grammar or schema",
    ),
    (
        "--reasoning-format -rea --reasoning --reasoning-effort --reasoning-budget "
        "--reasoning-budget-message --reasoning-preserve --no-reasoning-preserve "
        "--skip-chat-parsing --no-skip-chat-parsing",
        "replies are not parsed for reasoning or tool calls; template variables go "
        "through --chat-template-kwargs",
    ),
    (
        "--embedding --embeddings --rerank --reranking --pooling --embd-normalize",
        "only text generation is served",
    ),
    (
        "--tools --tools-runtime --mcp-servers-config --mcp-servers-json -ag --agent "
        "-no-ag --no-agent --ui-mcp-proxy --webui-mcp-proxy",
        "the server runs no tools",
    ),
    (
        "--ui-config --webui-config --ui-config-file --webui-config-file --path",
        "there is no web page to configure",
    ),
    (
        "--models-dir --models-preset --models-max --models-autoload "
        "--no-models-autoload",
        "one server serves one model; start one for each",
    ),
    (
        "--ssl-key-file --ssl-cert-file",
        "there is no TLS; put a proxy such as nginx or caddy in front",
    ),
    (
        "-C --cpu-mask -Cr --cpu-range --cpu-strict --prio --poll -Cb --cpu-mask-batch "
        "-Crb --cpu-range-batch --cpu-strict-batch --prio-batch --poll-batch --numa",
        _CPU,
    ),
    (
        "-nocb --no-cont-batching",
        "batching is always continuous; --parallel 1 serves one request at a time",
    ),
    (
        "-fit --fit -fitt --fit-target -fitc --fit-ctx",
        "sizes are not fitted to the device; choose --gpu-layers and --ctx-size",
    ),
    (
        "-ot --override-tensor -cmoe --cpu-moe -ncmoe --n-cpu-moe -ncffn --n-cpu-ffn "
        "--moe-cache-mib --repack -nr --no-repack --no-host -lzm --lazy-mode --rpc",
        "weights cannot be placed by tensor; see --gpu-layers and --tensor-split",
    ),
    (
        "--control-vector --control-vector-scaled --control-vector-layer-range "
        "--lora-init-without-apply --override-kv",
        "the model cannot be changed this way; adapters go through --lora-scaled",
    ),
    (
        "--slot-save-path --kv-unified-per-slot -dt --defrag-thold",
        "slots reuse the longest common prefix only; see --cache-prompt and --swa-full",
    ),
    (
        "--sleep-idle-seconds --reuse-port --perf --no-perf --log-jsonl "
        "--no-log-jsonl --log-prompts-dir --completion-bash --spm-infill -e --escape "
        "--no-escape -bf --binary-file -gan --grp-attn-n -gaw --grp-attn-w",
        "this server has no such setting",
    ),
)

UNSUPPORTED = {name: why for names, why in GROUPS for name in names.split()}
"""Flag name → why it is refused and what to do instead."""
