from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest
from pin import BuildError
from toolchain import find_toolchain, measure_abi

TOOLS = {
    "cc": "gcc 12.2",
    "c++": "g++ 12.2",
    "cmake": "cmake version 3.25.1",
    "ninja": "1.11",
    "make": "GNU Make",
}


@pytest.fixture
def tools(tmp_path: Path, monkeypatch):
    """Return a function that makes a lookup for fake programs."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("CXX", raising=False)

    def make(**changes: str | None):
        programs = {**TOOLS, **{k.replace("cxx", "c++"): v for k, v in changes.items()}}
        for name, says in programs.items():
            if says is not None:
                path = tmp_path / name
                path.write_text(f"#!/bin/sh\necho '{says}'\n")
                path.chmod(path.stat().st_mode | stat.S_IXUSR)
        present = {name for name, says in programs.items() if says is not None}
        return lambda name: str(tmp_path / name) if name in present else None

    return make


def test_find_toolchain_prefers_ninja(tools):
    found = find_toolchain(tools())
    assert found.generator == "Ninja"
    assert found.cmake_version == "3.25.1"
    assert found.compiler_version == "gcc 12.2"


def test_find_toolchain_takes_make_without_ninja(tools):
    assert find_toolchain(tools(ninja=None)).generator == "Unix Makefiles"


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ({"cc": None}, "no C compiler found.*\n.*apt install build-essential"),
        ({"cxx": None}, r"no C\+\+ compiler found.*\n.*apt install build-essential"),
        ({"cmake": None}, "cmake is not installed.\n.*pip install cmake"),
        ({"cmake": "cmake version 3.10.2"}, "cmake 3.10.2 is too old: 3.18"),
        ({"ninja": None, "make": None}, "neither ninja nor make.*\n.*pip install"),
    ],
)
def test_find_toolchain_says_what_is_missing_and_how_to_get_it(tools, missing, message):
    with pytest.raises(BuildError, match=message):
        find_toolchain(tools(**missing))


def test_find_toolchain_names_the_variable_that_points_nowhere(tools, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(BuildError, match="CC=no-such-compiler"):
        find_toolchain(tools())


def fake_headers(folder: Path, struct: str) -> Path:
    (folder / "include").mkdir()
    text = f"struct llama_context_params {{ {struct} }};\n"
    (folder / "include" / "llama.h").write_text(text)
    return folder


needs_compiler = pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")


@needs_compiler
def test_measure_abi_is_the_size_of_the_context_parameters(tmp_path: Path):
    source = fake_headers(tmp_path, "char filler[168];")
    assert measure_abi(source, "cc") == "168"


@needs_compiler
def test_measure_abi_shows_the_compilers_words(tmp_path: Path):
    source = fake_headers(tmp_path, "no_such_type x;")
    with pytest.raises(BuildError, match="no_such_type"):
        measure_abi(source, "cc")
