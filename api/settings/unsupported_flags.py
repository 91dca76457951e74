"""llama-server's flags that set nothing here: accepted with a reason, or refused.

A flag is only accepted where leaving it out changes nothing but speed, or where it
could matter only together with one that is refused. In the tables below a line is one
flag: its names, names that turn it off (after !), its variable, the placeholder of its
value (none: a switch), and after = the values that ask for what is so anyway. Nothing
is said about those, nor about turning a switch off. A line that begins with no name
goes on with the one above.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from api.settings.flags import FALSE_WORDS, TRUE_WORDS

__all__ = ("GROUPS", "UNSUPPORTED", "UNSUPPORTED_VARIABLES", "Group", "Unsupported")


@dataclass(frozen=True, slots=True)
class Unsupported:
    """One flag of llama-server that sets nothing."""

    names: tuple[str, ...]
    negative: tuple[str, ...]
    """Names that turn a switch off."""
    env: str
    metavar: str
    """Empty for a switch."""
    harmless: tuple[str, ...]
    """Values that ask for what is so anyway; a switch has on and off."""
    is_refused: bool
    why: str

    def says(self, value: str) -> bool:
        """Whether something must be said about `value`."""
        word = value.strip().lower()
        if not self.metavar:
            word = (
                "on" if word in TRUE_WORDS else "off" if word in FALSE_WORDS else word
            )
        return word not in self.harmless


@dataclass(frozen=True, slots=True)
class Group:
    """Flags with the same reason."""

    is_refused: bool
    why: str
    lines: str

    @property
    def flags(self) -> tuple[Unsupported, ...]:
        """The flags, one for each line."""
        return tuple(map(self._flag, _LINE.split(self.lines)[1:]))

    def _flag(self, line: str) -> Unsupported:
        words = line.split()
        names = tuple(word for word in words if word.startswith("-"))
        negative = tuple(word[1:] for word in words if word.startswith("!"))
        harmless = [word[1:].split(",") for word in words if word.startswith("=")]
        rest = [word for word in words if word[0] not in "-!="]
        env = [word for word in rest if word.startswith(("LLAMA_", "MTMD_"))]
        metavar = [word for word in rest if word not in env]
        return Unsupported(
            names,
            negative,
            env[0] if env else "",
            metavar[0] if metavar else "",
            tuple(harmless[0]) if harmless else () if metavar else _OFF,
            self.is_refused,
            self.why,
        )


_LINE = re.compile(r"^ *(?=-)", re.MULTILINE)
_OFF = ("off",)


def _refused(why: str, lines: str) -> Group:
    return Group(True, why, lines)


def _accepted(why: str, lines: str) -> Group:
    return Group(False, why, lines)


GROUPS = (
    # -- where the model comes from ----------------------------------------------------
    _refused(
        "models come from a file (--model) or a repository (--hf-repo); fetch a URL "
        "with curl first",
        """
        -mu --model-url URL LLAMA_ARG_MODEL_URL
        -dr --docker-repo REPO LLAMA_ARG_DOCKER_REPO
        """,
    ),
    _refused(
        "no repositories are built in; name one with --hf-repo",
        """
        --embd-gemma-default
        --fim-qwen-1.5b-default
        --fim-qwen-3b-default
        --fim-qwen-7b-default
        --fim-qwen-7b-spec
        --fim-qwen-14b-spec
        --fim-qwen-30b-default
        --gpt-oss-20b-default
        --gpt-oss-120b-default
        --vision-gemma-4b-default
        --vision-gemma-12b-default
        """,
    ),
    _refused(
        "one server serves one model; start one for each",
        """
        --models-dir PATH LLAMA_ARG_MODELS_DIR
        --models-preset PATH LLAMA_ARG_MODELS_PRESET
        """,
    ),
    _accepted(
        "one server serves one model",
        """
        --models-max N LLAMA_ARG_MODELS_MAX
        --models-autoload !--no-models-autoload LLAMA_ARG_MODELS_AUTOLOAD
        """,
    ),
    # -- what requests may ask for -----------------------------------------------------
    _refused(
        "images, audio and video are not served; --no-mmproj says the same",
        """
        -mm --mmproj FILE LLAMA_ARG_MMPROJ
        -mmu --mmproj-url URL LLAMA_ARG_MMPROJ_URL
        -mmdev --mmproj-device DEVICE MTMD_BACKEND_DEVICE
        --media-path PATH
        """,
    ),
    _accepted(
        "images, audio and video are not served",
        """
        --mmproj-auto !--no-mmproj !--no-mmproj-auto LLAMA_ARG_MMPROJ_AUTO
        --mmproj-offload !--no-mmproj-offload LLAMA_ARG_MMPROJ_OFFLOAD
        --image-min-tokens N LLAMA_ARG_IMAGE_MIN_TOKENS
        --image-max-tokens N LLAMA_ARG_IMAGE_MAX_TOKENS
        --mtmd-batch-max-tokens N LLAMA_ARG_MTMD_BATCH_MAX_TOKENS
        --video-fps N LLAMA_ARG_VIDEO_FPS
        --video-timestamp-interval N LLAMA_ARG_VIDEO_TIMESTAMP_INTERVAL
        --video-ffmpeg-dir PATH LLAMA_ARG_VIDEO_FFMPEG_DIR
        """,
    ),
    _refused(
        "the server runs no tools; run them in the client",
        """
        --tools TOOLS LLAMA_ARG_TOOLS
        --tools-runtime OPTION LLAMA_ARG_TOOLS_RUNTIME =none
        --mcp-servers-config PATH LLAMA_ARG_MCP_SERVERS_CONFIG
        --mcp-servers-json JSON LLAMA_ARG_MCP_SERVERS_JSON
        -ag --agent !-no-ag !--no-agent LLAMA_ARG_AGENT
        """,
    ),
    _accepted(
        "there is no web page to configure",
        """
        --ui-config --webui-config JSON LLAMA_ARG_UI_CONFIG
        --ui-config-file --webui-config-file PATH LLAMA_ARG_UI_CONFIG_FILE
        """,
    ),
    _refused(
        "the server fetches nothing for web pages",
        """
        --ui-mcp-proxy --webui-mcp-proxy !--no-ui-mcp-proxy !--no-webui-mcp-proxy
            LLAMA_ARG_UI_MCP_PROXY
        """,
    ),
    _refused(
        "no files are served; put a proxy such as nginx or caddy in front",
        """
        --path PATH LLAMA_ARG_STATIC_PATH
        """,
    ),
    _refused(
        "there is no TLS; put a proxy such as nginx or caddy in front",
        """
        --ssl-key-file FILE LLAMA_ARG_SSL_KEY_FILE
        --ssl-cert-file FILE LLAMA_ARG_SSL_CERT_FILE
        """,
    ),
    # -- speculation -------------------------------------------------------------------
    _refused(
        "there is no speculative decoding; leave it out: it would only be faster",
        """
        -md --model-draft --spec-draft-model FILE LLAMA_ARG_SPEC_DRAFT_MODEL
        -hfd -hfrd --spec-draft-hf --hf-repo-draft REPO LLAMA_ARG_SPEC_DRAFT_HF_REPO
        --spec-type TYPE LLAMA_ARG_SPEC_TYPE =none
        --spec-default
        --spec-synth-len L LLAMA_ARG_SPEC_SYNTH_LEN
        --spec-synth-rates RATES LLAMA_ARG_SPEC_SYNTH_RATES
        -lcs --lookup-cache-static FILE
        -lcd --lookup-cache-dynamic FILE
        --draft --draft-n --draft-max N LLAMA_ARG_DRAFT_MAX =0
        --draft-min --draft-n-min N LLAMA_ARG_DRAFT_MIN =0
        --spec-ngram-size-n N
        --spec-ngram-size-m N
        --spec-ngram-min-hits N
        """,
    ),
    _accepted(
        "there is no speculative decoding",
        """
        -td --spec-draft-threads --threads-draft N
        -tbd --spec-draft-threads-batch --threads-batch-draft N
        -Cd --spec-draft-cpu-mask --cpu-mask-draft MASK
        -Crd --spec-draft-cpu-range --cpu-range-draft RANGE
        --spec-draft-cpu-strict --cpu-strict-draft N
        --spec-draft-prio --prio-draft N
        --spec-draft-poll --poll-draft N
        -Cbd --spec-draft-cpu-mask-batch --cpu-mask-batch-draft MASK
        --spec-draft-cpu-strict-batch --cpu-strict-batch-draft N
        --spec-draft-prio-batch --prio-batch-draft N
        --spec-draft-poll-batch --poll-batch-draft N
        -ctkd --spec-draft-type-k --cache-type-k-draft TYPE
            LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_K
        -ctvd --spec-draft-type-v --cache-type-v-draft TYPE
            LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_V
        -otd --spec-draft-override-tensor --override-tensor-draft PATTERN
        -cmoed --spec-draft-cpu-moe --cpu-moe-draft LLAMA_ARG_SPEC_DRAFT_CPU_MOE
        -ncmoed --spec-draft-n-cpu-moe --spec-draft-ncmoe --n-cpu-moe-draft N
            LLAMA_ARG_SPEC_DRAFT_N_CPU_MOE
        --spec-draft-n-max N LLAMA_ARG_SPEC_DRAFT_N_MAX
        --spec-draft-n-min N LLAMA_ARG_SPEC_DRAFT_N_MIN
        --spec-draft-p-split --draft-p-split P LLAMA_ARG_SPEC_DRAFT_P_SPLIT
        --spec-draft-p-min --draft-p-min P LLAMA_ARG_SPEC_DRAFT_P_MIN
        --spec-draft-backend-sampling !--no-spec-draft-backend-sampling
            LLAMA_ARG_SPEC_DRAFT_BACKEND_SAMPLING
        --spec-draft-sampling MODE LLAMA_ARG_SPEC_DRAFT_SAMPLING
        -devd --spec-draft-device --device-draft DEVICES
        -ngld --spec-draft-ngl --gpu-layers-draft --n-gpu-layers-draft N
            LLAMA_ARG_N_GPU_LAYERS_DRAFT
        --spec-ngram-mod-n-min N
        --spec-ngram-mod-n-max N
        --spec-ngram-mod-n-match N
        --spec-ngram-simple-size-n N
        --spec-ngram-simple-size-m N
        --spec-ngram-simple-min-hits N
        --spec-ngram-map-k-size-n N
        --spec-ngram-map-k-size-m N
        --spec-ngram-map-k-min-hits N
        --spec-ngram-map-k4v-size-n N
        --spec-ngram-map-k4v-size-m N
        --spec-ngram-map-k4v-min-hits N
        """,
    ),
    # -- the machine -------------------------------------------------------------------
    _accepted(
        "the system places threads; choose their number with --threads, or start "
        "under taskset or nice",
        """
        -C --cpu-mask MASK
        -Cr --cpu-range RANGE
        --cpu-strict N =0
        --prio N =0
        --poll N
        -Cb --cpu-mask-batch MASK
        -Crb --cpu-range-batch RANGE
        --cpu-strict-batch N =0
        --prio-batch N =0
        --poll-batch N
        """,
    ),
    _accepted(
        "sizes are not fitted to the device; choose --gpu-layers and --ctx-size",
        """
        -fit --fit MODE LLAMA_ARG_FIT =off,0,false,disabled
        -fitt --fit-target MIB LLAMA_ARG_FIT_TARGET
        -fitc --fit-ctx N LLAMA_ARG_FIT_CTX
        """,
    ),
    _refused(
        "devices of other machines are not used; start a server on each",
        """
        --rpc SERVERS LLAMA_ARG_RPC
        """,
    ),
    _refused(
        "a slot may hold all of --ctx-size when --kv-unified shares it, else its part; "
        "choose --ctx-size and --parallel",
        """
        --kv-unified-per-slot N LLAMA_ARG_KV_UNIFIED_PER_SLOT =0
        """,
    ),
    _accepted(
        "the KV cache needs no defragmentation, in llama-server neither",
        """
        -dt --defrag-thold N LLAMA_ARG_DEFRAG_THOLD
        """,
    ),
    _refused(
        "batching is always continuous; --parallel 1 serves one request at a time",
        """
        -cb --cont-batching !-nocb !--no-cont-batching LLAMA_ARG_CONT_BATCHING =on
        """,
    ),
    _accepted(
        "experts that are kept on the CPU are not cached on a GPU",
        """
        --moe-cache-mib N LLAMA_ARG_MOE_CACHE_MIB =0
        """,
    ),
    # -- the process -------------------------------------------------------------------
    _accepted(
        "timings are always measured",
        """
        --perf !--no-perf LLAMA_ARG_PERF =on
        """,
    ),
    _refused(
        "prompts are not written to files; log them where requests are made",
        """
        --log-prompts-dir PATH
        """,
    ),
)

_FLAGS = tuple(flag for group in GROUPS for flag in group.flags)

UNSUPPORTED = {name: flag for flag in _FLAGS for name in flag.names + flag.negative}
"""Each name → the flag it belongs to."""

UNSUPPORTED_VARIABLES = {flag.env: flag for flag in _FLAGS if flag.env}
