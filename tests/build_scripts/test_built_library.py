"""What our own build left, where there is one: `make build-cpu` makes these run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from artefacts import describe_file
from elf import needs_of
from pin import repository_root
from platform_wheel import require_self_contained

REPORT = """
import ctypes, json, sys
folder = sys.argv[1]
base, ggml, _, _ = (
    ctypes.CDLL(f"{folder}/lib{name}.so.0")
    for name in ("ggml-base", "ggml", "llama", "mtmd")
)
ggml.ggml_backend_load_all_from_path(folder.encode())
ggml.ggml_backend_dev_count.restype = ctypes.c_size_t
base.ggml_commit.restype = ctypes.c_char_p
print(json.dumps([base.ggml_commit().decode(), ggml.ggml_backend_dev_count()]))
"""


def built_folder() -> Path:
    """The folder in LLAMACTYPES_LIB, or llamactypes/lib."""
    named = os.environ.get("LLAMACTYPES_LIB")
    return Path(named) if named else repository_root() / "llamactypes" / "lib"


pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="ELF is Linux's format"),
    pytest.mark.skipif(
        not (built_folder() / "build_info.json").is_file(),
        reason="no library of our own is built",
    ),
]


@pytest.fixture(scope="module")
def info() -> dict:
    return json.loads((built_folder() / "build_info.json").read_text())


def test_built_files_are_the_ones_that_build_info_describes(info):
    found = {path.name for path in built_folder().glob("lib*.so*")}
    assert found == set(info["files"])
    for name, facts in info["files"].items():
        assert describe_file(built_folder() / name) == facts


def test_built_files_are_asked_for_by_their_own_names(info):
    for name in info["files"]:
        assert not (built_folder() / name).is_symlink()
        assert needs_of(built_folder() / name).soname == name


def test_built_files_need_only_what_every_machine_has(info):
    require_self_contained(
        {name: needs_of(built_folder() / name) for name in info["files"]}
    )


def test_built_cuda_backend_asks_for_the_driver(info):
    if "cuda" not in info["backends"]:
        pytest.skip("built without CUDA")
    needed = needs_of(built_folder() / "libggml-cuda.so").libraries
    assert "libcuda.so.1" in needed


def test_built_library_carries_the_notice_of_llama_cpp():
    text = (built_folder() / "LICENSE.llama.cpp").read_text()
    assert "MIT License" in text
    assert "ggml authors" in text


def test_built_library_does_not_name_the_folder_it_was_built_in():
    needle = str(repository_root() / ".build").encode()
    for path in built_folder().glob("lib*.so*"):
        assert needle not in path.read_bytes(), path.name


def test_built_library_loads_a_cpu_and_reports_its_build(info):
    done = subprocess.run(
        [sys.executable, "-c", REPORT, str(built_folder())],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    commit, n_devices = json.loads(done.stdout)
    assert commit == info["build"]
    assert n_devices >= 1
