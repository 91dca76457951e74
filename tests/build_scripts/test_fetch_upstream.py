from __future__ import annotations

import dataclasses
import hashlib
import io
import tarfile
from pathlib import Path

import fetch_upstream
import pytest
from pin import BuildError, Sdist, read_pin

TREE = ("CMakeLists.txt", "include/llama.h", "ggml/CMakeLists.txt", "LICENSE")


def make_archive(path: Path, names: tuple[str, ...] = TREE) -> str:
    """Write a small source distribution; return its sha256."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as bundle:
        for name in names:
            entry = tarfile.TarInfo(f"pack-1.0/deep/llama.cpp/{name}")
            entry.size = len(name)
            bundle.addfile(entry, io.BytesIO(name.encode()))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make_sdist(sha256: str) -> Sdist:
    return Sdist(
        project="pack",
        version="1.0",
        file="pack-1.0.tar.gz",
        sha256=sha256,
        folder="deep/llama.cpp",
        build="b1",
        abi="168",
    )


def test_ensure_sdist_extracts_the_inner_folder(tmp_path: Path):
    sdist = make_sdist(make_archive(tmp_path / "downloads" / "pack-1.0.tar.gz"))
    folder = fetch_upstream.ensure_sdist(sdist, tmp_path)
    assert folder == tmp_path / "upstream" / "b1"
    assert (folder / "include/llama.h").read_text() == "include/llama.h"


def test_ensure_sdist_leaves_nothing_else_beside_the_tree(tmp_path: Path):
    sdist = make_sdist(make_archive(tmp_path / "downloads" / "pack-1.0.tar.gz"))
    fetch_upstream.ensure_sdist(sdist, tmp_path)
    assert sorted(p.name for p in (tmp_path / "upstream").iterdir()) == [
        "b1",
        "b1.json",
    ]


def test_ensure_sdist_does_not_read_the_archive_again(tmp_path: Path):
    archive = tmp_path / "downloads" / "pack-1.0.tar.gz"
    sdist = make_sdist(make_archive(archive))
    first = fetch_upstream.ensure_sdist(sdist, tmp_path)
    archive.write_bytes(b"gone bad since")
    assert fetch_upstream.ensure_sdist(sdist, tmp_path) == first


def test_ensure_sdist_extracts_again_when_the_pin_moved(tmp_path: Path):
    archive = tmp_path / "downloads" / "pack-1.0.tar.gz"
    fetch_upstream.ensure_sdist(make_sdist(make_archive(archive)), tmp_path)
    moved = make_sdist(make_archive(archive, (*TREE, "NEW")))
    folder = fetch_upstream.ensure_sdist(moved, tmp_path)
    assert (folder / "NEW").is_file()


def test_ensure_sdist_refuses_another_checksum(tmp_path: Path):
    found = make_archive(tmp_path / "downloads" / "pack-1.0.tar.gz")
    with pytest.raises(BuildError) as caught:
        fetch_upstream.ensure_sdist(make_sdist("0" * 64), tmp_path)
    assert found in str(caught.value)
    assert "0" * 64 in str(caught.value)
    assert not (tmp_path / "upstream").exists()


def test_ensure_sdist_refuses_an_archive_without_llama_cpp(tmp_path: Path):
    archive = tmp_path / "downloads" / "pack-1.0.tar.gz"
    sdist = make_sdist(make_archive(archive, ("CMakeLists.txt",)))
    with pytest.raises(BuildError, match=r"no include/llama\.h"):
        fetch_upstream.ensure_sdist(sdist, tmp_path)


def test_ensure_sdist_refuses_a_member_outside_the_archive(tmp_path: Path):
    archive = tmp_path / "downloads" / "pack-1.0.tar.gz"
    sdist = make_sdist(make_archive(archive, (*TREE, "../../../../escaped")))
    with pytest.raises(tarfile.OutsideDestinationError):
        fetch_upstream.ensure_sdist(sdist, tmp_path)
    assert not (tmp_path / "escaped").exists()


def test_resolve_source_takes_a_folder_as_it_is(tmp_path: Path):
    for name in TREE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    source = fetch_upstream.resolve_source(read_pin(), str(tmp_path), None)
    assert source.folder == tmp_path
    assert source.sha256 == ""


def test_resolve_source_refuses_a_folder_without_llama_cpp(tmp_path: Path):
    with pytest.raises(BuildError, match=r"not a llama\.cpp source tree"):
        fetch_upstream.resolve_source(read_pin(), str(tmp_path), None)


@pytest.mark.parametrize("address", ["repo", "repo@", "@b1", "git@host/repo"])
def test_resolve_source_refuses_a_git_address_without_a_tag(address: str):
    with pytest.raises(BuildError, match="URL@TAG"):
        fetch_upstream.resolve_source(read_pin(), None, address)


def test_headers_sha256_changes_with_a_header_and_not_with_code(tmp_path: Path):
    header = tmp_path / "include" / "llama.h"
    header.parent.mkdir()
    header.write_text("int a;")
    before = fetch_upstream.headers_sha256(tmp_path)
    (tmp_path / "main.c").write_text("int main;")
    assert fetch_upstream.headers_sha256(tmp_path) == before
    header.write_text("int b;")
    assert fetch_upstream.headers_sha256(tmp_path) != before


def test_sdist_requirement_is_exact():
    sdist = dataclasses.replace(read_pin().sdist, project="pack", version="2")
    assert sdist.requirement == "pack==2"


def test_main_reports_a_failure_without_a_traceback(tmp_path: Path, capsys):
    assert fetch_upstream.main(["--source", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("fetch_upstream: ")
