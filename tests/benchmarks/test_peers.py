from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks.peers import PEERS, Places, find_peers

PYTHON = Path(sys.executable)


def program(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text("#!/bin/sh\necho 'version: 0.6 (build 7)' >&2\n")
    path.chmod(0o755)
    return path


def interpreter(folder: Path, reply: str) -> Path:
    """Return a program that answers like an interpreter that was asked."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\necho '{reply}'\n")
    path.chmod(0o755)
    return path


def test_programs_in_the_folder_are_peers_on_the_library_beside_them(tmp_path):
    for name in ("llama-server", "llama-batched-bench"):
        program(tmp_path, name)
    peers, missing = find_peers(Places(tmp_path), PEERS[:2])
    assert [one.name for one in peers] == ["llama-server", "llama-batched-bench"]
    assert all(one.library == tmp_path for one in peers)
    assert peers[0].version == "0.6 (build 7)"
    assert not missing


def test_what_is_not_there_says_how_to_get_it(tmp_path):
    peers, missing = find_peers(Places(tmp_path), PEERS[:2])
    assert not peers
    assert all("--with-peers" in one.how_to_get for one in missing)


def test_a_package_of_another_interpreter_is_a_peer_on_its_own_library(tmp_path):
    library = tmp_path / "xllamacpp.abi3.so"
    library.touch()
    reply = f'{{"file": "{tmp_path}/__init__.py", "version": "1.2"}}'
    places = Places(tmp_path, xllamacpp_python=interpreter(tmp_path, reply))
    ((peer,), _) = find_peers(places, ("xllamacpp",))
    assert (peer.library, peer.version, peer.is_llama_server) == (library, "1.2", True)


def test_a_package_that_an_interpreter_lacks_is_missing(tmp_path):
    places = Places(tmp_path, llama_cpp_python=interpreter(tmp_path, ""))
    _, (missing,) = find_peers(places, ("llama-cpp-python",))
    assert "pip install" in missing.how_to_get


def test_this_interpreter_can_be_asked():
    peers, missing = find_peers(Places(Path("nowhere")), ("xllamacpp",))
    assert len(peers) + len(missing) == 1


def test_an_interpreter_that_is_none_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="cannot be asked for xllamacpp"):
        find_peers(Places(tmp_path, xllamacpp_python=tmp_path / "x"), ("xllamacpp",))
