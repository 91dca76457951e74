"""The flag table: one row for each flag of ``llamactypes serve`` and ``run``.

Names, short forms and environment variables are llama-server's where it has them
(common/arg.cpp of the pinned build); ours follow its pattern. Defaults are those of
`Settings`, `EngineConfig` and `SamplingParams`.
"""

from __future__ import annotations

from api.settings.flag_kinds import REASONING, REASONING_FORMAT
from api.settings.flag_table_context import CONTEXT_FLAGS
from api.settings.flag_table_embedding import EMBEDDING_FLAGS
from api.settings.flag_table_faults import FAULT_FLAGS
from api.settings.flag_table_model import DEVICE_FLAGS, MODEL_FLAGS
from api.settings.flag_table_sampling import GENERATION_FLAGS, SAMPLING_FLAGS
from api.settings.flag_table_streams import STREAM_FLAGS
from api.settings.flags import (
    FILE_LINES,
    FILE_TEXT,
    FOLDER,
    JSON_OBJECT,
    SIZE,
    TEXT,
    TEXT_LIST,
    choice,
    integer,
    section,
    switch,
    valued,
)

__all__ = ("FLAGS",)

_SERVE = ("serve",)
_RUN = ("run",)
_ALL = ("serve", "run", "info")

_GENERAL = section(
    "General",
    switch("-h --help --usage", "help", "Print this help and exit.", commands=_ALL),
    switch("--version", "version", "Print the version and exit."),
    switch(
        "--list-devices",
        "list_devices",
        "Print the devices the library can compute on and exit.",
    ),
    switch(
        "-cl --cache-list",
        "cache_list",
        "Print the models of the hub's cache, as --hf-repo takes them, and exit.",
    ),
    switch(
        "--completion-bash",
        "completion_bash",
        "Print a completion script for bash and exit.",
    ),
    valued(
        "--library",
        "engine.library",
        TEXT,
        "PATH",
        "Use this libllama (a file or its folder) instead of searching for one; the "
        "variable LLAMACTYPES_LIB does the same.",
        commands=_ALL,
    ),
    switch(
        "--offline",
        "offline",
        "Never use the network: --hf-repo takes what the cache holds.",
        "LLAMA_ARG_OFFLINE",
        commands=_ALL,
    ),
)

_CHAT = section(
    "Chat",
    switch(
        "--jinja",
        "jinja",
        "Render chats with the Jinja2 template; off: with the library's built-in "
        "templates.",
        "LLAMA_ARG_JINJA",
        negative=("--no-jinja",),
    ),
    valued(
        "--chat-template",
        "chat_template",
        TEXT,
        "TEMPLATE",
        "Jinja2 text, the name of one of the model's own templates (tool_use, rag), or "
        "the name of a built-in one; not given: the model's default.",
        "LLAMA_ARG_CHAT_TEMPLATE",
    ),
    valued(
        "--chat-template-file",
        "chat_template",
        FILE_TEXT,
        "FILE",
        "Read the chat template from a file.",
        "LLAMA_ARG_CHAT_TEMPLATE_FILE",
    ),
    valued(
        "--chat-template-kwargs",
        "chat_template_kwargs",
        JSON_OBJECT,
        "JSON",
        "More variables for the chat template.",
        "LLAMA_ARG_CHAT_TEMPLATE_KWARGS",
    ),
    valued(
        "-rea --reasoning",
        "reasoning",
        REASONING,
        "MODE",
        "Ask the template to let the model think (enable_thinking): on, off, or auto "
        "for the template's own choice.",
        "LLAMA_ARG_REASONING",
    ),
    valued(
        "--reasoning-effort",
        "reasoning_effort",
        TEXT,
        "LEVEL",
        "Ask the template for this effort (reasoning_effort), such as low, medium or "
        "high; default: its own choice.",
        "LLAMA_ARG_REASONING_EFFORT",
    ),
    valued(
        "--reasoning-format",
        "reasoning_format",
        REASONING_FORMAT,
        "FORMAT",
        "Where thinking goes in replies: none leaves it in the content, deepseek and "
        "auto put it into reasoning_content, deepseek-legacy into both.",
        "LLAMA_ARG_THINK",
        commands=_SERVE,
    ),
    switch(
        "--skip-chat-parsing",
        "skip_chat_parsing",
        "Return all that a model writes as content, thinking and tool calls included.",
        "LLAMA_ARG_SKIP_CHAT_PARSING",
        negative=("--no-skip-chat-parsing",),
        commands=_SERVE,
    ),
    valued(
        "--reasoning-budget",
        "reasoning_budget",
        integer(-1),
        "N",
        "Tokens of thinking, after which its end is written: -1 without limit, 0 for "
        "none; for requests that name no reasoning_budget_tokens.",
        "LLAMA_ARG_THINK_BUDGET",
        commands=_SERVE,
    ),
    valued(
        "--reasoning-budget-message",
        "reasoning_budget_message",
        TEXT,
        "TEXT",
        "Written before the end of thinking that was longer than its budget.",
        "LLAMA_ARG_THINK_BUDGET_MESSAGE",
        commands=_SERVE,
    ),
    switch(
        "--reasoning-preserve",
        "reasoning_preserve",
        "Ask the template to keep the thinking of earlier turns in the prompt.",
        "LLAMA_ARG_REASONING_PRESERVE",
        negative=("--no-reasoning-preserve",),
    ),
    switch(
        "--parse-special-content",
        "parse_special_content",
        "Let text in messages that spells a control token be that token, as "
        "llama-server does: whoever writes a message can then end it and write others.",
        "LLAMA_ARG_PARSE_SPECIAL_CONTENT",
    ),
    switch(
        "--prefill-assistant",
        "prefill_assistant",
        "Continue a last message of the assistant instead of answering it.",
        "LLAMA_ARG_PREFILL_ASSISTANT",
        negative=("--no-prefill-assistant",),
        commands=_SERVE,
    ),
)

_SERVER = section(
    "Server",
    valued(
        "--host",
        "hosts",
        TEXT_LIST,
        "ADDRESSES",
        "Addresses to listen on, comma-separated: IPv4, IPv6, names, and paths of UNIX "
        "sockets, which end in .sock.",
        "LLAMA_ARG_HOST",
        commands=_SERVE,
    ),
    valued(
        "--port",
        "port",
        integer(0, 65535),
        "PORT",
        "Port to listen on; 0: a free one, printed at start.",
        "LLAMA_ARG_PORT",
        commands=_SERVE,
    ),
    switch(
        "--reuse-port",
        "reuse_port",
        "Let several servers listen on the same port; the system spreads connections.",
        "LLAMA_ARG_REUSE_PORT",
        commands=_SERVE,
    ),
    valued(
        "--api-prefix",
        "api_prefix",
        TEXT,
        "PREFIX",
        "Path under which every route is mounted.",
        "LLAMA_ARG_API_PREFIX",
        commands=_SERVE,
    ),
    valued(
        "--api-key",
        "api_keys",
        TEXT_LIST,
        "KEYS",
        "Keys that requests must carry, comma-separated; none: no key is asked.",
        "LLAMA_API_KEY",
        appends=True,
        commands=_SERVE,
    ),
    valued(
        "--api-key-file",
        "api_key_file",
        FILE_LINES,
        "FILE",
        "More keys, one on each line; lines with # are comments.",
        "LLAMA_ARG_API_KEY_FILE",
        commands=_SERVE,
    ),
    valued(
        "--key-concurrency",
        "key_concurrency",
        integer(0),
        "N",
        "Most completions that one API key may have running or waiting; one more is "
        "refused with 429; 0: no limit.",
        "LLAMA_ARG_KEY_CONCURRENCY",
        commands=_SERVE,
    ),
    valued(
        "--responses-store",
        "responses_store",
        integer(0),
        "N",
        "Most answers of /v1/responses that are kept in memory, to be fetched and "
        "continued; the oldest are dropped first; 0: none.",
        "LLAMA_ARG_RESPONSES_STORE",
        commands=_SERVE,
    ),
    valued(
        "--responses-store-mib",
        "responses_store_mib",
        integer(1),
        "MIB",
        "Most memory for them.",
        "LLAMA_ARG_RESPONSES_STORE_MIB",
        commands=_SERVE,
    ),
    valued(
        "--responses-store-age",
        "responses_store_age_s",
        integer(0),
        "SECONDS",
        "Keep none of them for longer; 0: no limit.",
        "LLAMA_ARG_RESPONSES_STORE_AGE",
        commands=_SERVE,
    ),
    switch(
        "--responses-skip-tools",
        "responses_skip_tools",
        "Leave out tools of /v1/responses that are no functions, such as web_search, "
        "instead of refusing the request; Codex sends some.",
        "LLAMA_ARG_RESPONSES_SKIP_TOOLS",
        commands=_SERVE,
    ),
    valued(
        "--background-timeout",
        "background_timeout_s",
        integer(0),
        "SECONDS",
        "End a background response that nobody has asked for in so long; 0: never.",
        "LLAMA_ARG_BACKGROUND_TIMEOUT",
        commands=_SERVE,
    ),
    valued(
        "-to --timeout",
        "timeout_s",
        integer(1),
        "SECONDS",
        "Close a connection that sends nothing, or does not read its answer, for this "
        "long; a request must have arrived with all its headers in this time.",
        "LLAMA_ARG_TIMEOUT",
        commands=_SERVE,
    ),
    valued(
        "--sse-ping-interval",
        "sse_ping_interval_s",
        integer(-1),
        "SECONDS",
        "Send a comment on a silent stream this often; -1: never.",
        "LLAMA_ARG_SSE_PING_INTERVAL",
        commands=_SERVE,
    ),
    valued(
        "--threads-http",
        "threads_http",
        integer(-1, 4096),
        "N",
        "Most requests handled at once, waiting ones included; -1: 128, or more for "
        "many slots. Without --queue-size at least so many that 32 may wait.",
        "LLAMA_ARG_THREADS_HTTP",
        commands=_SERVE,
    ),
    valued(
        "--queue-size",
        "queue_size",
        integer(-1, 4096),
        "N",
        "Most requests waiting for a slot; one more is refused with 429; -1: as many "
        "as --threads-http leaves room for.",
        "LLAMA_ARG_QUEUE_SIZE",
        commands=_SERVE,
    ),
    valued(
        "--max-body-size",
        "max_body_bytes",
        SIZE,
        "BYTES",
        "Largest request body; K, M and G are understood.",
        "LLAMA_ARG_MAX_BODY_SIZE",
        commands=_SERVE,
    ),
    valued(
        "--cors-origins",
        "cors_origins",
        TEXT,
        "ORIGINS",
        "Origins that browsers may call from, comma-separated; *: any, localhost: this "
        "machine's.",
        "LLAMA_ARG_CORS_ORIGINS",
        commands=_SERVE,
    ),
    valued(
        "--cors-methods",
        "cors_methods",
        TEXT,
        "METHODS",
        "Methods that browsers may use.",
        "LLAMA_ARG_CORS_METHODS",
        commands=_SERVE,
    ),
    valued(
        "--cors-headers",
        "cors_headers",
        TEXT,
        "HEADERS",
        "Headers that browsers may send.",
        "LLAMA_ARG_CORS_HEADERS",
        commands=_SERVE,
    ),
    switch(
        "--cors-credentials",
        "cors_credentials",
        "Let browsers send cookies; with origins * any page may.",
        "LLAMA_ARG_CORS_CREDENTIALS",
        negative=("--no-cors-credentials",),
        commands=_SERVE,
    ),
    switch(
        "--slots",
        "slots",
        "Answer GET /slots.",
        "LLAMA_ARG_ENDPOINT_SLOTS",
        negative=("--no-slots",),
        commands=_SERVE,
    ),
    valued(
        "--sleep-idle-seconds",
        "engine.sleep_idle_s",
        integer(1, **{"-1": -1}),
        "SECONDS",
        "Unload the model after so many seconds without work; it is loaded again for "
        "the next request, which waits. -1: never.",
        commands=_SERVE,
    ),
    valued(
        "--slot-save-path",
        "slot_save_path",
        FOLDER,
        "PATH",
        "Folder for POST /slots/{id}?action=save, restore, erase; not given: refuse.",
        "LLAMA_ARG_SLOT_SAVE_PATH",
        commands=_SERVE,
    ),
    switch(
        "--props",
        "props",
        "Allow POST /props.",
        "LLAMA_ARG_ENDPOINT_PROPS",
        commands=_SERVE,
    ),
    switch(
        "--metrics",
        "metrics",
        "Answer GET /metrics in Prometheus text; needs prometheus-client.",
        "LLAMA_ARG_ENDPOINT_METRICS",
        commands=_SERVE,
    ),
    switch(
        "--ui --webui",
        "ui",
        "Serve a web page at /.",
        "LLAMA_ARG_UI",
        negative=("--no-ui", "--no-webui"),
        notice="there is no web page yet",
        notice_for=True,
        commands=_SERVE,
    ),
)

_LOGGING = section(
    "Logging",
    switch(
        "-v --verbose --log-verbose",
        "verbose",
        "Log everything, and add __verbose to replies.",
    ),
    valued(
        "-lv --verbosity --log-verbosity",
        "verbosity",
        integer(0),
        "N",
        "What is logged: 0 nothing, 1 errors, 2 warnings, 3 information, 4 the "
        "library's information, too, 5 everything.",
        "LLAMA_ARG_LOG_VERBOSITY",
    ),
    switch("--log-disable", "log_disable", "Log nothing."),
    switch(
        "--access-log",
        "access_log",
        "Log one line for each request when its answer has ended: status, bytes, "
        "seconds, tokens, how it ended and its id; also with -lv 4.",
        "LLAMA_ARG_ACCESS_LOG",
        negative=("--no-access-log",),
        commands=_SERVE,
    ),
    valued(
        "--log-file",
        "log_file",
        TEXT,
        "FILE",
        "Log to this file, too.",
        "LLAMA_ARG_LOG_FILE",
    ),
    switch(
        "--log-jsonl",
        "log_jsonl",
        "Log one JSON object per line, with type, time (microseconds since the start), "
        "level, msg and logger.",
        "LLAMA_ARG_LOG_JSONL",
        negative=("--no-log-jsonl",),
    ),
    valued(
        "--log-colors",
        "log_colors",
        choice("on", "off", "auto"),
        "WHEN",
        "Colour the log: on, off, or auto for a terminal only.",
        "LLAMA_ARG_LOG_COLORS",
    ),
    switch(
        "--log-prefix",
        "log_prefix",
        "Put level and logger in front of each line.",
        "LLAMA_ARG_LOG_PREFIX",
        negative=("--no-log-prefix",),
    ),
    switch(
        "--log-timestamps",
        "log_timestamps",
        "Put the time in front of each line.",
        "LLAMA_ARG_LOG_TIMESTAMPS",
        negative=("--no-log-timestamps",),
    ),
)

_PROMPT = section(
    "Prompt",
    valued(
        "-p --prompt",
        "prompt",
        TEXT,
        "TEXT",
        "What to answer; not given: read from standard input.",
        commands=_RUN,
    ),
    valued(
        "-f --file",
        "prompt",
        FILE_TEXT,
        "FILE",
        "Read the prompt from a file.",
        commands=_RUN,
    ),
    valued(
        "-sys --system-prompt",
        "system_prompt",
        TEXT,
        "TEXT",
        "System message in front of the prompt.",
        commands=_RUN,
    ),
    switch(
        "--raw",
        "raw",
        "Continue the prompt as it is, without a chat template.",
        commands=_RUN,
    ),
)

FLAGS = (
    *_GENERAL,
    *_PROMPT,
    *MODEL_FLAGS,
    *DEVICE_FLAGS,
    *CONTEXT_FLAGS,
    *GENERATION_FLAGS,
    *SAMPLING_FLAGS,
    *EMBEDDING_FLAGS,
    *_CHAT,
    *_SERVER,
    *STREAM_FLAGS,
    *FAULT_FLAGS,
    *_LOGGING,
)
"""In the order of ``--help`` and docs/cli.md."""
