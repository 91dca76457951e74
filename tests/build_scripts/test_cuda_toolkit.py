from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from cuda_toolkit import (
    CudaToolkit,
    find_installed,
    join_toolkits,
    link_unversioned,
    make_driver_stub,
    missing_parts,
    toolkit_version,
    wheel_requirements,
)
from elf import needs_of
from pin import BuildError, read_pin

WHOLE = (
    "bin/nvcc",
    "nvvm/bin/cicc",
    "include/crt/host_config.h",
    "include/cuda_runtime.h",
    "include/cccl/cub/cub.cuh",
    "include/cublas_v2.h",
    "lib64/libcudart.so.13",
    "lib64/libcublas.so.13",
)


def make_toolkit(root: Path, files: tuple[str, ...] = WHOLE) -> Path:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho 'release 13.0, V13.0.88, of {root.name}'\n")
        path.chmod(0o755)
    return root


def test_missing_parts_of_a_whole_toolkit_are_none(tmp_path: Path):
    assert missing_parts(make_toolkit(tmp_path)) == ()


def test_missing_parts_names_cublas_when_only_its_headers_are_there(tmp_path: Path):
    root = make_toolkit(tmp_path, tuple(n for n in WHOLE if "libcublas" not in n))
    assert missing_parts(root) == ("cublas",)


def test_find_installed_takes_the_environments_word_first(tmp_path: Path):
    root = make_toolkit(tmp_path)
    assert find_installed({"CUDA_HOME": str(root)}) == root


def test_toolkit_version_asks_nvcc(tmp_path: Path):
    assert toolkit_version(make_toolkit(tmp_path)) == (13, 0)


def test_toolkit_version_refuses_an_nvcc_that_says_nothing(tmp_path: Path):
    root = make_toolkit(tmp_path)
    (root / "bin/nvcc").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(BuildError, match="names no release"):
        toolkit_version(root)


def test_wheel_requirements_follow_the_toolkits_version():
    pin = read_pin()
    assert wheel_requirements(pin, ["cublas"], (13, 0)) == ("nvidia-cublas==13.0.*",)
    wanted = ("nvidia-cublas-cu12==12.4.*",)
    assert wheel_requirements(pin, ["cublas"], (12, 4)) == wanted


def test_join_toolkits_completes_the_first_with_the_second(tmp_path: Path):
    lacking = tuple(name for name in WHOLE if "cublas" not in name)
    first = make_toolkit(tmp_path / "first", lacking)
    second = make_toolkit(
        tmp_path / "second", ("include/cublas_v2.h", "lib/libcublas.so.13")
    )
    root = tmp_path / "joined"
    join_toolkits(root, [first, second])
    assert missing_parts(root) == ()
    assert (root / "lib").samefile(root / "lib64")


def test_join_toolkits_lets_the_first_win_and_can_be_repeated(tmp_path: Path):
    first = make_toolkit(tmp_path / "first")
    second = make_toolkit(tmp_path / "second")
    for _ in range(2):
        join_toolkits(tmp_path / "joined", [first, second])
    assert (tmp_path / "joined/bin/nvcc").resolve() == first / "bin/nvcc"


def test_link_unversioned_adds_the_names_a_linker_looks_for(tmp_path: Path):
    (tmp_path / "libcublas.so.13").touch()
    link_unversioned(tmp_path)
    assert (tmp_path / "libcublas.so").resolve() == tmp_path / "libcublas.so.13"


CUDA_H = """
typedef int CUresult;
#define CUDAAPI
#define cuMemAlloc cuMemAlloc_v2
CUresult CUDAAPI cuInit(unsigned flags);
CUresult CUDAAPI cuMemAlloc(unsigned long *where);
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_driver_stub_makes_what_is_linked_with_it_ask_for_the_driver(tmp_path: Path):
    (tmp_path / "cuda.h").write_text(CUDA_H)
    stub = make_driver_stub(tmp_path / "stubs", tmp_path, "cc")
    backend = tmp_path / "libbackend.so"
    text = "int cuMemAlloc_v2(void *); int f(void) { return cuMemAlloc_v2(0); }"
    command = ["cc", "-shared", "-fPIC", "-Wl,--as-needed", "-x", "c", "-"]
    command += ["-x", "none", str(stub), "-o", str(backend)]
    subprocess.run(command, input=text, text=True, check=True, timeout=30)
    assert "libcuda.so.1" in needs_of(backend).libraries


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_driver_stub_shows_the_compilers_words(tmp_path: Path):
    with pytest.raises(BuildError, match=r"cuda\.h"):
        make_driver_stub(tmp_path / "stubs", tmp_path, "cc")


def test_toolkit_flags_name_root_compiler_and_architectures():
    toolkit = CudaToolkit(Path("/cuda"), Path("/cuda/bin/nvcc"), (13, 0))
    assert toolkit.flags(["80", "90"]) == (
        "-DCUDAToolkit_ROOT=/cuda",
        "-DCMAKE_CUDA_COMPILER=/cuda/bin/nvcc",
        "-DCMAKE_CUDA_ARCHITECTURES=80;90",
    )
