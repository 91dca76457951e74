"""Everything a person can choose, as one frozen value."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from api.hub.choice import HubModel
from api.settings.arguments import Values, read_arguments, read_environment
from api.settings.demo_model import find_demo_model
from api.settings.escapes import unescaped
from api.settings.flags import SettingsError
from api.settings.vertex import Vertex, read_vertex
from api.streams.limits import StreamLimits
from api.streams.stores.place import directory_of
from llamactypes.constraints.output_form import OutputForm
from llamactypes.engine.config import EngineConfig
from llamactypes.errors import ContextError
from llamactypes.sampling_params import SamplingParams

__all__ = ("Settings", "SettingsError")

_SPARE_THREADS = 8
"""Workers beyond all generations: /health, cancelling and refusals always find one."""
_DEFAULT_THREADS = 128
_DEFAULT_PORT = 8080
_LEAST_QUEUE = 32
"""Requests that may wait however few workers are asked for: llama-server's line has no
end, and --threads-http 4 is nothing unusual there."""
_MODEL_SOURCES = ("model", "hf_repo", "hf_file", "demo")
"""A command line with one of them replaces all that the environment says of them."""
_ORPHAN_SLACK_S = 5.0
"""The engine's backstop comes after the server's own limit for silent clients."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the server and of ``run``; docs/cli.md explains each flag."""

    # -- what to load --
    model: str = ""
    demo: bool = False
    hf_repo: HubModel | None = None
    hf_file: str = ""
    hf_token: str | None = field(default=None, repr=False)
    offline: bool = False
    engine: EngineConfig = field(default_factory=lambda: EngineConfig(model_path=""))
    """`EngineConfig.model_path` and `queue_size` are filled in by `from_values`."""
    model_alias: tuple[str, ...] = ()
    model_tags: tuple[str, ...] = ()

    # -- generation defaults --
    lora_init_without_apply: bool = False
    sampling: SamplingParams = field(default_factory=SamplingParams)
    n_predict: int = -1
    n_keep: int = 0
    reverse_prompts: tuple[str, ...] = ()
    form: OutputForm | None = None
    """What answers look like when a request asks for nothing; None: as they come."""
    escape: bool = True
    """Whether ``\\n`` and the like in stop sequences and breakers mean something."""
    special: bool = False
    ignore_eos: bool = False
    cache_prompt: bool = True
    n_cache_reuse: int = 0

    # -- embeddings and infill --
    embd_normalize: int = 2
    spm_infill: bool = False

    # -- chat --
    jinja: bool = True
    chat_template: str | None = None
    """Jinja2 text, or the name of one of the model's templates or of a built-in one;
    None: the model's default."""
    chat_template_kwargs: Mapping[str, object] = field(default_factory=dict)
    prefill_assistant: bool = True
    reasoning: str = "auto"
    """Whether the template should let the model think: "on", "off" or "auto"."""
    reasoning_effort: str = "default"
    """What the template should ask for; "default": its own."""
    reasoning_preserve: bool = True
    """Whether the template should keep the thinking of earlier turns."""
    parse_special_content: bool = False
    """Whether text in messages that spells a control token is that token."""
    reasoning_format: str = "auto"
    """Where thinking goes in replies."""
    skip_chat_parsing: bool = False
    reasoning_budget: int = -1
    """Most tokens of thinking; -1: no limit; 0: no thinking."""
    reasoning_budget_message: str = ""
    """Written before the end of thinking that is too long."""

    # -- server --
    hosts: tuple[str, ...] = ("127.0.0.1",)
    port: int = _DEFAULT_PORT
    vertex: Vertex | None = None
    """Vertex AI's routes; None: not in its prediction mode."""
    reuse_port: bool = False
    api_prefix: str = ""
    """Starts with / and does not end with one, or is empty."""
    api_keys: tuple[str, ...] = ()
    key_concurrency: int = 0
    """Most generations of one API key at a time; 0: no limit."""
    timeout_s: int = 60
    write_stall_s: float = 60.0
    """A client that reads nothing for this long is dropped; not given: `timeout_s`."""
    sse_ping_interval_s: int = 30
    """-1 and 0: never."""
    threads_http: int = -1
    queue_size: int = -1
    max_body_bytes: int = 64 << 20
    shutdown_timeout_s: float = 30.0
    exit_on_failure: bool = False
    """End the process when the engine has failed."""
    responses_store: int = 1000
    """Responses of ``/v1/responses`` that are kept; 0: none."""
    responses_store_mib: int = 64
    responses_store_age_s: int = 86400
    """0: no limit."""
    responses_skip_tools: bool = False
    """Leave out tools that are no functions, instead of refusing the request."""
    background_timeout_s: float = 600.0
    """A background response nobody asks for ends after this; 0: never."""
    stream_store: str = "memory"
    """Or ``file:DIRECTORY``, or the URL of a Redis server."""
    stream_continue: bool = False
    """Go on with generations that a server before this one did not finish."""
    stream_ring_kib: int = 4096
    stream_keep_s: float = 300.0
    stream_gc_s: float = 60.0
    stream_orphan_s: float = 600.0
    """A resumable generation that nobody reads ends after this; 0: never."""
    stream_sessions: int = 64
    """Most resumable generations of one API key at a time."""
    stream_memory_mib: int = 512
    """Of all resumable streams of one API key."""
    cors_origins: str = "*"
    cors_methods: str = "GET, POST, DELETE, OPTIONS"
    cors_headers: str = "*"
    cors_credentials: bool = False
    slots: bool = True
    slot_save_path: str | None = None
    props: bool = False
    metrics: bool = False
    ui: bool = False

    # -- logging --
    verbose: bool = False
    verbosity: int = 3
    log_disable: bool = False
    access_log: bool = False
    log_file: str | None = None
    log_colors: str = "auto"
    log_prefix: bool = False
    log_timestamps: bool = False
    log_jsonl: bool = False

    # -- only for ``run`` --
    prompt: str | None = None
    system_prompt: str = ""
    raw: bool = False

    # -- actions instead of serving --
    help: bool = False
    version: bool = False
    list_devices: bool = False
    cache_list: bool = False
    completion_bash: bool = False

    notices: tuple[str, ...] = ()
    """Lines about flags and variables that change nothing."""

    @staticmethod
    def from_environment(environment: Mapping[str, str] | None = None) -> Settings:
        """Return the settings that the environment alone describes.

        Raises:
            SettingsError: A variable cannot be used; the message names it.
        """
        given = os.environ if environment is None else environment
        settings = Settings.from_values(read_environment(given))
        return settings._with_vertex(read_vertex(given))

    @staticmethod
    def from_arguments(
        arguments: Sequence[str],
        environment: Mapping[str, str] | None = None,
        command: str = "serve",
    ) -> Settings:
        """Return the settings of a command line over those of the environment.

        Raises:
            SettingsError: A flag or a variable cannot be used; the message names it.
        """
        given = os.environ if environment is None else environment
        below = read_environment(given, command)
        above = read_arguments(arguments, command)
        if not above.given.keys().isdisjoint(_MODEL_SOURCES):
            for name in _MODEL_SOURCES:
                below.given.pop(name, None)
        settings = Settings.from_values(below.overlaid(above))
        return settings._with_vertex(read_vertex(given))

    def _with_vertex(self, vertex: Vertex | None) -> Settings:
        """Let Vertex AI choose the port, as llama-server does."""
        if vertex is None:
            return self
        notices = self.notices
        if self.port not in (_DEFAULT_PORT, vertex.port):
            notices += (f"--port {self.port} gives way to AIP_HTTP_PORT {vertex.port}",)
        return dataclasses.replace(
            self, vertex=vertex, port=vertex.port, notices=notices
        )

    @staticmethod
    def from_values(values: Values) -> Settings:
        """Return the settings that `values` describe, derived ones included."""
        given: dict[str, Any] = dict(values.given)
        keys_in_file: Any = given.pop("api_key_file", ())
        engine = _nested("engine", given)
        sampling = _nested("sampling", given)
        settings = dataclasses.replace(
            Settings(), **given, notices=tuple(values.notices)
        )
        _check_model_source(settings)
        api_keys = settings.api_keys + tuple(keys_in_file)
        if settings.key_concurrency and not api_keys:
            raise SettingsError(
                "--key-concurrency counts by API key, and there is none: add --api-key "
                "or --api-key-file, or limit all together by --queue-size"
            )
        _check_streams(settings)
        if settings.escape:
            _unescape(sampling, "dry_sequence_breakers")
        return dataclasses.replace(
            settings,
            sampling=dataclasses.replace(SamplingParams(), **sampling),
            reverse_prompts=_stops(settings),
            chat_template_kwargs=_template_variables(settings),
            api_keys=api_keys,
            api_prefix=_clean_prefix(settings.api_prefix),
            write_stall_s=given.get("write_stall_s", float(settings.timeout_s)),
        )._with_engine(engine)

    def _with_engine(self, given: Mapping[str, Any]) -> Settings:
        """Fill in the engine's configuration with what depends on other settings."""
        path = self.model
        if self.demo and not path and self.hf_repo is None:
            path = find_demo_model()
        engine = EngineConfig(**{**_threads_chosen(given), "model_path": path})
        if self.lora_init_without_apply:
            unapplied = tuple((adapter, 0.0) for adapter, _ in engine.lora)
            engine = dataclasses.replace(engine, lora=unapplied)
        if engine.n_parallel == 0:
            raise SettingsError("--parallel 0: give 1 or more, or -1 to choose")
        try:
            engine = engine.resolved()
        except ContextError as error:
            raise SettingsError(str(error)) from None
        if engine.deterministic and self.slot_save_path is not None:
            raise SettingsError(
                "--deterministic cannot restore slots: what a file holds was computed "
                "in other company; leave out --slot-save-path"
            )
        workers = _n_workers(self, engine.n_slots)
        room = workers - _SPARE_THREADS - engine.n_slots
        queue = room if self.queue_size < 0 else min(self.queue_size, room)
        orphan_s = max(self.timeout_s, self.write_stall_s) + _ORPHAN_SLACK_S
        return dataclasses.replace(
            self,
            notices=self.notices + _shortened(self, queue),
            engine=dataclasses.replace(
                engine, queue_size=queue, orphan_timeout_s=orphan_s
            ),
        )

    @property
    def hub_model(self) -> HubModel | None:
        """What to fetch from a hub; None: the model is a file."""
        if self.hf_repo is None:
            return None
        return dataclasses.replace(
            self.hf_repo,
            file=self.hf_file,
            token=self.hf_token,
            is_offline=self.offline,
        )

    @property
    def stream_limits(self) -> StreamLimits:
        """How much of resumable streams is kept; half of the workers may follow."""
        return StreamLimits(
            ring_bytes=self.stream_ring_kib << 10,
            keep_s=self.stream_keep_s,
            sweep_s=self.stream_gc_s,
            orphan_s=self.stream_orphan_s,
            n_live=self.stream_sessions,
            n_bytes=self.stream_memory_mib << 20,
            n_followers=max(1, self.n_http_threads // 2),
        )

    @property
    def n_http_threads(self) -> int:
        """Worker threads, so that all slots and the whole queue leave some free."""
        return _n_workers(self, self.engine.n_slots)


def _check_model_source(settings: Settings) -> None:
    """Refuse flags that name two models, or half of one."""
    if settings.hf_repo is not None and settings.model:
        raise SettingsError(
            f"--model {settings.model} and --hf-repo {settings.hf_repo} name two "
            "models; give one of them"
        )
    if settings.hf_file and settings.hf_repo is None:
        raise SettingsError(
            "--hf-file names a file of a repository; give that by --hf-repo, or a "
            "local file by --model"
        )


def _check_streams(settings: Settings) -> None:
    """Refuse a limit under which no stream could be resumable."""
    limits = settings.stream_limits
    if 2 * limits.ring_bytes > limits.n_bytes:
        raise SettingsError(
            f"--stream-memory-mib {settings.stream_memory_mib} has no room for two "
            f"streams of --stream-ring-kib {settings.stream_ring_kib}: raise the one "
            "or lower the other"
        )
    if settings.stream_continue and directory_of(settings.stream_store) is None:
        raise SettingsError(
            "--stream-continue needs --stream-store file:DIRECTORY: elsewhere nothing "
            "is left to go on with"
        )


def _unescape(given: dict[str, Any], name: str) -> None:
    if name in given:
        given[name] = tuple(map(unescaped, given[name]))


def _stops(settings: Settings) -> tuple[str, ...]:
    stops = settings.reverse_prompts
    return tuple(map(unescaped, stops)) if settings.escape else stops


def _template_variables(settings: Settings) -> Mapping[str, object]:
    """Return the template's variables; flags of their own win over the JSON."""
    variables = dict(settings.chat_template_kwargs)
    if settings.reasoning_effort == "none":
        variables["enable_thinking"] = False
    elif settings.reasoning_effort != "default":
        variables["reasoning_effort"] = settings.reasoning_effort
    if not settings.reasoning_preserve:
        variables["preserve_reasoning"] = False
    if settings.reasoning != "auto":
        variables["enable_thinking"] = settings.reasoning == "on"
    return variables


def _n_workers(settings: Settings, n_slots: int) -> int:
    if settings.threads_http > 0:
        wanted = settings.threads_http
        if settings.queue_size < 0:
            wanted = max(wanted, n_slots + _LEAST_QUEUE + _SPARE_THREADS)
    elif settings.queue_size >= 0:
        wanted = n_slots + settings.queue_size + _SPARE_THREADS
    else:
        wanted = max(_DEFAULT_THREADS, 2 * n_slots + _SPARE_THREADS)
    return max(wanted, n_slots + _SPARE_THREADS)


def _shortened(settings: Settings, queue: int) -> tuple[str, ...]:
    """Return what to say when the queue is shorter than asked for."""
    if queue >= settings.queue_size:
        return ()
    return (
        f"--queue-size is {queue}, not {settings.queue_size}: --threads-http "
        f"{settings.threads_http} leaves no worker for more",
    )


def _nested(prefix: str, given: dict[str, Any]) -> dict[str, Any]:
    """Take the settings named ``prefix.…`` out of `given`."""
    names = [name for name in given if name.startswith(prefix + ".")]
    return {name.removeprefix(prefix + "."): given.pop(name) for name in names}


def _threads_chosen(engine: Mapping[str, Any]) -> dict[str, Any]:
    """Turn thread counts of 0 and below into "not chosen"."""
    chosen = dict(engine)
    for name in ("n_threads", "n_threads_batch"):
        if name in chosen and chosen[name] < 1:
            del chosen[name]
    return chosen


def _clean_prefix(prefix: str) -> str:
    stripped = prefix.strip("/")
    return "/" + stripped if stripped else ""
