from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from configuration import (
    choose_backends,
    compiler_flags,
    configure_flags,
    default_architectures,
    git_label_script,
    parse_architectures,
    parse_compute_capabilities,
    targets,
)
from pin import BuildError, read_pin


@pytest.mark.parametrize(
    ("asked", "backends"),
    [
        ([], ("cpu",)),
        (["cpu"], ("cpu",)),
        (["cuda"], ("cpu", "cuda")),
        (["vulkan", "cuda"], ("cpu", "cuda", "vulkan")),
        (["vulkan,cuda"], ("cpu", "cuda", "vulkan")),
    ],
)
def test_choose_backends_always_has_the_cpu_first(asked, backends):
    assert choose_backends(asked, "Linux") == backends


def test_choose_backends_names_the_unknown_one_and_the_known():
    with pytest.raises(BuildError, match="unknown backend rocm; known: cpu, cuda"):
        choose_backends(["rocm"], "Linux")


@pytest.mark.parametrize(
    ("backend", "system"), [("metal", "Linux"), ("cuda", "Darwin")]
)
def test_choose_backends_refuses_a_backend_of_another_system(backend, system):
    with pytest.raises(BuildError, match="macOS"):
        choose_backends([backend], system)


@pytest.mark.parametrize(
    ("listing", "architectures"),
    [
        ("9.0\n", ("90",)),
        ("8.6\n9.0\n8.6\n", ("86", "90")),
        ("12.0\n8.9\n", ("89", "120")),
        ("", ()),
        ("No devices were found\n", ()),
    ],
)
def test_parse_compute_capabilities_lists_each_gpu_kind_once(listing, architectures):
    assert parse_compute_capabilities(listing) == architectures


@pytest.mark.parametrize(
    ("text", "architectures"),
    [
        ("90", ("90",)),
        ("sm_90", ("90",)),
        ("9.0", ("90",)),
        ("80,90", ("80", "90")),
        ("75-virtual;90-real", ("75-virtual", "90-real")),
        ("120a-real", ("120a-real",)),
        ("12.0", ("120",)),
        ("90 90", ("90",)),
    ],
)
def test_parse_architectures_understands_every_spelling(text, architectures):
    assert parse_architectures(text) == architectures


@pytest.mark.parametrize("text", ["hopper", "9", "90-fast", "-DX=1", ""])
def test_parse_architectures_refuses_what_is_none(text):
    with pytest.raises(BuildError, match="--cuda-arch"):
        parse_architectures(text)


def test_default_architectures_leave_out_what_an_older_toolkit_lacks():
    pin = read_pin()
    assert default_architectures(pin, (13, 0)) == pin.cuda_architectures
    assert "120a-real" not in default_architectures(pin, (12, 4))
    assert "90-real" not in default_architectures(pin, (11, 4))


def flags_of(*backends: str, peers: bool = False, **more) -> tuple[str, ...]:
    pin = read_pin()
    return configure_flags(pin, backends, peers=peers, system="Linux", **more)


def test_configure_flags_name_each_variable_once():
    names = [flag.partition("=")[0] for flag in flags_of("cpu", "cuda", peers=True)]
    assert len(names) == len(set(names))


def test_configure_flags_leave_the_programs_out_unless_asked():
    assert "-DLLAMA_BUILD_SERVER=OFF" in flags_of("cpu")
    assert "-DLLAMA_BUILD_SERVER=ON" in flags_of("cpu", peers=True)


def test_configure_flags_never_fetch_a_web_page():
    flags = flags_of("cpu", peers=True)
    assert "-DLLAMA_BUILD_UI=OFF" in flags
    assert "-DLLAMA_USE_PREBUILT_UI=OFF" in flags


def test_configure_flags_turn_on_only_the_chosen_backends():
    assert "-DGGML_CUDA=ON" in flags_of("cpu", "cuda")
    assert not [flag for flag in flags_of("cpu") if "CUDA" in flag]


def test_configure_flags_look_for_neighbours_in_their_own_folder():
    assert "-DCMAKE_INSTALL_RPATH=$ORIGIN" in flags_of("cpu")


def test_configure_flags_with_cuda_also_look_where_its_wheels_are():
    flags = flags_of("cpu", "cuda", cuda_major=13)
    wanted = "-DCMAKE_INSTALL_RPATH=$ORIGIN;$ORIGIN/../../nvidia/cu13/lib"
    assert wanted in flags


def test_configure_flags_on_macos_use_its_run_path():
    flags = configure_flags(read_pin(), ("cpu",), peers=False, system="Darwin")
    assert "-DCMAKE_INSTALL_RPATH=@loader_path" in flags
    assert "-DGGML_METAL=OFF" in flags


def test_compiler_flags_keep_the_build_machines_paths_out_and_the_users_flags_in():
    flags = compiler_flags("/home/me/src", {"CXXFLAGS": "-O1"}, cuda=True)
    shorten = "-ffile-prefix-map=/home/me/src=llama.cpp"
    assert flags == (
        f"-DCMAKE_C_FLAGS= {shorten}",
        f"-DCMAKE_CXX_FLAGS=-O1 {shorten}",
        f"-DCMAKE_CUDA_FLAGS= -Xcompiler={shorten}",
    )


def test_compiler_flags_name_cuda_only_when_it_is_built():
    assert not [f for f in compiler_flags("/src", {}, cuda=False) if "CUDA" in f]


def test_targets_include_the_programs_only_with_peers():
    assert "llama-server" not in targets(peers=False)
    assert "llama-server" in targets(peers=True)
    assert {"ggml", "llama", "mtmd"} <= set(targets(peers=False))


def test_git_label_script_answers_with_the_label(tmp_path: Path):
    script = tmp_path / "git"
    script.write_text(git_label_script("b11549"))
    script.chmod(0o755)

    def ask(*words: str) -> str:
        return subprocess.run(
            [script, *words], check=True, capture_output=True, text=True, timeout=10
        ).stdout.strip()

    assert ask("rev-parse", "--short", "HEAD") == "b11549"
    assert ask("rev-list", "--count", "HEAD") == "11549"
    assert ask("diff-index", "--quiet", "HEAD") == ""


def test_git_label_script_cannot_run_a_command_out_of_the_label():
    assert "$(" not in git_label_script("b1$(touch x)")
