"""Settings: precedence, spelling, refusals, and what is derived."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from api.settings import Settings, SettingsError
from api.settings.demo_model import DEMO_COMMAND
from api.settings.flag_table import FLAGS
from api.settings.flags import Flag
from api.settings.help_text import cli_page, default_text, flag_help
from llamactypes.engine.config import EngineConfig
from llamactypes.sampling_params import SamplingParams

ROOT = Path(__file__).resolve().parents[2]


def settings(words: str = "", **environment: str) -> Settings:
    return Settings.from_arguments(words.split(), environment)


def refusal(words: str = "", command: str = "serve", **environment: str) -> str:
    with pytest.raises(SettingsError) as caught:
        Settings.from_arguments(words.split(), environment, command)
    return str(caught.value)


# -- precedence and spelling -----------------------------------------------------------


def test_defaults_are_those_of_the_dataclasses() -> None:
    assert settings().sampling == SamplingParams()
    given = settings().engine
    derived = {"queue_size": given.queue_size, "orphan_timeout_s": 65.0}
    assert given == EngineConfig(model_path="", **derived)


def test_command_line_wins_over_environment_over_default() -> None:
    assert settings().port == 8080
    assert settings(LLAMA_ARG_PORT="81").port == 81
    assert settings("--port 82", LLAMA_ARG_PORT="81").port == 82


def test_last_of_repeated_flags_wins() -> None:
    assert settings("-c 1 --ctx-size 2 -c 3").engine.n_ctx == 3
    assert not settings("--jinja --no-jinja").jinja
    assert settings("--mmap --load-mode none --mlock").engine.use_mlock


def test_underscores_and_equals_signs_are_understood() -> None:
    assert settings("--ctx_size=512").engine.n_ctx == 512
    assert settings("--no_slots").slots is False


@pytest.mark.parametrize("word", ["true", "1", "on", "enabled", "ON"])
def test_boolean_variable_turns_a_switch_on(word: str) -> None:
    assert settings(LLAMA_ARG_CONTEXT_SHIFT=word).engine.context_shift


@pytest.mark.parametrize("word", ["false", "0", "off", "disabled"])
def test_boolean_variable_turns_a_switch_off(word: str) -> None:
    assert not settings(LLAMA_ARG_JINJA=word).jinja


def test_negated_variable_wins_over_its_positive() -> None:
    given = settings(LLAMA_ARG_JINJA="1", LLAMA_ARG_NO_JINJA="1")
    assert not given.jinja


def test_empty_variable_is_not_set() -> None:
    assert settings(LLAMA_ARG_PORT="").port == 8080


def test_lists_are_split_at_commas() -> None:
    given = settings("--alias a,b --host 127.0.0.1,::1 --api-key k1,k2 --tags x")
    assert given.model_alias == ("a", "b")
    assert given.hosts == ("127.0.0.1", "::1")
    assert given.api_keys == ("k1", "k2")
    assert given.model_tags == ("x",)


def test_repeated_collecting_flags_add_up_and_replace_the_environment() -> None:
    assert settings("-r A -r B,C").reverse_prompts == ("A", "B,C")
    assert settings("--api-key a --api-key b", LLAMA_API_KEY="c").api_keys == ("a", "b")
    assert settings("-l 5+1 -l 6-2.5").sampling.logit_bias == ((5, 1.0), (6, -2.5))
    assert settings("--lora a.gguf,b.gguf --lora-scaled c:0.5").engine.lora == (
        ("a.gguf", 1.0),
        ("b.gguf", 1.0),
        ("c", 0.5),
    )


def test_sequence_breakers_replace_the_default_ones() -> None:
    given = settings("--dry-sequence-breaker x --dry-sequence-breaker \\n")
    assert given.sampling.dry_sequence_breakers == ("x", "\n")
    none = settings("--dry-sequence-breaker x --dry-sequence-breaker none")
    assert none.sampling.dry_sequence_breakers == ()


# -- values ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ("-ngl auto", "n_gpu_layers", None),
        ("-ngl all", "n_gpu_layers", -1),
        ("--n-gpu-layers 7", "n_gpu_layers", 7),
        ("-fa 1", "flash_attn", "on"),
        ("-fa off", "flash_attn", "off"),
        ("-ts 3,1", "tensor_split", (3.0, 1.0)),
        ("--rope-scale 4", "rope_freq_scale", 0.25),
        ("-t -1", "n_threads", None),
        ("-t auto", "n_threads", None),
        ("-t 3 -tb auto", "n_threads_batch", None),
        ("-t 3", "n_threads", 3),
        ("-nkvo", "offload_kqv", False),
        ("-lm mmap+mlock", "use_mlock", True),
        ("-lm mlock", "use_mmap", False),
        ("-no-kvu", "kv_unified", False),
    ],
)
def test_engine_flag_sets_its_field(words: str, name: str, value: object) -> None:
    assert getattr(settings(words).engine, name) == value


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        ("-s -1", "seed", 2**32 - 1),
        ("--seed 42", "seed", 42),
        ("--temp 0.5", "temperature", 0.5),
        ("--samplers top-k;temp;minp", "samplers", ("top_k", "temperature", "min_p")),
        ("--sampler-seq ekt", "samplers", ("penalties", "top_k", "temperature")),
        ("-l 3-inf", "logit_bias", ((3, float("-inf")),)),
        ("--mirostat-lr 0.2", "mirostat_eta", 0.2),
        ("--dynatemp-exp 2", "dynatemp_exponent", 2.0),
    ],
)
def test_sampling_flag_sets_its_field(words: str, name: str, value: object) -> None:
    assert getattr(settings(words).sampling, name) == value


def test_files_are_read(tmp_path: Path) -> None:
    template = tmp_path / "t.jinja"
    template.write_text("{{ messages }}")
    keys = tmp_path / "keys"
    keys.write_text("# ours\nk1\n\n k2 \n")
    given = settings(
        f"--chat-template-file {template} --api-key-file {keys} --api-key k0"
    )
    assert given.chat_template == "{{ messages }}"
    assert given.api_keys == ("k0", "k1", "k2")


@pytest.mark.parametrize(
    ("text", "size"), [("10", 10), ("2k", 2048), ("3M", 3 << 20), ("1G", 1 << 30)]
)
def test_sizes_take_units(text: str, size: int) -> None:
    assert settings(f"--max-body-size {text}").max_body_bytes == size


# -- refusals --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "--ctx-sise 3",
            "unknown flag --ctx-sise; did you mean --ctx-size? (see --help)",
        ),
        ("--qqq", "unknown flag --qqq (see --help)"),
        ("model.gguf", "unexpected argument 'model.gguf'"),
        ("--port", "--port needs a value: a whole number within 0 … 65535"),
        ("--port 70000", "--port '70000' is not valid: expected a whole number"),
        ("-np 0.5", "-np '0.5' is not valid"),
        ("--temp nan", "--temp 'nan' is not valid: expected a number"),
        ("-ctk q9", "expected one of f32, f16"),
        ("-fa maybe", "expected on, off or auto"),
        ("--sampler-seq z", "expected letters out of"),
        ("--samplers best", "expected names out of"),
        ("-l 5*2", "expected TOKEN+BIAS"),
        ("--jinja=yes", "--jinja takes no value, but got 'yes'"),
        ("--chat-template-kwargs [1]", "expected a JSON object"),
        ("--chat-template-file /none", "cannot read /none: No such file"),
        ("--mmproj x", "--mmproj is not supported: images"),
        ("--no-cont-batching", "--parallel 1 serves one request at a time"),
        ("--max-body-size 0", "--max-body-size '0' is not valid"),
    ],
)
def test_wrong_flag_is_refused_by_name(words: str, message: str) -> None:
    assert message in refusal(words)


def test_wrong_variable_is_refused_by_name() -> None:
    assert refusal(LLAMA_ARG_PORT="x").startswith("LLAMA_ARG_PORT 'x' is not valid")


def test_flags_of_serve_are_unknown_to_run() -> None:
    assert "unknown flag --port" in refusal("--port 1", command="run")
    given = Settings.from_arguments(["-p", "hi"], {"LLAMA_ARG_PORT": "x"}, "run")
    assert given.prompt == "hi"


def test_nested_json_is_refused_not_crashed_on() -> None:
    deep = "[" * 100_000
    assert "expected a JSON object" in refusal(f"--chat-template-kwargs {deep}")


def test_demo_without_its_package_names_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert DEMO_COMMAND in refusal("--demo")


# -- notices ---------------------------------------------------------------------------


def test_flag_without_effect_says_so_only_when_it_matters() -> None:
    assert settings("--no-ui --no-cache-idle-slots --cont-batching").notices == ()
    assert "--ui has no effect" in settings("--ui").notices[0]


def test_unknown_variable_gets_a_notice_with_the_nearest_name() -> None:
    (notice,) = settings(LLAMA_ARG_N_PARALLLEL="2").notices
    assert "did you mean LLAMA_ARG_N_PARALLEL?" in notice


# -- derived settings ------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    ["", "-np 1", "-np 200", "--threads-http 4", "--queue-size 500", "--queue-size 0",
     "--threads-http 20 --queue-size 500", "-np 8 --threads-http 300"],
)  # fmt: skip
def test_workers_always_outnumber_slots_and_queue(words: str) -> None:
    given = settings(words)
    busy = given.engine.n_slots + given.engine.queue_size
    assert given.n_http_threads >= busy + 8
    assert given.engine.queue_size >= 0


def test_queue_size_is_as_asked_when_workers_are_not_limited() -> None:
    assert settings("--queue-size 500").engine.queue_size == 500
    assert settings("--queue-size 500").notices == ()


def test_few_workers_leave_room_for_a_queue_unless_one_is_chosen() -> None:
    assert settings("--threads-http 4 -np 2").engine.queue_size == 32
    assert settings("--threads-http 4 -np 2").n_http_threads == 42
    assert settings("--threads-http 4 -np 2 --queue-size 0").n_http_threads == 10


def test_queue_cut_to_the_workers_is_said() -> None:
    given = settings("--queue-size 500 --threads-http 20 -np 2")
    assert given.engine.queue_size == 10
    assert "--queue-size is 10, not 500" in given.notices[0]


@pytest.mark.parametrize("prefix", ["/v", "v", "/v/", "v/"])
def test_api_prefix_has_one_slash_in_front(prefix: str) -> None:
    assert settings(f"--api-prefix {prefix}").api_prefix == "/v"
    assert settings("--api-prefix /").api_prefix == ""


def test_timeout_sets_the_write_stall_time() -> None:
    assert settings("--timeout 5").write_stall_s == 5.0


# -- the table -------------------------------------------------------------------------


def test_names_and_variables_are_unique() -> None:
    for command in ("serve", "run"):
        flags = [flag for flag in FLAGS if command in flag.commands]
        names = [name for flag in flags for name in flag.names + flag.negative]
        assert len(names) == len(set(names))
    variables = [flag.env for flag in FLAGS if flag.env]
    assert len(variables) == len(set(variables))


def test_deterministic_mode_decides_what_goes_with_it() -> None:
    engine = settings("--deterministic --parallel 2").engine
    assert (engine.is_unified, engine.cache_ram_mib, engine.swa_full) == (
        False,
        0,
        True,
    )
    assert settings(LLAMA_ARG_DETERMINISTIC="1").engine.deterministic


@pytest.mark.parametrize("flag", ["--kv-unified", "--context-shift"])
def test_what_deterministic_mode_cannot_have_is_refused(flag: str) -> None:
    assert f"leave out {flag}" in refusal(f"--deterministic {flag}")


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.title)
def test_flag_sets_something_that_exists(flag: Flag) -> None:
    if flag.setting in ("load_mode", "api_key_file"):
        return
    owner = {"engine": EngineConfig, "sampling": SamplingParams}
    kind, _, name = flag.setting.rpartition(".")
    fields = {field.name for field in dataclasses.fields(owner.get(kind, Settings))}
    assert name in fields
    default_text(flag)


def test_peer_test_harness_flags_are_accepted() -> None:
    given = settings(
        "--port 8080 --temp 0.8 --seed 42 --host 127.0.0.1 --model m.gguf "
        "--batch-size 32 --ubatch-size 32 --threads 1 --n-gpu-layers 3 "
        "--cont-batching --metrics --kv-unified --swa-full --no-slots --alias t "
        "--tags a,b --ctx-size 512 --parallel 2 -ctk f16 -ctv f16 -fa on "
        "--n-predict 64 --verbose --context-shift --api-key k --no-ui --no-jinja "
        "--chat-template chatml --cache-ram 100 --no-cache-idle-slots "
        "--backend_sampling --offline"
    )
    assert given.engine.n_slots == 2
    assert given.n_predict == 64


# -- help and docs ---------------------------------------------------------------------


def test_help_names_every_flag_of_its_command() -> None:
    text = flag_help("serve")
    for flag in FLAGS:
        assert ("serve" in flag.commands) == (f"  {', '.join(flag.names)}" in text)
    assert all(len(line) <= 80 for line in text.splitlines() if "NAME" not in line)


def test_cli_page_is_what_the_flag_table_says() -> None:
    page = (ROOT / "docs/cli.md").read_text("utf-8")
    assert page == cli_page(), (
        "write it anew: python -m api.settings.help_text > docs/cli.md"
    )


def test_no_slots_at_all_is_refused() -> None:
    with pytest.raises(SettingsError, match="--parallel 0"):
        Settings.from_arguments(["-m", "m.gguf", "-np", "0"])
