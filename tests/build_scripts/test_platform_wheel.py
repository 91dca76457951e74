from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import zipfile
from pathlib import Path

import build_platform_wheel
import pytest
from elf import Needs
from pin import BuildError
from platform_wheel import (
    add_library,
    build_tag,
    platform_tag,
    require_self_contained,
    wheel_file_name,
)

PURE = "llamactypes-0.1.0-py3-none-any.whl"
TAG = "manylinux_2_34_x86_64"


def make_needs(*libraries: str, run_path: str = "$ORIGIN") -> Needs:
    return Needs("x", libraries, run_path, "2.34", "3.4.29")


def make_pure_wheel(folder: Path) -> Path:
    path = folder / PURE
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("llamactypes/__init__.py", "")
        wheel.writestr("llamactypes/lib/README.md", "where libraries go")
        wheel.writestr("llamactypes/lib/libstale.so", "of an older build")
        text = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n\n"
        wheel.writestr("llamactypes-0.1.0.dist-info/WHEEL", text)
        wheel.writestr("llamactypes-0.1.0.dist-info/RECORD", "")
    return path


@pytest.fixture
def wheel(tmp_path: Path) -> zipfile.ZipFile:
    library = tmp_path / "libllama.so.0"
    library.write_bytes(b"\x7fELF" * 100)
    target = tmp_path / f"llamactypes-0.1.0-11549-py3-none-{TAG}.whl"
    add_library(make_pure_wheel(tmp_path), [library], target, TAG)
    return zipfile.ZipFile(target)


def test_platform_tag_is_the_glibc_really_needed():
    assert platform_tag("Linux", "x86_64", "2.34", "linux-x86_64") == TAG


def test_platform_tag_elsewhere_is_the_systems_own():
    tag = platform_tag("Darwin", "arm64", "", "macosx-11.0-arm64")
    assert tag == "macosx_11_0_arm64"


def test_platform_tag_refuses_an_unknown_glibc():
    with pytest.raises(BuildError, match="glibc"):
        platform_tag("Linux", "x86_64", "", "linux-x86_64")


def test_build_tag_tells_a_gpu_wheel_from_one_without():
    assert build_tag("b11549", ["cpu"]) == "11549"
    assert build_tag("b11549", ["cpu", "cuda"]) == "11549cuda"
    assert build_tag("tree-local", ["cpu"]) == "0"


def test_wheel_file_name_has_build_and_platform():
    wanted = f"llamactypes-0.1.0-11549-py3-none-{TAG}.whl"
    assert wheel_file_name(PURE, "11549", TAG) == wanted


def test_wheel_file_name_refuses_a_wheel_that_is_not_pure():
    with pytest.raises(BuildError, match="not a pure"):
        wheel_file_name(f"llamactypes-0.1.0-cp311-cp311-{TAG}.whl", "1", TAG)


def test_require_self_contained_allows_neighbours_system_and_gpu_runtimes():
    needs = {
        "libllama.so.0": make_needs("libggml.so.0", "libc.so.6"),
        "libggml.so.0": make_needs("libstdc++.so.6"),
        "libggml-cuda.so": make_needs("libcuda.so.1", "libcublas.so.13"),
    }
    require_self_contained(needs)


def test_require_self_contained_refuses_what_other_machines_lack():
    with pytest.raises(BuildError, match=r"libllama.so.0 needs libcurl.so.4"):
        require_self_contained({"libllama.so.0": make_needs("libcurl.so.4")})


def test_require_self_contained_refuses_a_run_path_of_the_build_machine():
    needs = {
        "libllama.so.0": make_needs("libggml.so.0", run_path="/tmp/bin"),
        "libggml.so.0": make_needs("libc.so.6"),
    }
    with pytest.raises(BuildError, match="would not find its neighbours"):
        require_self_contained(needs)


def test_add_library_puts_the_files_into_the_package(wheel):
    names = wheel.namelist()
    assert "llamactypes/lib/libllama.so.0" in names
    assert "llamactypes/lib/README.md" in names
    assert "llamactypes/lib/libstale.so" not in names


def test_add_library_makes_libraries_executable_and_others_not(wheel):
    def mode(name: str) -> int:
        return wheel.getinfo(name).external_attr >> 16 & 0o777

    assert mode("llamactypes/lib/libllama.so.0") == 0o755
    assert mode("llamactypes/__init__.py") == 0o644


def test_add_library_tags_the_wheel_as_not_pure(wheel):
    text = wheel.read("llamactypes-0.1.0.dist-info/WHEEL").decode()
    lines = text.splitlines()
    assert f"Tag: py3-none-{TAG}" in lines
    assert "Root-Is-Purelib: false" in lines
    assert "Build: 11549" in lines
    assert "Tag: py3-none-any" not in lines


def test_add_library_records_every_file_with_its_checksum(wheel):
    text = wheel.read("llamactypes-0.1.0.dist-info/RECORD").decode()
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(text))}
    assert sorted(rows) == sorted(wheel.namelist())
    for name, (digest, size) in rows.items():
        if digest:
            data = wheel.read(name)
            found = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
            assert digest == f"sha256={found.decode().rstrip('=')}"
            assert int(size) == len(data)


def test_add_library_gives_the_same_bytes_again(tmp_path: Path):
    library = tmp_path / "libllama.so.0"
    library.write_bytes(b"\x7fELF")
    pure = make_pure_wheel(tmp_path)
    first, second = (
        tmp_path / folder / f"llamactypes-0.1.0-1-py3-none-{TAG}.whl" for folder in "ab"
    )
    for target in (first, second):
        target.parent.mkdir()
        add_library(pure, [library], target, TAG)
    assert first.read_bytes() == second.read_bytes()


def test_wheel_without_a_build_says_which_command_makes_one(tmp_path: Path, capsys):
    assert build_platform_wheel.main(["--library", str(tmp_path)]) == 1
    assert "build_libllama.py" in capsys.readouterr().err


def test_wheel_refuses_a_library_that_was_changed_after_the_build(tmp_path: Path):
    (tmp_path / "libllama.so.0").write_text("changed")
    info = {"files": {"libllama.so.0": {"sha256": "0" * 64, "size_bytes": 7}}}
    (tmp_path / "build_info.json").write_text(json.dumps(info))
    with pytest.raises(BuildError, match="not the file that the build left"):
        build_platform_wheel.make_wheel(tmp_path, tmp_path / "dist")
