"""The rows of the flag table that say how tokens are generated and sampled."""

from __future__ import annotations

from api.settings.flag_kinds import (
    LOGIT_BIAS,
    SAMPLER_LETTERS,
    SAMPLERS,
    SEED,
    SEQUENCE_BREAKER,
)
from api.settings.flags import TEXT_ITEM, integer, number, section, switch, valued
from api.settings.form_kinds import GRAMMAR, GRAMMAR_FILE, SCHEMA, SCHEMA_FILE
from llamactypes.sampling_params import MAX_LAST_N

__all__ = ("GENERATION_FLAGS", "SAMPLING_FLAGS")

_UNIT = number(0.0, 1.0)
_LOOK_BACK = integer(0, MAX_LAST_N)

GENERATION_FLAGS = section(
    "Generation",
    valued(
        "-n --predict --n-predict",
        "n_predict",
        integer(-1),
        "N",
        "Tokens to generate when a request does not say; -1: until the model ends.",
        "LLAMA_ARG_N_PREDICT",
    ),
    valued(
        "--keep",
        "n_keep",
        integer(-1),
        "N",
        "Prompt tokens kept at a context shift; -1: all.",
    ),
    valued(
        "-r --reverse-prompt",
        "reverse_prompts",
        TEXT_ITEM,
        "TEXT",
        "Stop sequence for requests that name none; may be repeated.",
        appends=True,
    ),
    valued(
        "--grammar",
        "form",
        GRAMMAR,
        "GRAMMAR",
        "GBNF that the answers of requests match which ask for no form of their own "
        "and have no tools.",
    ),
    valued(
        "--grammar-file",
        "form",
        GRAMMAR_FILE,
        "FILE",
        "Read --grammar from a file.",
    ),
    valued(
        "-j --json-schema",
        "form",
        SCHEMA,
        "SCHEMA",
        "JSON Schema that the answers of requests match which ask for no form of "
        "their own.",
    ),
    valued(
        "-jf --json-schema-file",
        "form",
        SCHEMA_FILE,
        "FILE",
        "Read --json-schema from a file.",
    ),
    switch(
        "-e --escape",
        "escape",
        "Read \\n, \\r, \\t, \\', \\\", \\\\ and \\xHH in --reverse-prompt and "
        "--dry-sequence-breaker.",
        negative=("--no-escape",),
    ),
    switch(
        "-sp --special",
        "special",
        "Send the text of control tokens, too.",
    ),
    switch(
        "--ignore-eos",
        "ignore_eos",
        "Never end at an end-of-generation token.",
    ),
)

SAMPLING_FLAGS = section(
    "Sampling",
    valued(
        "--samplers",
        "sampling.samplers",
        SAMPLERS,
        "NAMES",
        "Samplers in the order they run, separated by ;.",
    ),
    valued(
        "--sampler-seq --sampling-seq",
        "sampling.samplers",
        SAMPLER_LETTERS,
        "LETTERS",
        "The same by letters: e penalties, d dry, s top_n_sigma, k top_k, y typ_p, "
        "p top_p, m min_p, x xtc, t temperature, i infill, a adaptive_p.",
    ),
    valued(
        "-s --seed",
        "sampling.seed",
        SEED,
        "SEED",
        "Random seed; -1: a new one for each request.",
    ),
    valued(
        "--temp --temperature",
        "sampling.temperature",
        number(),
        "N",
        "Temperature; 0 picks the most likely token.",
        "LLAMA_ARG_TEMPERATURE",
    ),
    valued(
        "--top-k",
        "sampling.top_k",
        integer(0),
        "N",
        "Sample among the N most likely tokens; 0: off.",
        "LLAMA_ARG_TOP_K",
    ),
    valued(
        "--top-p",
        "sampling.top_p",
        _UNIT,
        "P",
        "Sample among the likeliest tokens that together reach P; 1: off.",
        "LLAMA_ARG_TOP_P",
    ),
    valued(
        "--min-p",
        "sampling.min_p",
        _UNIT,
        "P",
        "Drop tokens less likely than P times the likeliest; 0: off.",
        "LLAMA_ARG_MIN_P",
    ),
    valued(
        "--top-nsigma --top-n-sigma",
        "sampling.top_n_sigma",
        number(),
        "N",
        "Keep logits within N standard deviations of the best; negative: off.",
    ),
    valued(
        "--xtc-probability",
        "sampling.xtc_probability",
        _UNIT,
        "P",
        "How often XTC drops the likeliest tokens; 0: off.",
    ),
    valued(
        "--xtc-threshold",
        "sampling.xtc_threshold",
        _UNIT,
        "P",
        "XTC drops tokens at least this likely; above 0.5: off.",
    ),
    valued(
        "--typical --typical-p",
        "sampling.typical_p",
        _UNIT,
        "P",
        "Locally typical sampling; 1: off.",
    ),
    valued(
        "--repeat-last-n",
        "sampling.repeat_last_n",
        _LOOK_BACK,
        "N",
        "Tokens the penalties look back; 0: off.",
    ),
    valued(
        "--repeat-penalty",
        "sampling.repeat_penalty",
        number(1e-30),
        "N",
        "Divide logits of repeated tokens by this; 1: off.",
        "LLAMA_ARG_REPEAT_PENALTY",
    ),
    valued(
        "--presence-penalty",
        "sampling.presence_penalty",
        number(),
        "N",
        "Lower logits of tokens seen before; 0: off.",
        "LLAMA_ARG_PRESENCE_PENALTY",
    ),
    valued(
        "--frequency-penalty",
        "sampling.frequency_penalty",
        number(),
        "N",
        "Lower logits by how often a token was seen; 0: off.",
        "LLAMA_ARG_FREQUENCY_PENALTY",
    ),
    valued(
        "--dry-multiplier",
        "sampling.dry_multiplier",
        number(),
        "N",
        "Strength of the DRY penalty on repeated sequences; 0: off.",
    ),
    valued(
        "--dry-base",
        "sampling.dry_base",
        number(1.0),
        "N",
        "Growth of the DRY penalty with the length of the repetition.",
    ),
    valued(
        "--dry-allowed-length",
        "sampling.dry_allowed_length",
        integer(0),
        "N",
        "Longest repetition that DRY does not punish.",
    ),
    valued(
        "--dry-penalty-last-n",
        "sampling.dry_penalty_last_n",
        _LOOK_BACK,
        "N",
        "Tokens DRY looks back; 0: off.",
    ),
    valued(
        "--dry-sequence-breaker",
        "sampling.dry_sequence_breakers",
        SEQUENCE_BREAKER,
        "TEXT",
        "Text at which DRY starts anew, instead of the default ones; may be repeated; "
        "none: no such text.",
        appends=True,
    ),
    valued(
        "--dynatemp-range",
        "sampling.dynatemp_range",
        number(0.0),
        "N",
        "Dynamic temperature: how far it moves; 0: off.",
    ),
    valued(
        "--dynatemp-exp",
        "sampling.dynatemp_exponent",
        number(),
        "N",
        "Dynamic temperature: exponent of the entropy.",
    ),
    valued(
        "--mirostat",
        "sampling.mirostat",
        integer(0, 2),
        "N",
        "Mirostat 1 or 2 instead of the samplers but the temperature; 0: off.",
    ),
    valued(
        "--mirostat-lr",
        "sampling.mirostat_eta",
        number(),
        "N",
        "Mirostat's learning rate, eta.",
    ),
    valued(
        "--mirostat-ent",
        "sampling.mirostat_tau",
        number(),
        "N",
        "Mirostat's target entropy, tau.",
    ),
    valued(
        "--adaptive-target",
        "sampling.adaptive_target",
        number(-1.0, 1.0),
        "P",
        "Adaptive-p picks tokens near this probability; negative: off; needs "
        "adaptive_p among the samplers.",
    ),
    valued(
        "--adaptive-decay",
        "sampling.adaptive_decay",
        number(0.0, 0.99),
        "N",
        "How slowly adaptive-p changes.",
    ),
    valued(
        "-l --logit-bias",
        "sampling.logit_bias",
        LOGIT_BIAS,
        "TOKEN±BIAS",
        "Make a token likelier or less likely, such as 15043+1; may be repeated.",
        appends=True,
    ),
    switch(
        "-bs --backend-sampling",
        "sampling.backend_sampling",
        "Sample inside the compute graph, where the device can; for GPUs.",
        "LLAMA_ARG_BACKEND_SAMPLING",
    ),
)
