from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import build_libllama
import pytest
from cuda_toolkit import CudaToolkit
from fetch_upstream import Source
from pin import BuildError, read_pin
from toolchain import Toolchain

TOOLS = Toolchain("/cc", "/c++", "cc 12", "/cmake", "3.25.1", "Ninja")
TOOLKIT = CudaToolkit(Path("/cuda"), Path("/cuda/bin/nvcc"), (13, 0))


def make_build(tmp_path: Path, **changes) -> build_libllama.Build:
    build = build_libllama.Build(
        pin=read_pin(),
        source=Source(tmp_path, "sdist x==1", "b11549", read_pin().sdist.sha256),
        tools=TOOLS,
        backends=("cpu",),
        architectures=(),
        cuda_toolkit="",
        flags=("-DA=1", "-DCUDAToolkit_ROOT=/home/me/cuda"),
        abi="168",
        folder=tmp_path / "tree",
        output=tmp_path / "lib",
        peers=None,
        jobs=1,
    )
    return dataclasses.replace(build, **changes)


def test_facts_name_build_source_flags_and_tools(tmp_path: Path):
    facts = build_libllama.facts_of(make_build(tmp_path))
    assert facts["build"] == "b11549"
    assert facts["abi"] == "168"
    assert facts["backends"] == ["cpu"]
    assert facts["cmake_flags"] == ["-DA=1"]
    assert facts["compiler"] == "cc 12"
    assert facts["cmake"] == "3.25.1"
    assert facts["source_is_pinned"] is True


def test_facts_say_when_the_source_is_another_one(tmp_path: Path):
    other = Source(tmp_path, f"folder {tmp_path}", "x-local", "")
    facts = build_libllama.facts_of(make_build(tmp_path, source=other))
    assert facts["source_is_pinned"] is False


@pytest.mark.parametrize("abi", ["168", "160"])
def test_both_layouts_of_the_bindings_can_be_built(abi, tmp_path):
    build = make_build(tmp_path)
    assert build_libllama.require_supported_abi(build.pin, build.source, abi) == abi


def test_another_layout_is_refused_before_it_is_built(tmp_path: Path):
    build = make_build(tmp_path)
    with pytest.raises(
        BuildError, match="layout 144; the bindings support 160 and 168"
    ):
        build_libllama.require_supported_abi(build.pin, build.source, "144")


@pytest.mark.parametrize(
    ("asked", "smi", "architectures"),
    [
        ("sm_80", "9.0\n", ("80",)),
        (None, "9.0\n", ("90",)),
        (None, "", read_pin().cuda_architectures),
    ],
)
def test_architectures_are_asked_for_or_detected_or_listed(
    asked, smi, architectures, monkeypatch
):
    monkeypatch.setattr(build_libllama, "detect_architectures", lambda: smi)
    found = build_libllama.choose_architectures(asked, read_pin(), TOOLKIT)
    assert found == architectures


def options_of(*arguments: str):
    return build_libllama._parser().parse_args(arguments)


def test_programs_are_built_only_when_asked_for(tmp_path: Path):
    assert build_libllama.peers_folder(options_of()) is None
    default = build_libllama.peers_folder(options_of("--with-peers"))
    assert default is not None
    assert default.name == "peers"
    asked = options_of("--peers-dir", str(tmp_path))
    assert build_libllama.peers_folder(asked) == tmp_path


@pytest.mark.parametrize("jobs", ["0", "-1", "many"])
def test_jobs_must_be_a_positive_number(jobs, capsys):
    with pytest.raises(SystemExit):
        options_of("--jobs", jobs)
    assert "--jobs" in capsys.readouterr().err


def test_build_tree_of_another_source_is_noticed(tmp_path: Path):
    build = make_build(tmp_path)
    build.folder.mkdir()
    cache = build.folder / "CMakeCache.txt"
    same = f"CMAKE_HOME_DIRECTORY:INTERNAL={tmp_path}\nCMAKE_GENERATOR:INTERNAL=Ninja\n"
    cache.write_text(same)
    assert not build_libllama._belongs_to_another_source(build)
    cache.write_text(same.replace(str(tmp_path), "/elsewhere"))
    assert build_libllama._belongs_to_another_source(build)
    cache.write_text(same.replace("Ninja", "Unix Makefiles"))
    assert build_libllama._belongs_to_another_source(build)


def test_main_reports_an_unknown_backend_without_a_traceback(capsys):
    assert build_libllama.main(["--backend", "abacus"]) == 1
    assert "unknown backend abacus" in capsys.readouterr().err


@pytest.mark.skipif(
    not all(map(shutil.which, ("cc", "c++", "cmake"))), reason="needs build tools"
)
def test_main_reports_a_source_that_is_none(tmp_path: Path, capsys):
    assert build_libllama.main(["--source", str(tmp_path)]) == 1
    assert "not a llama.cpp source tree" in capsys.readouterr().err


@pytest.mark.parametrize("wrapper", ["build_cpu.sh", "build_cuda.sh"])
def test_wrappers_are_executable(wrapper: str):
    path = Path(build_libllama.__file__).with_name(wrapper)
    assert path.stat().st_mode & 0o111
