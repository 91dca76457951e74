"""Settings of the model, its template and adapters, and the script for bash."""

from __future__ import annotations

import subprocess

import pytest

from api.hub import HubModel
from api.serving.bootstrap import check_extras
from api.settings import Settings, SettingsError
from api.settings.bash_completion import bash_completion
from api.settings.escapes import unescaped
from tests.api.test_settings import refusal, settings

# -- where the model comes from --------------------------------------------------------


def test_repository_file_and_token_name_one_model_of_a_hub() -> None:
    model = settings("-hf u/m:Q8_0 -hff m.gguf --offline", HF_TOKEN="t").hub_model
    assert model == HubModel("u/m", "Q8_0", "m.gguf", "t", is_offline=True)
    assert settings("-m m.gguf").hub_model is None


def test_model_of_the_command_line_replaces_the_one_of_the_environment() -> None:
    given = settings("-hf u/m", LLAMA_ARG_MODEL="m.gguf")
    assert (given.model, str(given.hub_model)) == ("", "u/m")
    given = settings("-m m.gguf", LLAMA_ARG_HF_REPO="u/m", LLAMA_ARG_HF_FILE="f")
    assert (given.model, given.hub_model) == ("m.gguf", None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-hf u/m -m m.gguf", "--model m.gguf and --hf-repo u/m name two models"),
        ("-hff m.gguf", "--hf-file names a file of a repository"),
        ("-hf m", "-hf 'm' is not valid: expected user/model, or user/model:TAG"),
    ],
)
def test_flags_that_name_no_single_model_are_refused(words: str, message: str) -> None:
    assert message in refusal(words)


def test_repository_without_the_package_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"llamactypes\[hub\]"):
        check_extras(settings("-hf u/m"))


# -- metadata and placement ------------------------------------------------------------


def test_metadata_is_overridden_with_its_type() -> None:
    words = "--override-kv a.b=int:-7,c=bool:false --override-kv d=float:0.5,e=str:x:y"
    assert settings(words).engine.metadata_overrides == (
        ("a.b", -7),
        ("c", False),
        ("d", 0.5),
        ("e", "x:y"),
    )


def test_placements_add_up_in_their_order() -> None:
    words = r"-ot blk\.1\.=CUDA0,x=CPU -ncmoe 2 -cmoe -ncffn 1"
    experts = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
    assert settings(words).engine.tensor_placement == (
        (r"blk\.1\.", "CUDA0"),
        ("x", "CPU"),
        (rf"blk\.0{experts}", "CPU"),
        (rf"blk\.1{experts}", "CPU"),
        (experts, "CPU"),
        (r"blk\.0\.ffn_(up|down|gate)\.", "CPU"),
    )
    assert settings(LLAMA_ARG_CPU_MOE="0").engine.tensor_placement == ()


@pytest.mark.parametrize(
    "words",
    ["--override-kv a", "--override-kv a=int:x", "--override-kv a=list:1", "-ot x",
     "--override-kv a=bool:1", "-ot =CPU", "-ncmoe -1", "-ncffn 1001"],
)  # fmt: skip
def test_wrong_override_is_refused(words: str) -> None:
    assert "is not valid: expected" in refusal(words)


# -- escapes, templates, adapters ------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (r"a\nb\r\t", "a\nb\r\t"),
        (r"\'\"\\", "'\"\\"),
        (r"\x41\xc3\xa9\xff", "Aé\ufffd"),
        (r"\d\x4\xzz", r"\d\x4\xzz"),
        ("é\\", "é\\"),
    ],
)
def test_escapes_mean_what_they_mean_to_the_peer(text: str, meaning: str) -> None:
    assert unescaped(text) == meaning


def test_stop_sequences_and_breakers_are_unescaped_unless_told_otherwise() -> None:
    words = r"-r \n\n --dry-sequence-breaker \t"
    given = settings(words)
    assert given.reverse_prompts == ("\n\n",)
    assert given.sampling.dry_sequence_breakers == ("\t",)
    plain = settings(f"--no-escape {words}")
    assert plain.reverse_prompts == (r"\n\n",)
    assert plain.sampling.dry_sequence_breakers == (r"\t",)


def test_reasoning_flags_are_variables_of_the_template() -> None:
    words = ["--chat-template-kwargs", '{"a": 1, "enable_thinking": true}']
    given = Settings.from_arguments([*words, "-rea", "off"], {})
    assert given.chat_template_kwargs == {"a": 1, "enable_thinking": False}
    assert settings("-rea on --reasoning-effort low").chat_template_kwargs == {
        "enable_thinking": True,
        "reasoning_effort": "low",
    }
    assert settings("-rea auto --reasoning-effort default").chat_template_kwargs == {}
    assert settings("--reasoning-effort none").chat_template_kwargs == {
        "enable_thinking": False
    }
    assert settings("--no-reasoning-preserve").chat_template_kwargs == {
        "preserve_reasoning": False
    }


def test_adapters_may_be_loaded_without_being_applied() -> None:
    given = settings("--lora a --lora-scaled b:0.5 --lora-init-without-apply")
    assert given.engine.lora == (("a", 0.0), ("b", 0.0))


# -- completion ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["llamactypes", "se"], ["serve"]),
        (["llamactypes", "serve", "--ctx-s"], ["--ctx-size"]),
        (["llamactypes", "run", "--por"], []),
        (["llamactypes", "doctor", "--l"], ["--library"]),
    ],
)
def test_completion_script_completes(words: list[str], found: list[str]) -> None:
    script = f"""{bash_completion()}
        COMP_WORDS=({" ".join(words)}) COMP_CWORD={len(words) - 1}
        _llamactypes; printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=20, check=True
    )
    assert done.stderr == ""
    assert done.stdout.split() == found


def test_control_vectors_and_their_layers_are_read() -> None:
    given = settings(
        "--control-vector a --control-vector-scaled b:-2 "
        "--control-vector-layer-range 3 9 -c 5"
    )
    assert given.engine.control_vectors == (("a", 1.0), ("b", -2.0))
    assert given.engine.control_vector_layers == (3, 9)
    assert given.engine.n_ctx == 5


@pytest.mark.parametrize("layers", ["3", "0 2", "4 3", "a b"])
def test_layer_range_that_is_none_is_refused(layers: str) -> None:
    message = refusal(f"--control-vector-layer-range {layers}")
    assert "two layers, the first one from 1 on" in message
