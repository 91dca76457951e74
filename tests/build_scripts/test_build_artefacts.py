from __future__ import annotations

import datetime
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import artefacts
import pytest
from configuration import library_patterns
from pin import BuildError

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="ELF is Linux's format"),
    pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler"),
]

NOON = datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC)


def compile_library(folder: Path, name: str, soname: str) -> Path:
    """Build one library with the links beside it that CMake makes."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / name
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    command += [f"-Wl,-soname,{soname}"]
    text = "#include <stdio.h>\nvoid f(void) { puts(0); }\n"
    subprocess.run(command, input=text, text=True, check=True, timeout=30)
    for link in {soname, soname.partition(".so.")[0] + ".so"} - {name}:
        (folder / link).symlink_to(name)
    return library


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A build tree's bin folder, with libraries that do not belong in the result."""
    folder = tmp_path / "bin"
    compile_library(folder, "libllama.so.0.6.0", "libllama.so.0")
    compile_library(folder, "libggml-cpu-x64.so", "libggml-cpu-x64.so")
    compile_library(folder, "libllama-common.so.0.6.0", "libllama-common.so.0")
    return folder


@pytest.fixture
def licence(tmp_path: Path) -> Path:
    path = tmp_path / "LICENSE"
    path.write_text("MIT License")
    return path


def test_collect_libraries_takes_each_once_under_its_install_name(built: Path):
    found = artefacts.collect_libraries(built, library_patterns())
    assert sorted(found) == ["libggml-cpu-x64.so", "libllama.so.0"]
    assert found["libllama.so.0"].name == "libllama.so.0.6.0"


def test_collect_libraries_says_when_the_build_left_none(tmp_path: Path):
    with pytest.raises(BuildError, match=r"left no libraries.*--clean"):
        artefacts.collect_libraries(tmp_path, library_patterns())


def test_place_leaves_plain_files_and_the_licence(built, licence, tmp_path):
    output = tmp_path / "lib"
    libraries = artefacts.collect_libraries(built, library_patterns())
    placed = artefacts.place(libraries, output, licence=licence, compiler="cc 1")
    assert sorted(path.name for path in output.iterdir()) == [
        "LICENSE.llama.cpp",
        "libggml-cpu-x64.so",
        "libllama.so.0",
    ]
    assert not any(path.is_symlink() for path in placed.values())


def test_place_removes_an_older_result_and_nothing_else(built, licence, tmp_path):
    output = tmp_path / "lib"
    output.mkdir()
    (output / "README.md").write_text("stays")
    (output / "libggml-cuda.so").write_text("of an older build")
    libraries = artefacts.collect_libraries(built, library_patterns())
    artefacts.place(libraries, output, licence=licence, compiler="cc 1")
    assert (output / "README.md").read_text() == "stays"
    assert not (output / "libggml-cuda.so").exists()


def test_place_replaces_the_file_and_does_not_write_into_it(built, licence, tmp_path):
    output = tmp_path / "lib"
    libraries = artefacts.collect_libraries(built, library_patterns())
    artefacts.place(libraries, output, licence=licence, compiler="cc 1")
    with (output / "libllama.so.0").open("rb") as in_use:
        artefacts.place(libraries, output, licence=licence, compiler="cc 1")
        assert in_use.read(4) == b"\x7fELF"


def test_build_info_describes_every_file(built: Path):
    libraries = artefacts.collect_libraries(built, library_patterns())
    info = artefacts.build_info({"build": "b1"}, libraries, NOON)
    assert info["build"] == "b1"
    assert info["date"] == "2026-11-30T12:00:00+00:00"
    assert info["glibc"].startswith("2.")
    assert set(info["files"]) == set(libraries)
    content = libraries["libllama.so.0"].read_bytes()
    facts = info["files"]["libllama.so.0"]
    assert facts["sha256"] == hashlib.sha256(content).hexdigest()
    assert facts["size_bytes"] == len(content)


def test_write_build_info_is_json(tmp_path: Path):
    path = artefacts.write_build_info({"build": "b1"}, tmp_path)
    assert json.loads(path.read_text()) == {"build": "b1"}
    assert path.name == "build_info.json"


def test_install_peers_puts_programs_and_libraries_side_by_side(built, tmp_path):
    for name in artefacts.PEERS:
        (built / name).write_text("#!/bin/sh\n")
    programs = artefacts.install_peers(built, tmp_path / "peers")
    assert sorted(path.name for path in (tmp_path / "peers/bin").iterdir()) == [
        "libggml-cpu-x64.so",
        "libllama-common.so.0",
        "libllama.so.0",
        "llama-batched-bench",
        "llama-server",
    ]
    assert all(path.is_file() for path in programs)
