"""Loadable backends: from known folders only, and each one left out has a reason."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from llamactypes import bindings as C  # noqa: N812
from llamactypes.bindings import _backends, _loader
from llamactypes.runtime import start_backend
from tests.support.fake_library import compile_library
from tests.support.loading import run_python

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="fakes are ELF libraries"
)

_BACKEND = "static int registration[8] = {%d};\nvoid *ggml_backend_init(void) "
_LOAD = (
    "import sys; from llamactypes.bindings import _backends, _loader\n"
    "from llamactypes import bindings as C\n"
    "from llamactypes.errors import LibraryError\n"
    "library = _loader.load(sys.argv[1])\n"
    "try: _backends.load_backends(library)\n"
    "except LibraryError as error: sys.exit(str(error))\n"
    "print(C.ggml_backend_dev_count())"
)


@pytest.fixture
def library() -> _loader.LoadedLibrary:
    start_backend()
    return _loader.load()


def test_load_backends_registers_a_cpu_and_does_it_once(library):
    _backends.load_backends(library)
    count = C.ggml_backend_reg_count()
    _backends.load_backends(library)
    assert C.ggml_backend_dev_count() >= 1
    assert C.ggml_backend_reg_count() == count


def test_backend_files_leaves_out_base_and_linked_backends(tmp_path):
    names = ("libggml-base.so", "libggml.so", "libggml-cpu.so.0", "libggml-cpu-zen4.so")
    for name in names:
        (tmp_path / name).touch()
    found = [file.name for file in _loader.backend_files(tmp_path)]
    assert found == ["libggml-cpu-zen4.so"]


def test_backend_directories_are_beside_libllama_and_in_bin_each_once(tmp_path):
    for folder in ("lib", "bin"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "libggml-cpu.so").touch()
    places = [tmp_path / "lib", tmp_path / "bin"]
    assert list(_loader.backend_directories(places[0])) == places
    assert list(_loader.backend_directories(places[1])) == places[1:]


def test_backend_of_another_api_version_is_named(tmp_path, library):
    source = _BACKEND % 1 + "{ return registration; }"
    file = compile_library(tmp_path / "libggml-vulkan.so", source)
    reason = _backends.why_skipped(file)
    assert "backend API 1, this library has" in reason


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (_BACKEND % 1 + "{ return 0; }", "it found no device on this machine"),
        ("int other(void) { return 0; }", "exports no ggml_backend_init"),
    ],
)
def test_backend_that_offers_nothing_is_explained(tmp_path, library, source, reason):
    file = compile_library(tmp_path / "libggml-vulkan.so", source)
    assert reason in _backends.why_skipped(file)


def test_cuda_backend_without_driver_is_skipped_before_anything_is_opened(tmp_path):
    if _backends.opens("libcuda.so.1"):
        pytest.skip("this machine has an NVIDIA driver")
    file = tmp_path / "libggml-cuda.so"
    file.touch()
    reason = _backends.why_skipped(file)
    assert reason == (
        "libggml-cuda.so: no NVIDIA driver on this machine (libcuda.so.1 not found)"
    )


def cuda_stand_ins(folder: Path) -> Path:
    """Build a backend that needs a CUDA runtime, which lies in a wheel's folder."""
    runtime = folder / "site" / "nvidia" / "cu99" / "lib"
    runtime.mkdir(parents=True)
    soname = "-Wl,-soname,libcudart.so.99"
    file = compile_library(
        runtime / "libcudart.so.99", "int rt(void){return 9;}", soname
    )
    (folder / "driver").mkdir()
    compile_library(folder / "driver" / "libcuda.so.1", "int drv(void) { return 1; }")
    (folder / "backend").mkdir()
    compile_library(
        folder / "backend" / "libggml-cuda.so",
        "int rt(void); void *ggml_backend_init(void) { return (void *)(long)rt(); }",
        str(file),
    )
    return file


def test_cuda_runtime_is_opened_out_of_nvidia_wheels(tmp_path):
    runtime = cuda_stand_ins(tmp_path)
    code = (
        "import sys, pathlib; sys.path.append(sys.argv[1])\n"
        "from llamactypes.bindings import _backends\n"
        "_backends.prepare_cuda(pathlib.Path(sys.argv[2]))\n"
        "print(sys.argv[3] in open('/proc/self/maps').read())"
    )
    ended = run_python(
        code,
        *(str(tmp_path / "site"), str(tmp_path / "backend"), str(runtime)),
        environment={"LD_LIBRARY_PATH": str(tmp_path / "driver")},
    )
    assert (ended.returncode, ended.stdout.strip()) == (0, "True"), ended


def test_cuda_runtime_that_is_nowhere_is_a_warning_with_the_remedy(tmp_path):
    cuda_stand_ins(tmp_path)
    code = (
        "import logging, sys, pathlib; logging.basicConfig()\n"
        "from llamactypes.bindings import _backends\n"
        "_backends.prepare_cuda(pathlib.Path(sys.argv[1]))"
    )
    ended = run_python(
        code,
        str(tmp_path / "backend"),
        environment={"LD_LIBRARY_PATH": str(tmp_path / "driver")},
    )
    assert ended.returncode == 0, ended
    assert "needs libcudart.so.99, which is not installed" in ended.stderr
    assert "pip install nvidia-cuda-runtime nvidia-cublas" in ended.stderr


def test_library_without_any_backend_is_refused_with_a_reason(tmp_path, library):
    if not library.backend_directories:
        pytest.skip("this library has its backends linked in")
    for file in library.directory.glob("lib*.so*"):
        shutil.copy(file, tmp_path / file.name)
    if _loader.backend_files(tmp_path):
        pytest.skip("this library keeps its backends beside it")
    ended = run_python(_LOAD, str(tmp_path))
    assert ended.returncode == 1, ended
    assert "has no usable ggml backend: no libggml-*.so beside" in ended.stderr


def test_backends_are_not_taken_from_the_working_directory(tmp_path, library):
    if not library.backend_directories:
        pytest.skip("this library has its backends linked in")
    marker = tmp_path / "opened"
    source = (
        "#include <stdio.h>\n__attribute__((constructor)) void f(void) "
        f'{{ fclose(fopen("{marker}", "w")); }}'
    )
    compile_library(tmp_path / "libggml-cuda.so", source)
    code = f"import os; os.chdir({os.fspath(tmp_path)!r})\n{_LOAD}"
    ended = run_python(code, str(library.path))
    assert ended.returncode == 0, ended
    assert int(ended.stdout) >= 1
    assert not marker.exists()
